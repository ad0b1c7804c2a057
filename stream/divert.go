package stream

import (
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// diversion is a table that takes the rows that one operator or source leaves out.
// Its columns are filled by name: with the row's own columns and with those of the
// relation of schema streamsql that shows such rows.
type diversion struct {
	table *catalog.Object
	cols  []divertedCol // of the table
}

// divertedCol is how a column of the table is filled: from the column from of the
// row; -1: by what the engine knows under its name; -2: with NULL.
type divertedCol struct{ from int }

const (
	fromEngine = -1
	fromNull   = -2
)

// tableFor resolves a table that rows are diverted to.
func tableFor(r catalog.Resolver, n *sql.QualifiedName) (*catalog.Object, error) {
	o, err := r.Resolve(n.Schema.Text, n.Name.Text)
	if err != nil {
		return nil, err
	}
	hidden := slices.ContainsFunc(o.Key, func(k int) bool { return o.Columns[k].Hidden })
	switch {
	case o.Kind != catalog.KindTable:
		return nil, sqlerr.New(sqlerr.WrongObjectType, "%q is not a table", o.Name.Name)
	case o.Options["connector"] != "":
		return nil, sqlerr.New(sqlerr.WrongObjectType, "table %q cannot take rows: its connector feeds it", o.Name.Name)
	case !hidden:
		return nil, sqlerr.New(sqlerr.WrongObjectType, "table %q cannot take rows that are left out: it has a primary key",
			o.Name.Name).
			WithDetail("Two such rows may be equal, and none must be lost.").
			WithHint("Use a table without a primary key.")
	}
	return o, nil
}

// divert finds out how rows with the given columns fill the table. relation is the
// one of schema streamsql that shows them, what says in a message whose they are.
func divert(table *catalog.Object, row []plan.Field, relation, what string) (*diversion, error) {
	d := &diversion{table: table}
	engine := catalog.StreamsqlColumns(relation)
	whole := slices.ContainsFunc(table.Columns, func(c catalog.Column) bool { return !c.Hidden && c.Name == "row" })
	for _, c := range table.Columns {
		from, field := fromEngine, catalog.Column{}
		i := slices.IndexFunc(row, func(f plan.Field) bool { return f.Name == c.Name })
		k := slices.IndexFunc(engine, func(e catalog.Column) bool { return e.Name == c.Name })
		switch {
		case c.Hidden:
			d.cols = append(d.cols, divertedCol{fromEngine})
			continue
		case c.Generated != "":
			return nil, sqlerr.Unsupported("a table with a generated column (%q of %q) cannot take rows that are left out",
				c.Name, table.Name.Name)
		case i >= 0:
			from, field = i, catalog.Column{Type: row[i].Type, NotNull: row[i].NotNull}
			if !c.Type.Equal(field.Type) {
				return nil, mismatch(table, &c, field.Type, what)
			}
		case k >= 0:
			field = engine[k]
			if !holds(c.Type, field.Type) {
				return nil, mismatch(table, &c, field.Type, what)
			}
		case whole:
			from = fromNull
		default:
			return nil, noSource(table, &c, row, engine, what)
		}
		if c.NotNull && !field.NotNull {
			return nil, sqlerr.New(sqlerr.InvalidTableDefinition,
				"column %q of table %q is NOT NULL, but %s may have no value for it", c.Name, table.Name.Name, what)
		}
		d.cols = append(d.cols, divertedCol{from})
	}
	return d, nil
}

// holds tells whether a table's column can take what the engine knows: text and
// JSON in any of their types.
func holds(column, engine types.Type) bool {
	json := func(t types.Type) bool { return t.ID == types.JSON || t.ID == types.JSONB }
	switch {
	case column.Equal(engine):
		return true
	case column.Mod != 0:
		return false
	case json(engine):
		return json(column) || column.IsString()
	}
	return engine.IsString() && column.IsString()
}

func mismatch(table *catalog.Object, c *catalog.Column, want types.Type, what string) error {
	return sqlerr.New(sqlerr.DatatypeMismatch, "column %q of table %q is of type %s but %s have it of type %s",
		c.Name, table.Name.Name, c.Type, what, want)
}

func noSource(table *catalog.Object, c *catalog.Column, row []plan.Field, engine []catalog.Column, what string) error {
	var known []string
	for _, f := range row {
		known = append(known, f.Name)
	}
	for _, e := range engine {
		known = append(known, e.Name)
	}
	hint := sqlerr.Suggest(c.Name, known)
	if hint == "" {
		hint = "A table with a column «\"row\" jsonb» takes any rows; what they lack is NULL."
	}
	return sqlerr.New(sqlerr.UndefinedColumn, "column %q of table %q is no column of %s", c.Name, table.Name.Name, what).
		WithHint("%s", hint)
}

// wants tells whether the table has what the engine knows under a name.
func (d *diversion) wants(name string) bool {
	for k, c := range d.table.Columns {
		if c.Name == name && d.cols[k].from == fromEngine {
			return true
		}
	}
	return false
}

// batch makes rows of the table: of rows, and for each what the engine knows of it.
func (d *diversion) batch(rows *arrowbatch.Batch, n int, engine []catalog.Vals) (*arrowbatch.Batch, error) {
	out := &arrowbatch.Batch{Len: n, Cols: make([]*arrowbatch.Vec, len(d.cols))}
	for k, c := range d.table.Columns {
		if from := d.cols[k].from; from >= 0 {
			out.Cols[k] = rows.Cols[from].Retain()
			continue
		}
		v := arrowbatch.NewVec(c.Type.Shape(), 0)
		out.Cols[k] = v
		for i := range n {
			var x any
			if d.cols[k].from == fromEngine {
				x = engine[i][c.Name]
			}
			if err := appendKnown(v, c.Type, x); err != nil {
				out.Release()
				return nil, err
			}
		}
	}
	return out, nil
}

// appendKnown adds a value of the engine to a column; nil is NULL.
func appendKnown(v *arrowbatch.Vec, t types.Type, x any) error {
	switch x := x.(type) {
	case nil:
		v.AppendNull()
	case string:
		return types.ParseString(t, sqlerr.Text(x), v, nil)
	case []byte:
		v.AppendBytes(x)
	case int:
		v.AppendInt64(int64(x))
	case int64:
		v.AppendInt64(x)
	default:
		return sqlerr.Internal("a column cannot hold %T", x)
	}
	return nil
}

// lateDiversion finds out how the late rows of an operator fill a table.
func lateDiversion(table *catalog.Object, n physical.Node) (*diversion, error) {
	var row []plan.Field
	if in := n.Children(); len(in) > 0 {
		row = in[0].Schema().Fields
	}
	return divert(table, row, "late_rows", "the rows that "+n.Describe().Op+" drops as late")
}

// dropsLate tells whether an operator may drop rows as late.
func dropsLate(n physical.Node) bool {
	switch n := n.(type) {
	case *physical.HashAgg:
		return n.Window != nil || n.CloseBy >= 0
	case *physical.DistinctOn:
		return n.Time >= 0
	case *physical.GroupTopN:
		return n.CloseBy >= 0
	}
	return false
}

// badDiversion finds out how a source's bad records fill a table.
func badDiversion(table *catalog.Object) (*diversion, error) {
	return divert(table, nil, "bad_rows", "bad records")
}

// CheckSource checks what the options of a source say of its late and bad rows, and
// returns the tables that take them. Late rows are checked as the source has them.
func CheckSource(r catalog.Resolver, o *catalog.Object) (tables []catalog.ObjectID, err error) {
	if k, _ := keepOf(o, LateRowsOption); k.Table != nil {
		t, err := tableFor(r, k.Table)
		if err != nil {
			return nil, err
		}
		var row []plan.Field
		for _, c := range o.Columns {
			row = append(row, plan.Field{Name: c.Name, Type: c.Type, NotNull: c.NotNull})
		}
		if _, err := divert(t, row, "late_rows", "the late rows of "+o.Name.Name); err != nil {
			return nil, err
		}
		tables = append(tables, t.ID)
	}
	if k, _ := keepOf(o, BadRowsOption); k.Table != nil {
		t, err := tableFor(r, k.Table)
		if err == nil {
			_, err = badDiversion(t)
		}
		if err != nil {
			return nil, err
		}
		tables = append(tables, t.ID)
	}
	return tables, nil
}

// CheckQuery checks what becomes of the late rows of a planned query, and returns the
// tables that the query's own option names. reads are the objects that it reads.
func CheckQuery(r catalog.Resolver, o *catalog.Object, root physical.Node, reads []*catalog.Object) (
	tables []catalog.ObjectID, err error,
) {
	if _, given := o.Options[LateRowsOption]; given && !anyDropsLate(root) {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue,
			"option %q has no effect: nothing in the query drops late rows", LateRowsOption).
			WithHint("Rows are late for windows, keys and duplicates that a watermark closes. Leave the option out.")
	}
	if k, _ := keepOf(o, LateRowsOption); k.Table != nil {
		t, err := tableFor(r, k.Table)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t.ID)
	}
	return tables, checkNodes(r, o, root, reads)
}

