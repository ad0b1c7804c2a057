package session

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/bind"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// RowIDColumn is the hidden key of a table without a primary key.
const RowIDColumn = "_row_id"

// maxColumns is the number of columns of a table, as in PostgreSQL.
const maxColumns = 1600

// metaTypes are the types of the columns that INCLUDE adds.
var metaTypes = map[string]types.Type{"key": types.TText, "partition": types.TInt4, "offset": types.TInt8,
	"timestamp": types.TTimestamptz, "headers": types.TJSONB}

// fixedColumns takes the columns of a connector that knows its own, where the
// statement lists none.
func (s *Session) fixedColumns(o *catalog.Object, d *sql.TableDef) error {
	f, err := s.factory(o)
	if err != nil {
		return err
	}
	if len(d.Columns) > 0 || f.FixedColumns == nil {
		return nil
	}
	for _, c := range f.FixedColumns(ConnectorOptions(o)) {
		o.Columns = append(o.Columns, catalog.Column{Name: c.Name, Type: c.Type, NotNull: c.NotNull, Meta: c.Meta})
	}
	return nil
}

// defineTable fills in columns, key and watermark from the syntax.
func (s *Session) defineTable(text string, o *catalog.Object, d *sql.TableDef) error {
	for i := range d.Columns {
		c, err := s.column(o, &d.Columns[i])
		if err != nil {
			return err
		}
		o.Columns = append(o.Columns, c)
	}
	if err := s.include(o, d); err != nil {
		return err
	}
	if len(d.Uniques) > 0 {
		return sqlerr.Unsupported("UNIQUE constraints are not supported").At(d.Uniques[0].Pos).
			WithHint("A table has one PRIMARY KEY.")
	}
	if len(d.Checks) > 0 {
		return sqlerr.Unsupported("CHECK constraints are not supported").At(d.Checks[0].Pos)
	}
	if len(o.Columns) > maxColumns {
		return sqlerr.New(sqlerr.TooManyColumns, "tables can have at most %d columns", maxColumns)
	}
	seen := map[string]bool{}
	for _, c := range o.Columns {
		if seen[c.Name] {
			return sqlerr.New(sqlerr.DuplicateColumn, "column %q specified more than once", c.Name).At(columnPos(d, c.Name))
		}
		seen[c.Name] = true
	}
	if err := tableKey(o, d); err != nil {
		return err
	}
	return tableWatermark(o, d)
}

// columnPos is where a column is named the last time.
func columnPos(d *sql.TableDef, name string) int {
	for _, c := range slices.Backward(d.Columns) {
		if c.Name.Text == name {
			return c.Name.Pos
		}
	}
	return -1
}

func (s *Session) column(o *catalog.Object, d *sql.ColumnDef) (catalog.Column, error) {
	c := catalog.Column{Name: d.Name.Text, NotNull: d.NotNull || d.PrimaryKey}
	refuse := func(what string) (catalog.Column, error) {
		return c, sqlerr.Unsupported("%s is not supported", what).At(d.Name.Pos)
	}
	switch {
	case d.Unique:
		return refuse("UNIQUE")
	case len(d.Checks) > 0:
		return refuse("CHECK")
	case d.Identity:
		return refuse("GENERATED ... AS IDENTITY")
	case d.Collation.Name.Given() && !slices.Contains([]string{"C", "POSIX", "default"}, d.Collation.Name.Text):
		return c, sqlerr.New(sqlerr.UndefinedObject, "collation %q for encoding \"UTF8\" does not exist",
			d.Collation.Name.Text).
			At(d.Collation.Name.Pos)
	case d.Default != nil && o.Kind == catalog.KindSource:
		return refuse("DEFAULT of a source's column")
	}
	if d.Default != nil {
		c.Default = sql.FormatExpr(d.Default)
	}
	if d.Generated != nil {
		c.Generated = sql.FormatExpr(d.Generated)
		if d.Default != nil {
			return c, sqlerr.New(sqlerr.SyntaxError,
				"both default and generation expression specified for column %q of table %q",
				c.Name, o.Name.Name).At(d.Name.Pos)
		}
	}
	if d.Type == nil {
		return c, nil // the type is that of the expression: see putTable
	}
	t, err := bind.TypeOf(d.Type)
	if err != nil {
		return c, err
	}
	if t.ID == types.Unknown || t.ID == types.Void {
		return c, sqlerr.New(sqlerr.InvalidTableDefinition, "column %q has pseudo-type %s", c.Name, t).At(d.Type.Pos)
	}
	c.Type = t
	return c, nil
}

// include adds the columns of INCLUDE.
func (s *Session) include(o *catalog.Object, d *sql.TableDef) error {
	for _, item := range d.Include {
		t, ok := metaTypes[item.What]
		if !ok {
			e := sqlerr.Unsupported("INCLUDE %s is not supported", item.What).At(item.Pos)
			e.Hint = "A record's metadata are key, partition, offset, timestamp and headers."
			return e
		}
		if o.Options["connector"] == "" {
			return sqlerr.New(sqlerr.InvalidTableDefinition, "INCLUDE needs a connector").At(item.Pos)
		}
		name := item.What
		if item.As.Given() {
			name = item.As.Text
		}
		o.Columns = append(o.Columns, catalog.Column{Name: name, Type: t, Meta: item.What})
	}
	return nil
}

