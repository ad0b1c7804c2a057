package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// target is the table as it was when a session looked at it, and how the session
// writes to it.
type target struct {
	oid  string
	cols []column
	key  []int // of cols
	// direct: rows are copied into the table itself, else to a stage first.
	direct bool
	// nullKeys: the unique index takes one NULL for another.
	nullKeys bool
	// signature are the columns' types, which a direct copy depends on.
	signature string
	statements
}

// errNoTable says that the table does not exist.
func (c *config) errNoTable(names []string) *sqlerr.Error {
	e := sqlerr.New(sqlerr.UndefinedTable, `table "%s" does not exist in database "%s" at %s`, c.full(),
		c.server.Database, c.address).AsPermanent()
	if e.Hint = sqlerr.Suggest(c.table, names); e.Hint == "" {
		e.Hint = "Create it, or set create_table = 'on'."
	}
	return e
}

// exists tells whether the table does. A schema that does not is an error.
func (c *config) exists(ctx context.Context, pg *pgconn.PgConn) (bool, error) {
	rows, err := query(ctx, pg, `SELECT n.oid, c.oid FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_class c
		ON c.relnamespace = n.oid AND c.relname = $2 WHERE n.nspname = $1`, c.schema, c.table)
	if err != nil {
		return false, err
	}
	if len(rows) == 0 {
		e := sqlerr.New(sqlerr.InvalidSchemaName, `schema "%s" does not exist in database "%s" at %s`, c.schema,
			c.server.Database, c.address).AsPermanent()
		names, err := column0(query(ctx, pg, "SELECT nspname FROM pg_catalog.pg_namespace LIMIT 1000"))
		if err == nil {
			e.Hint = sqlerr.Suggest(c.schema, names)
		}
		return false, e
	}
	return rows[0][1] != null, nil
}

func column0(rows [][]string, err error) ([]string, error) {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r[0]
	}
	return out, err
}

// inspect looks at the table and decides how it is written.
func (c *config) inspect(ctx context.Context, pg *pgconn.PgConn, s *connector.Spec) (*target, error) {
	there, err := c.exists(ctx, pg)
	if err != nil {
		return nil, err
	}
	if !there {
		names, err := column0(query(ctx, pg, `SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
			ON c.relnamespace = n.oid WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f', 'v') LIMIT 1000`, c.schema))
		if err != nil {
			return nil, err
		}
		return nil, c.errNoTable(names)
	}
	rows, err := query(ctx, pg, `SELECT c.oid, c.relkind, c.relrowsecurity OR c.relhasrules FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid WHERE n.nspname = $1 AND c.relname = $2`, c.schema, c.table)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, c.errNoTable(nil)
	}
	t := &target{oid: rows[0][0]}
	kind, special := rows[0][1], rows[0][2] == "t"
	if !slices.Contains([]string{"r", "p", "f", "v"}, kind) {
		return nil, sqlerr.New(sqlerr.WrongObjectType, `"%s" is not a table`, c.full()).AsPermanent()
	}
	if err := c.matchColumns(ctx, pg, s, t); err != nil {
		return nil, err
	}
	if c.upsert {
		if err := c.matchKey(ctx, pg, s, t, kind); err != nil {
			return nil, err
		}
	}
	t.direct = !c.upsert && !special && (kind == "r" || kind == "p")
	for i := range t.cols {
		t.direct = t.direct && t.cols[i].plain
	}
	t.statements = c.statements(t)
	return t, c.explainWrites(ctx, pg, t, s.AppendOnly)
}

