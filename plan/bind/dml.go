package bind

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
)

// ChangeKind is INSERT, UPDATE or DELETE.
type ChangeKind uint8

// The kinds of changes.
const (
	Insert ChangeKind = iota
	Update
	Delete
)

func (k ChangeKind) String() string { return [...]string{"INSERT", "UPDATE", "DELETE"}[k] }

// Change is a bound INSERT, UPDATE or DELETE. With n the number of the table's
// columns, hidden ones included, in their order, the rows of Source are
//
//	INSERT  the new row: n columns, defaults and generated ones filled in;
//	        hidden ones are NULL
//	UPDATE  the old row, the new row, then the columns of FROM
//	DELETE  the old row, then the columns of USING
//
// Values have the columns' types; whoever stores them checks NOT NULL.
type Change struct {
	Kind   ChangeKind
	Table  *catalog.Object
	Source logical.Node
	// Conflict is ON CONFLICT, nil when absent.
	Conflict *Conflict
	// Returning are the columns of RETURNING, over the row that the statement leaves
	// (DELETE: the old row) followed by the columns of FROM or USING; nil when there
	// is no RETURNING. Names are theirs.
	Returning []expr.Expr
	Names     []string
}

// Conflict is ON CONFLICT on the table's primary key.
type Conflict struct {
	// Set is the new row, over the stored row followed by the one proposed for
	// insertion; nil for DO NOTHING.
	Set []expr.Expr
	// Where, over the same columns, decides whether the row is changed; nil: always.
	Where expr.Expr
}

// table finds the table that a statement changes.
func (b *Binder) table(name sql.QualifiedName, kind ChangeKind) (*catalog.Object, error) {
	o, err := b.env.Resolver.Resolve(name.Schema.Text, name.Name.Text)
	if err != nil {
		return nil, at(err, name.Pos())
	}
	if o.Kind != catalog.KindTable {
		word := [...]string{"insert into", "update", "delete from"}[kind]
		return nil, sqlerr.New(sqlerr.ObjectNotInState, "cannot %s %s %q", word, o.Kind, o.Name).At(name.Pos())
	}
	if o.AppendOnly && kind != Insert {
		return nil, sqlerr.New(sqlerr.ObjectNotInState, "table %q is append-only", o.Name).At(name.Pos()).
			WithHint("Only INSERT changes it.")
	}
	return o, nil
}

// columnIndex finds a visible column of a table by name.
func columnIndex(o *catalog.Object, n sql.Name) (int, error) {
	known := make([]string, 0, len(o.Columns))
	for i, c := range o.Columns {
		if c.Hidden {
			continue
		}
		if c.Name == n.Text {
			return i, nil
		}
		known = append(known, c.Name)
	}
	err := sqlerr.New(sqlerr.UndefinedColumn, "column %q of relation %q does not exist", n.Text, o.Name.Name).At(n.Pos)
	err.Hint = sqlerr.Suggest(n.Text, known)
	return 0, err
}

// defaultOf binds a column's default value, NULL if it has none.
func (b *Binder) defaultOf(c catalog.Column, o *catalog.Object) (expr.Expr, error) {
	if c.Default == "" {
		return expr.ConstNull(c.Type), nil
	}
	e, err := b.ColumnExpr(c.Default, logical.OneRow(), o.Name.Name, "DEFAULT expressions")
	if err == nil {
		e, err = expr.CoerceAssign(e, c.Name, c.Type)
	}
	if err != nil {
		return nil, where(err, "default of column %s of %s", c.Name, o)
	}
	return e, nil
}

// Insert binds INSERT.
func (b *Binder) Insert(s *sql.Insert) (*Change, error) {
	o, err := b.table(s.Table, Insert)
	if err != nil {
		return nil, err
	}
	ctes, err := b.with(s.With, nil, nil)
	if err != nil {
		return nil, err
	}
	cols, err := insertColumns(o, s)
	if err != nil {
		return nil, err
	}
	src, given, err := b.insertSource(s, o, cols, ctes)
	if err != nil {
		return nil, err
	}
	c := &Change{Kind: Insert, Table: o}
	in := logical.Identity(src.Schema())
	row, list, err := b.newRow(o, src, func(i int) (expr.Expr, error) {
		if k, ok := given[i]; ok {
			return in[k], nil
		}
		return b.defaultOf(o.Columns[i], o)
	})
	if err != nil {
		return nil, err
	}
	c.Source = logical.NewProject(row, list, columnNames(o))
	alias := o.Name.Name
	if s.Alias.Given() {
		alias = s.Alias.Text
	}
	if s.OnConflict != nil {
		if c.Conflict, err = b.conflict(s.OnConflict, o, alias); err != nil {
			return nil, err
		}
	}
	return c, b.returning(c, s.Returning, alias, nil, ctes)
}