// tableKey finds the primary key and makes its columns NOT NULL.
func tableKey(o *catalog.Object, d *sql.TableDef) error {
	if d.PrimaryKey == nil {
		return nil
	}
	o.KeyConstraint = d.PrimaryKey.Name.Text
	for _, n := range d.PrimaryKey.Columns {
		i := slices.IndexFunc(o.Columns, func(c catalog.Column) bool { return c.Name == n.Text })
		switch {
		case i < 0:
			return sqlerr.New(sqlerr.UndefinedColumn, "column %q named in key does not exist", n.Text).At(n.Pos)
		case slices.Contains(o.Key, i):
			return sqlerr.New(sqlerr.DuplicateColumn, "column %q appears twice in primary key constraint", n.Text).At(n.Pos)
		case o.Columns[i].Type.ID == types.JSON || o.Columns[i].Type.ID == types.Struct:
			return sqlerr.New(sqlerr.UndefinedObject, "data type %s has no default operator class for access method \"btree\"",
				o.Columns[i].Type).At(n.Pos)
		}
		o.Key = append(o.Key, i)
		o.Columns[i].NotNull = true
	}
	return nil
}

func tableWatermark(o *catalog.Object, d *sql.TableDef) error {
	if len(d.Watermarks) == 0 {
		return nil
	}
	if len(d.Watermarks) > 1 {
		return sqlerr.Unsupported("a relation has one watermark").At(d.Watermarks[1].Pos)
	}
	w := d.Watermarks[0]
	i := slices.IndexFunc(o.Columns, func(c catalog.Column) bool { return c.Name == w.Column.Text })
	if i < 0 {
		var known []string
		for _, c := range o.Columns {
			known = append(known, c.Name)
		}
		e := sqlerr.New(sqlerr.UndefinedColumn, "column %q does not exist", w.Column.Text).At(w.Column.Pos)
		e.Hint = sqlerr.Suggest(w.Column.Text, known)
		return e
	}
	if o.Changing() {
		return sqlerr.Unsupported("a watermark needs rows that are only added, but the records of FORMAT %s change rows",
			strings.ToUpper(o.Format)).At(w.Pos).
			WithHint("Read the topic a second time by a source with FORMAT PLAIN, whose records are rows.")
	}
	if o.Kind == catalog.KindTable && !o.AppendOnly && (o.Key != nil || o.Options["connector"] == "") {
		return sqlerr.Unsupported("a watermark needs a table whose rows are only added").At(w.Pos).
			WithHint("Create the table APPEND ONLY.")
	}
	o.Watermark = &catalog.WatermarkDef{Column: w.Column.Text, Expr: sql.QuoteIdent(w.Column.Text)}
	if w.X != nil {
		o.Watermark.Expr = sql.FormatExpr(w.X)
	}
	return nil
}

// putTable checks the expressions of a table or source against its columns and
// adds it to the transaction.
func (s *Session) putTable(text string, o *catalog.Object, d *sql.TableDef) error {
	cat := s.begin().catalogTx()
	for i := range d.Columns {
		if err := s.checkDefault(text, o, &d.Columns[i]); err != nil {
			return err
		}
	}
	mark := cat.Mark()
	bare := *o
	bare.Columns, bare.Watermark = slices.Clone(o.Columns), nil
	for i := range bare.Columns {
		bare.Columns[i].Generated, bare.Columns[i].Default = "", ""
		if bare.Columns[i].Type.ID == types.Unknown {
			bare.Columns[i].Type = types.TText
		}
	}
	if err := cat.Create(&bare); err != nil {
		return err
	}
	for i := range d.Columns {
		if err := s.checkGenerated(text, o, &d.Columns[i]); err != nil {
			return err
		}
	}
	if o.Watermark != nil {
		if err := s.checkWatermark(text, o, d.Watermarks[0]); err != nil {
			return err
		}
	}
	cat.BackTo(mark)
	if err := cat.Create(o); err != nil || o.Watermark == nil {
		return err
	}
	// What the expression means for the column is known when the relation is read.
	_, err := s.srv.Planner.Query(s.planInput(text, nil), selectOf(relationOf(o), &sql.NumberLit{Text: "1"}))
	if err != nil {
		e := *sqlerr.From(err)
		e.Where = ""
		return e.At(d.Watermarks[0].Pos)
	}
	return nil
}

// checkDefault plans a column's default: it refers to no columns and can be
// assigned to the column.
func (s *Session) checkDefault(text string, o *catalog.Object, d *sql.ColumnDef) error {
	if d.Default == nil {
		return nil
	}
	i := slices.IndexFunc(o.Columns, func(c catalog.Column) bool { return c.Name == d.Name.Text })
	plan, err := s.srv.Planner.Query(s.planInput(text, nil), selectOf(nil, d.Default))
	if err != nil {
		if e := sqlerr.From(err); e.Code == sqlerr.UndefinedColumn {
			return sqlerr.Unsupported("cannot use column reference in DEFAULT expression").At(d.Default.Position())
		}
		return err
	}
	return assignable("default expression", o.Columns[i], plan.Columns[0].Type, d.Default.Position())
}

