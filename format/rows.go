package format

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// rows are the columns of a batch while it is filled.
type rows struct {
	cols    []Column
	nodes   []*node
	notNull []int
	// n is the number of whole rows; the record in work is row n.
	n int
	// hint is the size of the last batch: room is made for as many rows.
	hint int
}

// node is a column or a part of one, with what the decoders need to know.
type node struct {
	t    types.Type
	kind kind
	v    *arrowbatch.Vec
	kids []*node
	// obj finds the kids of a struct by name.
	obj *object
	// seen is one more than the last row that had a value here, for unused NOT NULL
	// columns, which have no vector to look at.
	seen int
	// base is the kind without wire, which says how a kindWire node's values are written.
	base kind
	wire wire
	// loose is one more than the row whose value was found under a name in other
	// letter case: the very name overrides it.
	loose int
}

func (r *rows) init(cols []Column) {
	r.cols = cols
	for i, c := range cols {
		n := newNode(c.Type)
		if c.Unused {
			n.kind = kindSkip
		}
		r.nodes = append(r.nodes, n)
		if c.NotNull && c.Meta == "" {
			r.notNull = append(r.notNull, i)
		}
	}
	r.fresh()
}

func newNode(t types.Type) *node {
	n := &node{t: t, kind: kindOf(t)}
	switch t.ID {
	case types.Array:
		n.kids = []*node{newNode(*t.Elem)}
	case types.Struct:
		for _, f := range t.Fields {
			n.kids = append(n.kids, newNode(f.Type))
		}
	}
	return n
}

// fresh gives every column a new vector.
func (r *rows) fresh() {
	for _, n := range r.nodes {
		v := arrowbatch.NewVec(n.t.Shape(), 0)
		if n.kind != kindSkip {
			v.Grow(r.hint)
		}
		n.bind(v)
		n.seen = 0
	}
}

func (n *node) bind(v *arrowbatch.Vec) {
	n.v, n.loose = v, 0
	for i, k := range n.kids {
		k.bind(v.Kids[i])
	}
}

// present tells whether row r.n of column i has a value.
func (r *rows) present(i int) bool {
	n := r.nodes[i]
	if n.kind == kindSkip {
		return n.seen == r.n+1
	}
	return n.v.N > r.n && !n.v.IsNull(r.n)
}

// endRow checks what can be checked when a record has been rear.
func (r *rows) endRow(start, end int) *RecordError {
	for _, i := range r.notNull {
		if r.present(i) {
			continue
		}
		name := r.cols[i].Name
		return &RecordError{Start: start, End: end, Column: name, Err: sqlerr.New(sqlerr.NotNullViolation,
			`null value in column "%s" violates not-null constraint`, name)}
	}
	return nil
}

// undo drops what the record in work has put into the columns.
func (r *rows) undo() {
	for _, n := range r.nodes {
		n.truncate(r.n)
		if n.seen > r.n {
			n.seen = 0
		}
	}
}

func (r *rows) take() *arrowbatch.Batch {
	vs := make([]*arrowbatch.Vec, len(r.nodes))
	for i, n := range r.nodes {
		n.finish(r.n)
		vs[i] = n.v
	}
	b := arrowbatch.NewBatch(r.n, vs...)
	r.hint, r.n = r.n, 0
	r.fresh()
	return b
}

// place makes the vector's length row, so that row can be appended: rows that
// lag are NULL, and an earlier value of the same row is dropped.
func (n *node) place(row int) {
	if n.v.N < row {
		fillNull(n.v, row)
		return
	}
	n.truncate(row)
}

// finish evens the node out to the length rows.
func (n *node) finish(rows int) {
	fillNull(n.v, rows)
	switch n.v.Layout {
	case arrowbatch.Struct:
		for _, k := range n.kids {
			k.finish(rows)
		}
	case arrowbatch.List:
		n.kids[0].finish(int(n.v.Off[rows]))
	}
}

// truncate drops the rows from row on, and what was appended to Data or to a
// list's elements without its row being ended.
func (n *node) truncate(row int) {
	n.loose = 0
	v := n.v
	cut := min(v.N, row)
	switch v.Layout {
	case arrowbatch.Bytes:
		v.Off = v.Off[:cut+1]
		v.Data = v.Data[:v.Off[cut]]
	case arrowbatch.List:
		v.Off = v.Off[:cut+1]
		n.kids[0].truncate(int(v.Off[cut]))
	case arrowbatch.Struct:
		for _, k := range n.kids {
			k.truncate(row)
		}
	}
	if v.N <= row {
		return
	}
	switch v.Layout {
	case arrowbatch.Bytes, arrowbatch.List, arrowbatch.Struct:
		v.N = cut
		if v.Valid != nil {
			v.Valid = v.Valid[:arrowbatch.BitmapWords(cut)]
		}
	default:
		v.Resize(cut)
	}
}

// fillNull makes the vector n rows long with NULLs; a struct's children are left
// to lag.
func fillNull(v *arrowbatch.Vec, n int) {
	old := v.N
	if n <= old {
		return
	}
	clearValid(v, old, n)
	v.N = n
	k := n - old
	switch v.Layout {
	case arrowbatch.Bool:
		v.Bits = clearBits(v.Bits, old, n)
	case arrowbatch.Int16:
		v.I16 = zeros(v.I16, k)
	case arrowbatch.Int32:
		v.I32 = zeros(v.I32, k)
	case arrowbatch.Int64:
		v.I64 = zeros(v.I64, k)
	case arrowbatch.Float32:
		v.F32 = zeros(v.F32, k)
	case arrowbatch.Float64:
		v.F64 = zeros(v.F64, k)
	case arrowbatch.Decimal:
		v.Dec = zeros(v.Dec, k)
	case arrowbatch.Interval:
		v.Ivl = zeros(v.Ivl, k)
	case arrowbatch.UUID:
		v.U128 = zeros(v.U128, k)
	case arrowbatch.Bytes, arrowbatch.List:
		end := v.Off[old]
		v.Off = zeros(v.Off, k)
		if end != 0 {
			for i := range v.Off[old+1:] {
				v.Off[old+1+i] = end
			}
		}
	}
}

func zeros[T any](s []T, k int) []T { return append(s, make([]T, k)...) }

// clearValid makes rows lo to hi-1 NULL in a vector of lo rows.
func clearValid(v *arrowbatch.Vec, lo, hi int) {
	if v.Valid == nil {
		v.Valid = make(arrowbatch.Bitmap, arrowbatch.BitmapWords(lo), arrowbatch.BitmapWords(max(hi, 1024)))
		v.Valid.Fill(lo, true)
	}
	v.Valid = clearBits(v.Valid, lo, hi)
}

// clearBits makes b hi bits long and clears those from lo on.
func clearBits(b arrowbatch.Bitmap, lo, hi int) arrowbatch.Bitmap {
	words := arrowbatch.BitmapWords(lo)
	b = b[:words]
	if r := uint(lo) & 63; r != 0 {
		b[words-1] &= 1<<r - 1
	}
	for len(b) < arrowbatch.BitmapWords(hi) {
		b = append(b, 0)
	}
	return b
}

// Nulls returns a column of n NULLs.
func Nulls(t types.Type, n int) *arrowbatch.Vec {
	c := newNode(t)
	c.bind(arrowbatch.NewVec(t.Shape(), 0))
	c.finish(n)
	return c.v
}
