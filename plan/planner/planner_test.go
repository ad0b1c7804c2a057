package planner

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/bind"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// testCatalog is a Resolver over objects made by CREATE statements.
type testCatalog struct {
	objects []*catalog.Object
	system  *catalog.Snapshot
}

func newTestCatalog(t testing.TB) *testCatalog {
	c, err := catalog.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &testCatalog{system: c.Snapshot()}
}

func (c *testCatalog) Resolve(schema, name string) (*catalog.Object, error) {
	var known []string
	for _, o := range c.objects {
		if o.Name.Name == name && (schema == o.Name.Schema || schema == "" &&
			(o.Name.Schema == "public" || o.Name.Schema == "pg_catalog")) {
			return o, nil
		}
		known = append(known, o.Name.Name)
	}
	if o, err := c.system.Resolve(schema, name); err == nil {
		return o, nil
	}
	if schema != "" {
		name = schema + "." + name
	}
	err := sqlerr.New(sqlerr.UndefinedTable, "relation %q does not exist", name)
	err.Hint = sqlerr.Suggest(name, known)
	return nil, err
}

func (c *testCatalog) ByID(id catalog.ObjectID) *catalog.Object {
	for _, o := range c.objects {
		if o.ID == id {
			return o
		}
	}
	return nil
}

func (c *testCatalog) add(o *catalog.Object) {
	o.ID = catalog.ObjectID(len(c.objects) + 1)
	if o.Name.Schema == "" {
		o.Name.Schema = "public"
	}
	c.objects = append(c.objects, o)
}

// define runs CREATE statements of the kinds that planning reads.
func (c *testCatalog) define(text string) error {
	stmts, err := sql.Parse(text)
	if err != nil {
		return err
	}
	for _, s := range stmts {
		if err := c.create(s, text); err != nil {
			return err
		}
	}
	return nil
}

func (c *testCatalog) create(s sql.Statement, text string) error {
	switch s := s.(type) {
	case *sql.CreateSource:
		if err := c.addTable(&s.TableDef, catalog.KindSource, true); err != nil || s.Format == nil {
			return err
		}
		o := c.objects[len(c.objects)-1]
		o.Format = strings.ToLower(s.Format.Row)
		o.AppendOnly = !o.Changing()
		return nil
	case *sql.CreateTable:
		return c.addTable(&s.TableDef, catalog.KindTable, s.AppendOnly)
	case *sql.CreateView:
		o := &catalog.Object{Name: catalog.Name{Name: s.Name.Name.Text}, Kind: catalog.KindView, Query: s.QuerySpan.Of(text)}
		p, err := Select(&Env{Resolver: c}, s.Query)
		if s.Materialized {
			o.Kind = catalog.KindMaterializedView
			p, err = Continuous(&Env{Resolver: c}, s.Query, o, Options{})
		}
		if err != nil {
			return err
		}
		for _, col := range p.Columns {
			o.Columns = append(o.Columns, catalog.Column{Name: col.Name, Type: col.Type, NotNull: col.NotNull})
		}
		for i, n := range s.Columns {
			o.Columns[i].Name = n.Text
		}
		o.Key, o.AppendOnly = p.Key, p.AppendOnly
		c.add(o)
		return nil
	}
	return fmt.Errorf("cannot define %T", s)
}

func (c *testCatalog) addTable(d *sql.TableDef, kind catalog.Kind, appendOnly bool) error {
	o := &catalog.Object{Name: catalog.Name{Schema: d.Name.Schema.Text, Name: d.Name.Name.Text}, Kind: kind,
		AppendOnly: appendOnly}
	if s := o.Name.Schema; s == "pg_catalog" || s == "information_schema" || s == "streamsql" {
		o.Kind = catalog.KindSystem
	}
	for i, k := range d.Columns {
		t, err := bind.TypeOf(k.Type)
		if err != nil {
			return err
		}
		col := catalog.Column{Name: k.Name.Text, Type: t, NotNull: k.NotNull || k.PrimaryKey}
		if k.Default != nil {
			col.Default = sql.FormatExpr(k.Default)
		}
		if k.Generated != nil {
			col.Generated = sql.FormatExpr(k.Generated)
		}
		if k.PrimaryKey {
			o.Key = []int{i}
		}
		o.Columns = append(o.Columns, col)
	}
	if d.PrimaryKey != nil {
		o.Key = nil
		for _, n := range d.PrimaryKey.Columns {
			for i, col := range o.Columns {
				if col.Name == n.Text {
					o.Key = append(o.Key, i)
				}
			}
		}
	}
	for _, w := range d.Watermarks {
		o.Watermark = &catalog.WatermarkDef{Column: w.Column.Text, Expr: w.Column.Text}
		if w.X != nil {
			o.Watermark.Expr = sql.FormatExpr(w.X)
		}
	}
	if o.Kind == catalog.KindTable && o.Key == nil {
		o.Columns = append(o.Columns, catalog.Column{Name: "_row_id", Type: types.TInt8, NotNull: true, Hidden: true})
		o.Key = []int{len(o.Columns) - 1}
	}
	c.add(o)
	return nil
}

