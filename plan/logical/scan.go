package logical

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Scan reads a source, table, materialized view or system relation.
type Scan struct {
	base
	Object *catalog.Object
	// Columns are the positions in Object.Columns that are read, in order. A source's
	// generated columns are never among them.
	Columns []int
	// Stream: only inserts, as an unbounded stream.
	Stream bool
	Pos    int
}

// NewScan returns a scan of the columns cols.
func NewScan(o *catalog.Object, cols []int, stream bool, pos int) *Scan {
	f := make([]plan.Field, len(cols))
	for i, c := range cols {
		col := o.Columns[c]
		f[i] = plan.Field{Name: col.Name, Type: col.Type, NotNull: col.NotNull, Table: o.ID, Attr: int16(c + 1)}
	}
	return &Scan{base{nil, plan.NewSchema(f...)}, o, cols, stream, pos}
}

// WithChildren returns n, which has no inputs.
func (n *Scan) WithChildren([]Node) Node { return n }

// Exprs returns nil.
func (n *Scan) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *Scan) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *Scan) Describe() plan.Desc {
	d := plan.Desc{Op: "Scan"}.With("relation", n.Object.Name.String())
	if n.Stream {
		d = d.With("read", "stream of inserts")
	}
	return d.With("columns", n.schema.ColumnNames(allOf(n.schema)))
}

func allOf(s *plan.Schema) []int {
	c := make([]int, s.Len())
	for i := range c {
		c[i] = i
	}
	return c
}