// insertColumns returns the target columns in the order of the values.
func insertColumns(o *catalog.Object, s *sql.Insert) ([]int, error) {
	var cols []int
	if s.Columns == nil {
		for i, c := range o.Columns {
			if !c.Hidden {
				cols = append(cols, i)
			}
		}
		return cols, nil
	}
	seen := map[int]bool{}
	for _, n := range s.Columns {
		i, err := columnIndex(o, n)
		if err != nil {
			return nil, err
		}
		if seen[i] {
			return nil, sqlerr.New(sqlerr.DuplicateColumn, "column %q specified more than once", n.Text).At(n.Pos)
		}
		seen[i] = true
		cols = append(cols, i)
	}
	return cols, nil
}

// insertSource binds the rows of an INSERT: given maps table columns to columns
// of the source. Columns left out are those without values.
func (b *Binder) insertSource(s *sql.Insert, o *catalog.Object, cols []int,
	ctes *cteScope,
) (logical.Node, map[int]int, error) {
	given := map[int]int{}
	if s.Query == nil {
		return logical.OneRow(), given, nil
	}
	if v, ok := s.Query.Body.(*sql.Values); ok && s.Query.With == nil && s.Query.OrderBy == nil &&
		s.Query.Limit == nil && s.Query.Offset == nil {
		return b.insertValues(v, o, cols, s, ctes)
	}
	n, err := b.rawQuery(s.Query, nil, ctes)
	if err != nil {
		return nil, nil, err
	}
	width := n.Schema().Len()
	if err := checkWidth(width, len(cols), s); err != nil {
		return nil, nil, err
	}
	list := logical.Identity(n.Schema())
	if p, ok := n.(*logical.Project); ok { // so that literals are read as the column's type
		list, n = append([]expr.Expr(nil), p.List...), p.Input()
	}
	names := make([]string, width)
	for i := range list {
		col := o.Columns[cols[i]]
		if col.Generated != "" {
			return nil, nil, generatedValue(col, s.Query.Pos)
		}
		if list[i], err = expr.CoerceAssign(list[i], col.Name, col.Type); err != nil {
			return nil, nil, at(err, s.Query.Pos)
		}
		names[i], given[cols[i]] = col.Name, i
	}
	return logical.NewProject(n, list, names), given, nil
}

func checkWidth(width, cols int, s *sql.Insert) error {
	if width > cols {
		return sqlerr.New(sqlerr.SyntaxError, "INSERT has more expressions than target columns").At(columnPos(s.Query, cols))
	}
	if width < cols && s.Columns != nil {
		return sqlerr.New(sqlerr.SyntaxError, "INSERT has more target columns than expressions").At(s.Columns[width].Pos)
	}
	return nil
}

func generatedValue(c catalog.Column, pos int) error {
	return sqlerr.New("428C9", "cannot insert a non-DEFAULT value into column %q", c.Name).
		WithDetail("Column %q is a generated column.", c.Name).At(pos)
}