// checkGenerated plans the expression of a generated column over the others.
func (s *Session) checkGenerated(text string, o *catalog.Object, d *sql.ColumnDef) error {
	if d.Generated == nil {
		return nil
	}
	i := slices.IndexFunc(o.Columns, func(c catalog.Column) bool { return c.Name == d.Name.Text })
	plan, err := s.srv.Planner.Query(s.planInput(text, nil), selectOf(relationOf(o), d.Generated))
	if err != nil {
		return err
	}
	if d.Type == nil {
		if o.Columns[i].Type = plan.Columns[0].Type; o.Columns[i].Type.ID == types.Unknown {
			o.Columns[i].Type = types.TText
		}
		return nil
	}
	return assignable("generation expression", o.Columns[i], plan.Columns[0].Type, d.Generated.Position())
}

func (s *Session) checkWatermark(text string, o *catalog.Object, w sql.WatermarkDef) error {
	i := slices.IndexFunc(o.Columns, func(c catalog.Column) bool { return c.Name == w.Column.Text })
	t := o.Columns[i].Type
	if t.ID != types.Timestamp && t.ID != types.Timestamptz {
		return sqlerr.New(sqlerr.DatatypeMismatch, "watermark column %q must be a timestamp, not %s", w.Column.Text, t).
			At(w.Column.Pos)
	}
	if w.X == nil {
		return nil
	}
	plan, err := s.srv.Planner.Query(s.planInput(text, nil), selectOf(relationOf(o), w.X))
	if err != nil {
		return err
	}
	if got := plan.Columns[0].Type; got.ID != t.ID {
		return sqlerr.New(sqlerr.DatatypeMismatch, "the watermark of column %q is of type %s, the column of type %s",
			w.Column.Text, got, t).At(w.X.Position())
	}
	return nil
}

func assignable(what string, c catalog.Column, t types.Type, pos int) error {
	if t.ID == types.Unknown || expr.CanCast(t, c.Type, expr.Assignment) {
		return nil
	}
	return sqlerr.New(sqlerr.DatatypeMismatch, "column %q is of type %s but %s is of type %s", c.Name, c.Type, what, t).
		At(pos).WithHint("You will need to rewrite or cast the expression.")
}

// selectOf is SELECT x [FROM rel].
func selectOf(rel *sql.Relation, x sql.Expr) *sql.Query {
	sel := &sql.Select{Targets: []sql.Target{{X: x}}}
	if rel != nil {
		sel.From = []sql.TableRef{rel}
	}
	return &sql.Query{Body: sel}
}

func relationOf(o *catalog.Object) *sql.Relation {
	return &sql.Relation{Name: sql.QualifiedName{Schema: sql.Name{Text: o.Name.Schema}, Name: sql.Name{Text: o.Name.Name}}}
}

// addRowID gives a table without a primary key its hidden one.
func addRowID(o *catalog.Object) {
	name := RowIDColumn
	for n := 1; slices.ContainsFunc(o.Columns, func(c catalog.Column) bool { return c.Name == name }); n++ {
		name = RowIDColumn + strconv.Itoa(n)
	}
	o.Key = []int{len(o.Columns)}
	o.Columns = append(o.Columns, catalog.Column{Name: name, Type: types.TInt8, NotNull: true, Hidden: true})
}

func (s *Session) createTable(ctx context.Context, in *input, t *sql.CreateTable, n catalog.Name) (string, error) {
	if t.Temporary {
		return "", sqlerr.Unsupported("temporary tables are not supported").At(t.Start)
	}
	o, err := s.newObject(n, catalog.KindTable, t.Name.Pos())
	if err != nil {
		return "", err
	}
	o.AppendOnly = t.AppendOnly
	if o.Options, err = takeOptions(o.Kind, t.Options, true); err != nil {
		return "", err
	}
	if err := setFormat(o, t.Format); err != nil {
		return "", err
	}
	fed := o.Options["connector"] != ""
	if !fed && (t.Format != nil || len(o.Options) > 0) {
		return "", sqlerr.New(sqlerr.InvalidParameterValue, "table %q has no connector that the options are for", n.Name).
			WithHint("Name one by WITH (connector = '...').")
	}
	o.SQL = statementSQL(in.text, t)
	if t.As != nil {
		return s.createTableAs(ctx, in, t, o)
	}
	if fed {
		if err := s.fixedColumns(o, &t.TableDef); err != nil {
			return "", err
		}
	}
	if err := s.defineTable(in.text, o, &t.TableDef); err != nil {
		return "", err
	}
	if fed {
		s.defaultParallelism(o)
		if err := s.checkSource(o); err != nil {
			return "", err
		}
	}
	switch {
	case len(o.Key) > 0:
	case fed:
		o.AppendOnly = true // rows without a key can only be added
	default:
		addRowID(o)
	}
	return "CREATE TABLE", s.putTable(in.text, o, &t.TableDef)
}
