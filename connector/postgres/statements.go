package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// statements are the texts of what a session runs.
type statements struct {
	createStage string // "" without a stage
	copyRows    string
	// merge brings the stage's rows into the table; removeKeys first takes out those
	// whose rows are gone, removeNulls those of them with NULLs in their keys.
	merge, removeKeys, removeNulls string
	// check asks for the types of the columns, as signature has them.
	check string
}

// stage is the session's own table that rows are copied to where they cannot be
// copied to their table; opColumn tells that a row's key is to be removed.
const (
	stage    = "pg_temp.streamsql_stage"
	opColumn = "gone"
)

func stageColumn(i int) string { return "c" + strconv.Itoa(i) }

const copyOptions = " FROM STDIN (FORMAT binary)"

// statements writes the texts for a table.
func (c *config) statements(t *target) statements {
	into := ident(c.schema, c.table)
	names, values, staged := make([]string, len(t.cols)), make([]string, len(t.cols)), make([]string, 0, len(t.cols)+1)
	if c.upsert {
		staged = append(staged, opColumn+" pg_catalog.bool")
	}
	for i := range t.cols {
		names[i], values[i] = t.cols[i].name, t.cols[i].value
		staged = append(staged, stageColumn(i)+" "+stagedType(t.cols[i].from))
	}
	st := statements{check: `SELECT pg_catalog.string_agg(a.attname || ' ' || a.atttypid, ','
		ORDER BY (a.attname || ' ' || a.atttypid) COLLATE "C") FROM pg_catalog.pg_attribute a
		WHERE a.attrelid = ` + t.oid + ` AND a.attnum > 0 AND NOT a.attisdropped
		AND a.attname = ANY (ARRAY[` + literals(names) + `])`}
	if t.direct {
		st.copyRows = "COPY " + into + " (" + idents(names) + ")" + copyOptions
		return st
	}
	st.createStage = "DROP TABLE IF EXISTS " + stage + "; CREATE TEMPORARY TABLE streamsql_stage (" +
		strings.Join(staged, ", ") + ") ON COMMIT DELETE ROWS"
	st.copyRows = "COPY " + stage + copyOptions
	st.merge = "INSERT INTO " + into + " (" + idents(names) + ") SELECT " + strings.Join(values, ", ") +
		" FROM " + stage + " s"
	if !c.upsert {
		return st
	}
	isKey := map[int]bool{}
	var key, equal, nulls, match []string
	for _, k := range t.key {
		isKey[k] = true
		name, staged := "t."+ident(names[k]), "s."+stageColumn(k)
		value := values[k] + "::" + t.cols[k].to.typeName
		key = append(key, names[k])
		equal = append(equal, name+" = "+value)
		nulls = append(nulls, staged+" IS NULL")
		match = append(match, "("+name+" = "+value+" OR "+name+" IS NULL AND "+staged+" IS NULL)")
	}
	var set []string
	for i, n := range names {
		if !isKey[i] {
			set = append(set, ident(n)+" = EXCLUDED."+ident(n))
		}
	}
	st.merge += " WHERE NOT s." + opColumn + " ON CONFLICT (" + idents(key) + ") DO "
	if len(set) > 0 {
		st.merge += "UPDATE SET " + strings.Join(set, ", ")
	} else {
		st.merge += "NOTHING"
	}
	remove := "DELETE FROM " + into + " t USING " + stage + " s WHERE s." + opColumn + " AND "
	st.removeKeys = remove + strings.Join(equal, " AND ")
	st.removeNulls = remove + "(" + strings.Join(nulls, " OR ") + ") AND " + strings.Join(match, " AND ")
	return st
}

func literals(texts []string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = literal(s)
	}
	return strings.Join(quoted, ", ")
}

// explainWrites makes the stage and lets the server plan the statements: it checks
// types, rights and the unique index.
func (c *config) explainWrites(ctx context.Context, pg *pgconn.PgConn, t *target, appendOnly bool) error {
	if t.createStage != "" {
		if err := run(ctx, pg, t.createStage); err != nil {
			return c.refused(err, "a temporary table cannot be made")
		}
	}
	merge := t.merge
	if t.direct {
		values := make([]string, len(t.cols))
		names := make([]string, len(t.cols))
		for i := range t.cols {
			names[i], values[i] = t.cols[i].name, "NULL::"+stagedType(t.cols[i].from)
		}
		merge = "INSERT INTO " + ident(c.schema, c.table) + " (" + idents(names) + ") SELECT " + strings.Join(values, ", ")
	}
	err := run(ctx, pg, "EXPLAIN "+merge)
	if err == nil && c.upsert && !appendOnly {
		if err = run(ctx, pg, "EXPLAIN "+t.removeKeys); err == nil {
			err = run(ctx, pg, "EXPLAIN "+t.removeNulls)
		}
	}
	return c.refused(err, `table "`+c.full()+`" cannot be written`)
}

// refused is what the server says to a statement that does not fit the table.
func (c *config) refused(err error, what string) error {
	var pg *pgconn.PgError
	if err == nil || !errors.As(err, &pg) || retriable(err) {
		return err
	}
	e := sqlerr.New(sqlerr.Code(pg.Code), "%s: %s", what, pg.Message).AsPermanent()
	e.Detail, e.Hint = pg.Detail, pg.Hint
	if e.Hint == "" && e.Code == sqlerr.InsufficientPrivilege {
		e.Hint = "GRANT " + c.rights() + ` to user "` + c.server.User + `" there.`
	}
	return e
}

// rights are those that the sink's user needs.
func (c *config) rights() string {
	r := "INSERT"
	if c.upsert {
		r = "SELECT, INSERT, UPDATE, DELETE"
	}
	return r + " ON " + ident(c.schema, c.table)
}

// createTable is the statement that makes the table for create_table.
func (c *config) createTable(s *connector.Spec, version int) (string, error) {
	def := createColumns(s.Columns)
	if c.upsert {
		key, err := c.keyColumns(s)
		if err != nil {
			return "", err
		}
		names, nullable := make([]string, len(key)), false
		for i, k := range key {
			names[i], nullable = s.Columns[k].Name, nullable || !s.Columns[k].NotNull
		}
		switch {
		case nullable && version >= 150000:
			def += ", UNIQUE NULLS NOT DISTINCT (" + idents(names) + ")"
		default:
			def += ", PRIMARY KEY (" + idents(names) + ")"
		}
	}
	return "CREATE TABLE IF NOT EXISTS " + ident(c.schema, c.table) + " (" + def + ")", nil
}