// TestPlans runs testdata/plans: «define» fills the catalog; «select»,
// «continuous» (with mode=…, ttl=SECONDS, target=view|sink|none; bounds
// lists what is kept, bounded refuses what nothing bounds), «dml» and «params» print the
// plan or the error.
func TestPlans(t *testing.T) {
	datadriven.Walk(t, "testdata/plans", func(t *testing.T, path string) {
		c := newTestCatalog(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return runCommand(t, c, d)
		})
	})
}

func runCommand(t *testing.T, c *testCatalog, d *datadriven.TestData) string {
	verbose := d.HasArg("verbose")
	env := &Env{Resolver: c}
	if d.Cmd == "define" {
		return report(d.Input, c.define(d.Input))
	}
	stmt, err := sql.ParseOne(d.Input)
	if err != nil {
		return report(d.Input, err)
	}
	switch d.Cmd {
	case "select":
		p, err := Select(env, stmt.(*sql.QueryStmt).Query)
		if err != nil {
			return report(d.Input, err)
		}
		return show(p, verbose, d.HasArg("columns"), d.HasArg("ok"))
	case "continuous":
		return continuous(t, env, stmt, d)
	case "dml":
		ch, err := DML(env, stmt)
		if err != nil {
			return report(d.Input, err)
		}
		return showChange(ch)
	case "params":
		ts, err := InferParams(env, stmt)
		if err != nil {
			return report(d.Input, err)
		}
		s := make([]string, len(ts))
		for i, t := range ts {
			s[i] = t.String()
		}
		return strings.Join(s, ", ") + "\n"
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return ""
}

func continuous(t *testing.T, env *Env, stmt sql.Statement, d *datadriven.TestData) string {
	opt := Options{}
	target := &catalog.Object{Name: catalog.Name{Name: "q"}, Kind: catalog.KindMaterializedView}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "mode":
			m, ok := physical.ParseOutputMode(a.Vals[0])
			if !ok {
				t.Fatalf("no mode %s", a.Vals[0])
			}
			opt.Mode = m
		case "ttl": // seconds
			n, err := strconv.Atoi(a.Vals[0])
			if err != nil {
				t.Fatal(err)
			}
			opt.StateTTL = int64(n) * 1e6
		case "target":
			switch a.Vals[0] {
			case "sink":
				target.Kind = catalog.KindSink
			case "none":
				target = nil
			}
		}
	}
	p, err := Continuous(env, stmt.(*sql.QueryStmt).Query, target, opt)
	if err != nil {
		return report(d.Input, err)
	}
	if d.HasArg("bounded") {
		return report(d.Input, RefuseUnbounded(p.Root))
	}
	if d.HasArg("bounds") {
		return strings.Join(keepers(p.Root), "\n") + "\n"
	}
	return show(p, d.HasArg("verbose"), d.HasArg("columns"), d.HasArg("ok"))
}

func show(p *Plan, verbose, columns, ok bool) string {
	var b strings.Builder
	if columns {
		for _, c := range p.Columns {
			fmt.Fprintf(&b, "%s %s", c.Name, c.Type)
			if c.NotNull {
				b.WriteString(" not null")
			}
			if c.Table != 0 {
				fmt.Fprintf(&b, " from %d.%d", c.Table, c.Attr)
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	if ok {
		return fmt.Sprintf("ok, %d columns\n", len(p.Columns))
	}
	b.WriteString(Explain(p, verbose))
	for _, n := range p.Notices {
		b.WriteString("notice: " + n + "\n")
	}
	return b.String()
}

func showChange(c *Change) string {
	var b strings.Builder
	b.WriteString(c.Kind.String() + " " + c.Table.Name.String() + "\n")
	b.WriteString(Explain(&c.Plan, false))
	if k := c.Conflict; k != nil {
		b.WriteString("on conflict")
		if k.Set == nil {
			b.WriteString(" do nothing")
		}
		for i, e := range k.Set {
			fmt.Fprintf(&b, " %s=%s", c.Table.Columns[i].Name, e)
		}
		if k.Where != nil {
			fmt.Fprintf(&b, " where %s", k.Where)
		}
		b.WriteString("\n")
	}
	for i, e := range c.Returning {
		fmt.Fprintf(&b, "returning %s AS %s\n", e, c.Columns[i].Name)
	}
	return b.String()
}

// report prints an error as its code, place, message and hint.
func report(text string, err error) string {
	if err == nil {
		return ""
	}
	e := sqlerr.From(err)
	var b strings.Builder
	fmt.Fprintf(&b, "error (%s)", e.Code)
	if e.Pos > 0 {
		end := min(len(text), e.Pos-1+12)
		fmt.Fprintf(&b, " at %d %q", e.Pos, strings.ReplaceAll(text[min(e.Pos-1, len(text)):end], "\n", " "))
	}
	b.WriteString(": " + e.Error() + "\n")
	if e.Detail != "" {
		b.WriteString("detail: " + e.Detail + "\n")
	}
	if e.Hint != "" {
		b.WriteString("hint: " + e.Hint + "\n")
	}
	if e.Where != "" {
		b.WriteString("where: " + e.Where + "\n")
	}
	return b.String()
}
