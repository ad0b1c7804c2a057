package planner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

type pgResolver struct {
	c   *pgx.Conn
	sys *catalog.Snapshot
}

func (r *pgResolver) ByID(catalog.ObjectID) *catalog.Object { return nil }
func (r *pgResolver) Resolve(schema, name string) (*catalog.Object, error) {
	if o, err := r.sys.Resolve(schema, name); err == nil {
		return o, nil
	}
	full := sql.QuoteIdent(name)
	if schema != "" {
		full = sql.QuoteIdent(schema) + "." + full
	}
	ctx := context.Background()
	rows, err := r.c.Query(ctx, `select attname, atttypid, atttypmod, attnotnull, coalesce(i.indisprimary,false), c.relname, c.relkind::text from pg_class c join pg_attribute a on a.attrelid=c.oid left join pg_index i on i.indrelid=c.oid and i.indisprimary and a.attnum=any(i.indkey) where c.oid=to_regclass($1)::oid and attnum>0 and not attisdropped order by attnum`, full)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	o := &catalog.Object{ID: 99, Name: catalog.Name{Schema: "public", Name: name}, Kind: catalog.KindTable}
	for rows.Next() {
		var n, rel, kind string
		var oid uint32
		var mod int32
		var nn, pk bool
		if err := rows.Scan(&n, &oid, &mod, &nn, &pk, &rel, &kind); err != nil {
			return nil, err
		}
		t, ok := types.ByOID(oid)
		if !ok {
			return nil, sqlerr.New("XX999", "type %d", oid)
		}
		switch t.ID {
		case types.Varchar, types.Bpchar:
			if mod > 0 {
				t.Mod = int16(mod - 4)
			}
		case types.Numeric:
			if mod > 0 {
				t.Mod, t.Scale = int16((mod-4)>>16), int16((mod-4)&0x7ff)
			}
		}
		if pk && kind == "r" {
			o.Key = append(o.Key, len(o.Columns))
		}
		o.Columns = append(o.Columns, catalog.Column{Name: n, Type: t, NotNull: nn})
	}
	if len(o.Columns) == 0 {
		return nil, sqlerr.New(sqlerr.UndefinedTable, "relation %q does not exist", name)
	}
	return o, nil
}

func TestAdhocReg(t *testing.T) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "postgres://postgres@127.0.0.1:55432/plandiff?options=-c%20statement_timeout%3D3000")
	if err != nil {
		t.Fatal(err)
	}
	conn2, err := pgx.Connect(ctx, "postgres://postgres@127.0.0.1:55432/plandiff?options=-c%20statement_timeout%3D3000")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn2
	r := &pgResolver{c: conn, sys: newTestCatalog(t).system}
	counts := map[string]int{}
	for _, f := range strings.Fields(os.Getenv("REG")) {
		b, _ := os.ReadFile("/tmp/reg/" + f + ".sql")
		if f == "test_setup" {
			b = []byte(strings.ReplaceAll(string(b), ":'filename'", "'/dev/null'"))
		}
		same, diff := 0, 0
		for _, q := range strings.Split(string(b), ";\n") {
			var lines []string
			for _, l := range strings.Split(q, "\n") {
				if !strings.HasPrefix(l, "\\") {
					lines = append(lines, l)
				}
			}
			q = strings.TrimSpace(strings.Join(lines, "\n"))
			stmts, perr := sql.Parse(q)
			if perr == nil && len(stmts) == 1 {
				if qs, ok := stmts[0].(*sql.QueryStmt); ok {
					want := pgDescribe(conn, q)
					got := ours(r, qs)
					if strings.HasPrefix(got, "skip") {
						counts["skip"]++
					} else if w := strings.ReplaceAll(want, "", ""); w == got || agreed(q, w, got) {
						same++
					} else {
						diff++
						fmt.Printf("---- %s\n%s\n  want %s\n  got  %s\n", f, q, want, got)
					}
				}
			}
			if _, err := conn.Exec(ctx, q); err != nil {
				if conn.IsClosed() {
					t.Fatal(err, q)
				}
				if conn.PgConn().TxStatus() == 'E' {
					conn.Exec(ctx, "rollback")
				}
			}
		}
		fmt.Println("FILE", f, same, diff)
	}
	fmt.Println(counts)
}

func pgDescribe(conn *pgx.Conn, q string) string {
	s, err := conn.PgConn().Prepare(context.Background(), "", q, nil)
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return fmt.Sprintf("error %s at %d: %s", pe.Code, pe.Position, pe.Message)
	}
	if err != nil {
		return err.Error()
	}
	var cols []string
	for _, f := range s.Fields {
		oid := f.DataTypeOID
		if oid >= 16384 {
			oid = 2249
		}
		cols = append(cols, fmt.Sprintf("%s %d/%d", f.Name, oid, f.TypeModifier))
	}
	return fmt.Sprintf("(%s) params %v", strings.Join(cols, ", "), s.ParamOIDs)
}

func ours(r *pgResolver, qs *sql.QueryStmt) string {
	p, err := Select(&Env{Resolver: r}, qs.Query)
	if err != nil {
		e := sqlerr.From(err)
		if e.Code == "XX999" || e.Code == "0A000" || e.Code == "42883" && !strings.Contains(os.Getenv("F"), "f") || e.Code == "42704" && strings.HasPrefix(e.Message, "type") {
			return "skip"
		}
		return fmt.Sprintf("error %s at %d: %s", e.Code, e.Pos, e.Message)
	}
	var names []string
	for _, k := range p.Columns {
		names = append(names, fmt.Sprintf("%s %d/%d", k.Name, k.Type.OID(), k.Type.TypMod()))
	}
	oids := make([]uint32, len(p.Params))
	for i, x := range p.Params {
		oids[i] = x.OID()
	}
	return fmt.Sprintf("(%s) params %v", strings.Join(names, ", "), oids)
}
