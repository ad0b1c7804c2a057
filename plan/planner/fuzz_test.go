package planner

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// anyTable resolves every name: to a system relation if there is one, to a source
// for names that begin with s, else to a table, all with the same columns.
type anyTable struct{ system *catalog.Snapshot }

var anyColumns = []catalog.Column{
	{Name: "a", Type: types.TInt4, NotNull: true}, {Name: "b", Type: types.TInt8}, {Name: "c", Type: types.TText},
	{Name: "x", Type: types.TNumeric}, {Name: "y", Type: types.TFloat8}, {Name: "id", Type: types.TInt8},
	{Name: "k", Type: types.TText}, {Name: "v", Type: types.TInt4}, {Name: "ts", Type: types.TTimestamptz},
	{Name: "d", Type: types.TDate}, {Name: "t", Type: types.TTimestamp}, {Name: "arr", Type: types.ArrayOf(types.TInt4)},
	{Name: "j", Type: types.TJSONB}, {Name: "ok", Type: types.TBool},
}

func (r anyTable) Resolve(schema, name string) (*catalog.Object, error) {
	if o, err := r.system.Resolve(schema, name); err == nil {
		return o, nil
	}
	o := &catalog.Object{ID: 7, Name: catalog.Name{Schema: "public", Name: name}, Kind: catalog.KindTable, Columns: anyColumns, Key: []int{0}}
	if strings.HasPrefix(name, "s") {
		o.Kind, o.Key, o.AppendOnly = catalog.KindSource, nil, true
		o.Watermark = &catalog.WatermarkDef{Column: "ts", Expr: "ts - interval '5 s'"}
	}
	return o, nil
}

func (anyTable) ByID(catalog.ObjectID) *catalog.Object { return nil }

// FuzzPlan plans whatever parses, as a batch read and in each output mode. No
// text may make the planner panic or fail with an internal error, and what is
// planned must be well formed.
func FuzzPlan(f *testing.F) {
	for _, q := range seedQueries(f) {
		f.Add(q)
	}
	r := anyTable{newTestCatalog(f).system}
	f.Fuzz(func(t *testing.T, text string) {
		stmts, err := sql.Parse(text)
		if err != nil {
			return
		}
		for _, s := range stmts {
			planAll(t, &Env{Resolver: r}, s)
		}
	})
}

func planAll(t *testing.T, env *Env, s sql.Statement) {
	q, ok := s.(*sql.QueryStmt)
	if !ok {
		switch s.(type) {
		case *sql.Insert, *sql.Update, *sql.Delete:
			c, err := DML(env, s)
			if checkError(t, err) {
				wellFormed(t, c.Root)
			}
		}
		return
	}
	if p, err := Select(env, q.Query); checkError(t, err) {
		wellFormed(t, p.Root)
	}
	for m := physical.Update; m <= physical.Changelog; m++ {
		p, err := Continuous(env, q.Query, &catalog.Object{Kind: catalog.KindMaterializedView}, Options{Mode: m})
		if checkError(t, err) {
			wellFormed(t, p.Root)
			if m == physical.Append && !p.AppendOnly {
				t.Error("append mode with rows that change")
			}
		}
	}
}

func checkError(t *testing.T, err error) bool {
	if err == nil {
		return true
	}
	if e := sqlerr.From(err); e.Code == sqlerr.InternalError {
		t.Errorf("internal error: %s", e)
	}
	return false
}

// wellFormed checks what every physical plan promises.
func wellFormed(t *testing.T, root physical.Node) {
	next := physical.NodeID(1)
	var visit func(n physical.Node)
	visit = func(n physical.Node) {
		if n.ID() != next {
			t.Errorf("%s has id %d, not %d", n.Describe().Op, n.ID(), next)
		}
		next++
		width := n.Schema().Len()
		for _, k := range n.Props().Key {
			if k < 0 || k >= width {
				t.Errorf("%s: key column %d of %d", n.Describe().Op, k, width)
			}
		}
		for _, c := range n.Props().Times {
			if c.Col < 0 || c.Col >= width || !n.Schema().Fields[c.Col].Type.IsTimestamp() {
				t.Errorf("%s: time column %d of %d", n.Describe().Op, c.Col, width)
			}
		}
		if (n.Props().State == "") != (n.Props().Bound == "") {
			t.Errorf("%s keeps %q bounded by %q", n.Describe().Op, n.Props().State, n.Props().Bound)
		}
		checkNode(t, n)
		for _, c := range n.Children() {
			visit(c)
		}
	}
	visit(root)
}

// checkNode holds the types of expressions against the columns they are for.
func checkNode(t *testing.T, n physical.Node) {
	switch n := n.(type) {
	case *physical.Project:
		for i, e := range n.Exprs {
			if !e.Type().Equal(n.Out.Fields[i].Type) {
				t.Errorf("column %d is %s, its expression %s", i, n.Out.Fields[i].Type, e.Type())
			}
			inRange(t, n, plan.Columns(e))
		}
	case *physical.Filter:
		if n.Pred.Type().ID != types.Bool {
			t.Errorf("condition of type %s", n.Pred.Type())
		}
		inRange(t, n, plan.Columns(n.Pred))
	case *physical.HashAgg:
		in := n.InputSchema()
		for _, a := range n.Aggs {
			for i, c := range a.Args {
				if got := in.Fields[c].Type; got.ID != a.ArgTypes[i].ID {
					t.Errorf("%s gets %s, wants %s", a.Name, got, a.ArgTypes[i])
				}
			}
		}
	case *physical.Join:
		for i, k := range n.LeftKeys {
			l, r := n.Input[0].Schema().Fields[k].Type, n.Input[1].Schema().Fields[n.RightKeys[i]].Type
			if l.ID != r.ID {
				t.Errorf("join of %s with %s", l, r)
			}
		}
	case *physical.Union:
		for _, c := range n.Input {
			for i, f := range c.Schema().Fields {
				if f.Type.ID != n.Out.Fields[i].Type.ID {
					t.Errorf("union of %s with %s", n.Out.Fields[i].Type, f.Type)
				}
			}
		}
	}
}

func inRange(t *testing.T, n physical.Node, cols []int) {
	for _, c := range cols {
		if c >= n.Children()[0].Schema().Len() {
			t.Errorf("%s reads column %d of %d", n.Describe().Op, c, n.Children()[0].Schema().Len())
		}
	}
}

// seedQueries are the queries of the other tests.
func seedQueries(t testing.TB) []string {
	var out []string
	text, err := os.ReadFile("testdata/pg/queries.sql")
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, strings.Split(string(text), "\n")...)
	files, err := filepath.Glob("testdata/plans/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range bytes.Split(text, []byte("\n\n")) {
			head, _, _ := bytes.Cut(block, []byte("\n----"))
			if _, q, ok := bytes.Cut(head, []byte("\n")); ok {
				out = append(out, string(q))
			}
		}
	}
	return out
}