func anyDropsLate(n physical.Node) bool {
	return dropsLate(n) || slices.ContainsFunc(n.Children(), anyDropsLate)
}

func checkNodes(r catalog.Resolver, o *catalog.Object, n physical.Node, reads []*catalog.Object) error {
	keep, err := lateKeep(o, n)
	if err != nil {
		return err
	}
	if keep.Table != nil {
		t, err := tableFor(r, keep.Table)
		if err != nil {
			return err
		}
		if dropsLate(n) {
			if _, err := lateDiversion(t, n); err != nil {
				return err
			}
		}
		if from := readsFrom(r, reads, t.ID); from != nil {
			return sqlerr.New(sqlerr.InvalidRecursion, "late rows of %s %q cannot go to table %q, which it reads",
				o.Kind, o.Name.Name, t.Name.Name).
				WithHint("Use another table.")
		}
	}
	for _, c := range n.Children() {
		if err := checkNodes(r, o, c, reads); err != nil {
			return err
		}
	}
	return nil
}

// readsFrom returns the object by which reading reads means reading table id; nil:
// it does not.
func readsFrom(r catalog.Resolver, reads []*catalog.Object, id catalog.ObjectID) *catalog.Object {
	seen := map[catalog.ObjectID]bool{}
	var visit func(o *catalog.Object) bool
	visit = func(o *catalog.Object) bool {
		if o == nil || seen[o.ID] {
			return false
		}
		seen[o.ID] = true
		return o.ID == id || slices.ContainsFunc(o.DependsOn, func(d catalog.ObjectID) bool { return visit(r.ByID(d)) })
	}
	for _, o := range reads {
		if visit(o) {
			return o
		}
	}
	return nil
}

// LateColumns are the names of the columns that late rows must have for the tables
// that take them, as far as what the query reads has them.
func LateColumns(r catalog.Resolver, o *catalog.Object, reads []*catalog.Object) []string {
	var out []string
	add := func(o *catalog.Object) {
		k, _ := keepOf(o, LateRowsOption)
		if k.Table == nil {
			return
		}
		t, err := tableFor(r, k.Table)
		if err != nil {
			return // CheckQuery tells
		}
		for _, c := range t.Columns {
			if !c.Hidden && !slices.Contains(out, c.Name) {
				out = append(out, c.Name)
			}
		}
	}
	if add(o); len(out) > 0 {
		return out
	}
	for _, s := range reads {
		add(s)
	}
	return out
}