// insertValues binds VALUES of an INSERT, where DEFAULT may stand and every value
// is cast to its column's type.
func (b *Binder) insertValues(v *sql.Values, o *catalog.Object, cols []int, s *sql.Insert,
	ctes *cteScope,
) (logical.Node, map[int]int, error) {
	l := b.newLevel(nil, ctes)
	given := map[int]int{}
	width := len(v.Rows[0])
	if err := checkWidth(width, len(cols), s); err != nil {
		return nil, nil, err
	}
	fields := make([]plan.Field, width)
	for i := range fields {
		c := o.Columns[cols[i]]
		fields[i] = plan.Field{Name: c.Name, Type: c.Type}
		if c.Generated == "" {
			given[cols[i]] = i
		}
	}
	rows := make([][]expr.Expr, len(v.Rows))
	for r, row := range v.Rows {
		if len(row) != width {
			return nil, nil, sqlerr.New(sqlerr.SyntaxError, "VALUES lists must all be the same length").At(row[0].Position())
		}
		rows[r] = make([]expr.Expr, width)
		for i, x := range row {
			c := o.Columns[cols[i]]
			var err error
			if _, isDefault := x.(*sql.Default); isDefault {
				rows[r][i], err = b.defaultOf(c, o)
			} else if c.Generated != "" {
				err = generatedValue(c, x.Position())
			} else if rows[r][i], err = l.scalar(x, "VALUES"); err == nil {
				rows[r][i], err = expr.CoerceAssign(rows[r][i], c.Name, c.Type)
				err = at(err, x.Position())
			}
			if err != nil {
				return nil, nil, err
			}
		}
	}
	if _, plain := l.node.(*logical.Values); plain {
		return logical.NewValues(rows, fields...), given, nil
	}
	in := make([]logical.Node, len(rows))
	for r, row := range rows {
		in[r] = logical.NewProject(l.node, row, plan.NewSchema(fields...).Names())
	}
	if len(in) == 1 {
		return in[0], given, nil
	}
	return logical.NewUnion(in...), given, nil
}

// newRow makes a whole row of the table over src: value gives the columns that
// are not generated, the others are computed from these. The row's expressions
// are over the plan that is returned, which has src's columns first: volatile
// values that a generated column reads are computed once, below.
func (b *Binder) newRow(o *catalog.Object, src logical.Node, value func(i int) (expr.Expr, error),
) (logical.Node, []expr.Expr, error) {
	list := make([]expr.Expr, len(o.Columns))
	var base []expr.Expr
	var names []string
	volatile := false
	for i, c := range o.Columns {
		if c.Generated != "" {
			continue
		}
		e, err := value(i)
		if err != nil {
			return nil, nil, err
		}
		list[i] = e
		base, names = append(base, e), append(names, c.Name)
		volatile = volatile || expr.VolatilityOf(e) == expr.Volatile
	}
	if len(base) == len(list) {
		return src, list, nil
	}
	width := src.Schema().Len()
	if volatile {
		all := append(logical.Identity(src.Schema()), base...)
		src = logical.NewProject(src, all, append(src.Schema().Names(), names...))
		base = logical.Identity(src.Schema())[width:]
	}
	// A generated expression is bound over the other columns and these are put in.
	p := logical.NewProject(src, base, names)
	next := 0
	for i, c := range o.Columns {
		if c.Generated == "" {
			list[i] = base[next]
			next++
			continue
		}
		e, err := b.ColumnExpr(c.Generated, p, o.Name.Name, "generation expression")
		if err == nil {
			e, err = expr.CoerceAssign(e, c.Name, c.Type)
		}
		if err != nil {
			return nil, nil, where(err, "generated column %s of %s", c.Name, o)
		}
		list[i] = expr.Substitute(e, func(k int) expr.Expr { return base[k] })
	}
	return src, list, nil
}

// returning binds RETURNING over the row that is left and extra columns.
func (b *Binder) returning(c *Change, ts []sql.Target, alias string, extra *item, ctes *cteScope) error {
	if len(ts) == 0 {
		return nil
	}
	l := b.newLevel(nil, ctes)
	l.closed = true
	row := tableRow(c.Table)
	hidden := func(i int) bool { return c.Table.Columns[i].Hidden }
	l.node, l.scope = row, relScope(alias, c.Table.Name.Schema, row, c.Table, hidden)
	if extra != nil {
		sc, err := l.scope.join(extra.scope)
		if err != nil {
			return err
		}
		l.node, l.scope = logical.NewJoin(row, extra.node, plan.CrossJoin, nil, 0), sc
	}
	targets, err := l.targets(ts)
	if err != nil {
		return err
	}
	for _, t := range targets {
		e, err := l.returningTarget(t)
		if err != nil {
			return err
		}
		c.Returning, c.Names = append(c.Returning, e), append(c.Names, t.name)
	}
	return nil
}

func (l *level) returningTarget(t target) (expr.Expr, error) {
	if t.ast == nil {
		return t.e, nil
	}
	e, err := l.scalar(t.ast, "RETURNING")
	if err != nil {
		return nil, err
	}
	return asText(e)
}

// tableRow is a scan of all of a table's columns.
func tableRow(o *catalog.Object) *logical.Scan {
	cols := make([]int, len(o.Columns))
	for i := range cols {
		cols[i] = i
	}
	return logical.NewScan(o, cols, false, 0)
}