// columnsOf reads the columns of a table.
func columnsOf(ctx context.Context, pg *pgconn.PgConn, oid string) ([]tableColumn, error) {
	rows, err := query(ctx, pg, `SELECT a.attname, a.atttypid, a.atttypmod, pg_catalog.format_type(a.atttypid, NULL),
		t.typtype, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, a.attnotnull,
		a.atthasdef OR a.attidentity <> '', a.attgenerated <> '' OR a.attidentity = 'a'
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
		WHERE a.attrelid = $1::pg_catalog.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, oid)
	if err != nil {
		return nil, err
	}
	cols := make([]tableColumn, len(rows))
	for i, r := range rows {
		cols[i] = tableColumn{name: r[0], oid: number(r[1]), mod: int32(number(r[2])), typeName: r[3], kind: r[4],
			base: number(r[5]), notNull: r[6] == "t", hasValue: r[7] == "t", generated: r[8] == "t"}
	}
	return cols, nil
}

// number reads an oid or a modifier, which may be -1.
func number(s string) uint32 {
	n, _ := strconv.ParseInt(s, 10, 64) // the server's own numbers
	return uint32(n)
}

// matchColumns finds the table's columns for the sink's by their names.
func (c *config) matchColumns(ctx context.Context, pg *pgconn.PgConn, s *connector.Spec, t *target) error {
	cols, err := columnsOf(ctx, pg, t.oid)
	if err != nil {
		return err
	}
	byName, names := map[string]tableColumn{}, make([]string, len(cols))
	for i, col := range cols {
		byName[col.name], names[i] = col, col.name
	}
	given := map[string]bool{}
	var signature []string
	for i, col := range s.Columns {
		to, ok := byName[col.Name]
		switch {
		case !ok:
			e := sqlerr.New(sqlerr.UndefinedColumn, `column "%s" of sink "%s" does not exist in table "%s"`, col.Name, s.Name,
				c.full()).AsPermanent()
			if e.Hint = sqlerr.Suggest(col.Name, names); e.Hint == "" {
				e.Hint = "Its columns are: " + strings.Join(names, ", ") + ". Rename with AS in the query."
			}
			return e
		case to.generated:
			return sqlerr.Unsupported(`column "%s" of table "%s" is generated and cannot be written`, col.Name, c.full()).
				WithHint("Leave it out of the query.").AsPermanent()
		}
		out := column{name: col.Name, from: col.Type, notNull: col.NotNull, to: to}
		out.settle(i)
		t.cols = append(t.cols, out)
		given[col.Name] = true
		signature = append(signature, to.name+" "+strconv.FormatUint(uint64(to.oid), 10))
	}
	for _, to := range cols {
		if to.notNull && !to.hasValue && !to.generated && !given[to.name] {
			return sqlerr.New(sqlerr.NotNullViolation, `column "%s" of table "%s" is NOT NULL and has no default, `+
				`but sink "%s" has no such column`, to.name, c.full(), s.Name).AsPermanent()
		}
	}
	slices.Sort(signature)
	t.signature = strings.Join(signature, ",")
	return nil
}

// keyColumns finds the key: the columns named, else the stream key.
func (c *config) keyColumns(s *connector.Spec) ([]int, error) {
	var key, names = []int(nil), make([]string, len(s.Columns))
	for i, col := range s.Columns {
		names[i] = col.Name
	}
	for _, n := range c.key {
		i := slices.Index(names, n)
		if i < 0 {
			return nil, sqlerr.New(sqlerr.UndefinedColumn, `column "%s" named in option "key" does not exist`, n).
				WithHint("%s", sqlerr.Suggest(n, names)).AsPermanent()
		}
		if !slices.Contains(key, i) {
			key = append(key, i)
		}
	}
	if key == nil {
		key = slices.Clone(s.Key)
	}
	if len(key) == 0 {
		e := sqlerr.New(sqlerr.InvalidTableDefinition, `sink "%s" with FORMAT UPSERT needs a key`, s.Name).AsPermanent()
		if s.Key != nil {
			return nil, e.WithDetail("Its query gives a single row.").
				WithHint(`Add a constant column, as in SELECT 1 AS id, …, and name it in option "key".`)
		}
		return nil, e.WithHint(`Name its columns in option "key".`)
	}
	if s.AppendOnly {
		return key, nil
	}
	// A key that several rows share at one time would let a deleted row take the
	// others with it.
	for _, k := range s.Key {
		if !slices.Contains(key, k) {
			return nil, sqlerr.New(sqlerr.InvalidTableDefinition,
				`the key of sink "%s" lacks column "%s", so that several rows would share a key`, s.Name, s.Columns[k].Name).
				AsPermanent()
		}
	}
	return key, nil
}

// matchKey finds a unique index over the key.
func (c *config) matchKey(ctx context.Context, pg *pgconn.PgConn, s *connector.Spec, t *target, kind string) error {
	var err error
	if t.key, err = c.keyColumns(s); err != nil {
		return err
	}
	var want []string
	for _, k := range t.key {
		col := &t.cols[k]
		if !col.faithful() {
			return sqlerr.New(sqlerr.DatatypeMismatch, `key column "%s" is %s in sink "%s" but %s in table "%s"`, col.name,
				col.from, s.Name, col.to.typeName, c.full()).
				WithDetail("Different keys could become the same there.").
				WithHint("Give the table's column the type of the query's, or cast in the query.").AsPermanent()
		}
		want = append(want, col.name)
	}
	slices.Sort(want)
	if kind == "v" {
		return sqlerr.New(sqlerr.WrongObjectType, `"%s" is a view, which FORMAT UPSERT cannot write`, c.full()).AsPermanent()
	}
	// Servers before 15 do not have NULLS NOT DISTINCT.
	rows, err := query(ctx, pg, `SELECT i.indexrelid,
		coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false), a.attname
		FROM pg_catalog.pg_index i CROSS JOIN generate_series(0, i.indnkeyatts - 1) g
		LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[g]
		WHERE i.indrelid = $1::pg_catalog.oid AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
		AND i.indexprs IS NULL ORDER BY i.indexrelid, a.attname COLLATE "C"`, t.oid)
	if err != nil {
		return err
	}
	found := false
	for i := 0; i < len(rows); {
		var names []string
		first := rows[i]
		for ; i < len(rows) && rows[i][0] == first[0]; i++ {
			names = append(names, rows[i][2])
		}
		if slices.Equal(names, want) {
			found, t.nullKeys = true, t.nullKeys || first[1] == "t"
		}
	}
	if !found {
		return sqlerr.New(sqlerr.InvalidColumnReference, `table "%s" has no unique index on the key (%s) of sink "%s"`,
			c.full(), strings.Join(want, ", "), s.Name).
			WithHint("CREATE UNIQUE INDEX ON %s (%s) there, or name other columns in option \"key\".", ident(c.schema, c.table),
				idents(want)).AsPermanent()
	}
	return nil
}
