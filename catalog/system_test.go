package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
)

func systemContext(c *Catalog) *SystemContext {
	return &SystemContext{Catalog: c.Snapshot(), User: "ann", Database: "db", PID: 7, Now: 1,
		Settings:  []Setting{{Name: "work_mem", Value: "4096", Type: "integer", Context: "user", Enum: []string{"a"}}},
		Functions: NewFunctionSet([]Function{{"lower", 'f'}, {"count", 'a'}, {"own_function", 'f'}}),
		Sessions:  []SessionInfo{{PID: 7, User: "ann", State: "active", ClientAddr: "127.0.0.1:99"}},
		Prepared:  []PreparedInfo{{Name: "p", Statement: "SELECT 1"}}, Cursors: []CursorInfo{{Name: "c"}}}
}

// table reads a relation's rows as maps of text.
func table(t *testing.T, ctx *SystemContext, schema, name string) []map[string]string {
	t.Helper()
	o, err := ctx.Catalog.Resolve(schema, name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ctx.Rows(o)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for i := range b.Len {
		m := map[string]string{}
		for k, c := range o.Columns {
			m[c.Name] = cell(b.Cols[k], i)
		}
		out = append(out, m)
	}
	return out
}

func cell(v *arrowbatch.Vec, i int) string {
	if v.IsNull(i) {
		return "NULL"
	}
	switch v.Layout {
	case arrowbatch.Bool:
		return fmt.Sprint(v.Bits.Get(i))
	case arrowbatch.Int16:
		return fmt.Sprint(v.I16[i])
	case arrowbatch.Int32:
		return fmt.Sprint(v.I32[i])
	case arrowbatch.Int64:
		return fmt.Sprint(v.I64[i])
	case arrowbatch.Bytes:
		return string(v.BytesAt(i))
	case arrowbatch.List:
		var parts []string
		for lo, hi := v.ListAt(i); lo < hi; lo++ {
			parts = append(parts, cell(v.Kids[0], lo))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return v.Layout.String()
}

// TestEveryRelation reads every system relation: its rows fit its columns, and
// no column that is NOT NULL has a NULL.
func TestEveryRelation(t *testing.T) {
	c := open(t, nil)
	fixture(t, c)
	ctx := systemContext(c)
	n := 0
	for _, o := range ctx.Catalog.sys.byID {
		b, err := ctx.Rows(o)
		if err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		for k, col := range o.Columns {
			if b.Cols[k].N != b.Len {
				t.Errorf("%s.%s has %d rows, the batch %d", o.Name, col.Name, b.Cols[k].N, b.Len)
			}
			if col.NotNull && b.Cols[k].Nulls() > 0 {
				t.Errorf("%s.%s is NOT NULL and has NULLs", o.Name, col.Name)
			}
		}
		n++
	}
	if n < 200 {
		t.Errorf("only %d system relations", n)
	}
}

func TestPgClass(t *testing.T) {
	c := open(t, nil)
	tab, _, _, _ := fixture(t, c)
	ctx := systemContext(c)
	seen, kinds := map[string]bool{}, map[string]string{}
	for _, r := range table(t, ctx, "", "pg_class") {
		if seen[r["oid"]] {
			t.Errorf("oid %s twice", r["oid"])
		}
		seen[r["oid"]] = true
		if r["relnamespace"] == "2200" {
			kinds[r["relname"]] = r["relkind"]
		}
	}
	if got := fmt.Sprint(kinds); got != "map[mv:m s:f t:r t_pkey:i v:v]" {
		t.Errorf("public: %s", got)
	}
	for _, r := range table(t, ctx, "", "pg_attribute") {
		if !seen[r["attrelid"]] {
			t.Errorf("column %s of the unknown relation %s", r["attname"], r["attrelid"])
		}
		if r["attrelid"] == fmt.Sprint(tab.ID.OID()) && r["attname"] == "price" &&
			(r["atttypid"] != "1700" || r["atttypmod"] != fmt.Sprint(10<<16|2+4) || r["atthasdef"] != "true") {
			t.Errorf("price: %v", r)
		}
	}
	idx := table(t, ctx, "", "pg_index")
	if len(idx) != 1 || idx[0]["indkey"] != "{1}" || idx[0]["indrelid"] != fmt.Sprint(tab.ID.OID()) {
		t.Errorf("pg_index: %v", idx)
	}
}

// TestTypesAndFunctions holds what drivers look up by oid: each type's in and
// out functions exist, and PostgreSQL's oids are used.
func TestTypesAndFunctions(t *testing.T) {
	c := open(t, nil)
	fixture(t, c)
	ctx := systemContext(c)
	procs := map[string]string{}
	for _, r := range table(t, ctx, "", "pg_proc") {
		procs[r["oid"]] = r["proname"]
	}
	types := map[string]map[string]string{}
	for _, r := range table(t, ctx, "", "pg_type") {
		types[r["oid"]] = r
		for _, f := range []string{"typinput", "typoutput", "typreceive", "typsend"} {
			if r[f] != "0" && procs[r[f]] == "" {
				t.Errorf("%s.%s is %s, which pg_proc lacks", r["typname"], f, r[f])
			}
		}
	}
	if r := types["1007"]; r["typname"] != "_int4" || r["typelem"] != "23" || procs[r["typreceive"]] != "array_recv" {
		t.Errorf("_int4: %v", r)
	}
	if procs["870"] != "lower" || procs["12500"] != "own_function" {
		t.Errorf("functions: %q, %q", procs["870"], procs["12500"])
	}
}

func TestLookup(t *testing.T) {
	c := open(t, nil)
	tab, _, v, _ := fixture(t, c)
	l := NewLookup(c.Snapshot(), "ann", NewFunctionSet([]Function{{"lower", 'f'}}))
	for _, q := range []struct {
		kind, name string
		want       uint32
	}{
		{"class", "t", tab.ID.OID()}, {"class", `public."t"`, tab.ID.OID()}, {"class", "T", tab.ID.OID()},
		{"class", "t_pkey", tab.ID.indexOID()}, {"class", "pg_catalog.pg_class", 1259}, {"type", "int4", 23},
		{"type", "_text", 1009}, {"type", "t", tab.ID.rowTypeOID()}, {"proc", "lower", 870}, {"role", "ann", 10},
		{"namespace", "public", 2200},
	} {
		if got, ok := l.OIDOf(q.kind, q.name); !ok || got != q.want {
			t.Errorf("OIDOf(%s, %s) = %d, %v, want %d", q.kind, q.name, got, ok, q.want)
		}
		name, ok := l.NameOf(q.kind, q.want)
		same := strings.HasSuffix(strings.ToLower(q.name), strings.Trim(name, `"`)) || q.name == `public."t"`
		if !ok || !same {
			t.Errorf("NameOf(%s, %d) = %q, %v", q.kind, q.want, name, ok)
		}
	}
	for _, bad := range [][2]string{{"class", "nope"}, {"class", ""}, {"class", `"t`}, {"type", "nope"}, {"role", "bob"}} {
		if got, ok := l.OIDOf(bad[0], bad[1]); ok {
			t.Errorf("OIDOf(%v) = %d", bad, got)
		}
	}
	queries := l.snap.sys.byName[Name{"streamsql", "queries"}].ID.OID()
	if name, _ := l.NameOf("class", queries); name != "streamsql.queries" {
		t.Errorf("qualified: %q", name)
	}
	index := "CREATE UNIQUE INDEX t_pkey ON public.t USING btree (id)"
	if def, _ := l.Definition("index", tab.ID.indexOID()); def != index {
		t.Errorf("index: %q", def)
	}
	if def, _ := l.Definition("constraint", tab.ID.constraintOID()); def != "PRIMARY KEY (id)" {
		t.Errorf("constraint: %q", def)
	}
	if def, _ := l.Definition("view", v.ID.OID()); def != " SELECT id, price FROM t;" {
		t.Errorf("view: %q", def)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	c := open(t, nil)
	fixture(t, c)
	ctx := systemContext(c)
	for _, rel := range [][2]string{{"streamsql", "sources"}, {"", "pg_foreign_table"}} {
		text := fmt.Sprint(table(t, ctx, rel[0], rel[1]))
		if strings.Contains(text, "hush") || !strings.Contains(text, "********") {
			t.Errorf("%v: %s", rel, text)
		}
	}
}

func TestQuoteIdent(t *testing.T) {
	for in, want := range map[string]string{"a_1": "a_1", "A": `"A"`, "select": `"select"`, "": `""`, `x"y`: `"x""y"`,
		"1a": `"1a"`, "name": "name", "between": `"between"`} {
		if got := QuoteIdent(in); got != want {
			t.Errorf("QuoteIdent(%q) = %s, want %s", in, got, want)
		}
	}
}
