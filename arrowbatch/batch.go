package arrowbatch

import "math"

// Op says what a row does to the relation it flows into.
type Op int8

// The two ops.
const (
	Insert Op = 0
	Delete Op = 1
)

// EventTime is microseconds since the Unix epoch. Watermarks are EventTimes.
type EventTime = int64

// Bounds of EventTime: NoTime is «none yet», before every time; MaxTime ends a
// bounded stream.
const (
	NoTime  EventTime = math.MinInt64
	MaxTime EventTime = math.MaxInt64
)

// Batch is a set of rows: columns of one length and an op per row.
type Batch struct {
	Cols []*Vec
	Len  int
	// Ops has one op per row; nil: every row is an Insert.
	Ops []Op
	// Entered is when the oldest row came into the engine, in microseconds since
	// the Unix epoch; 0: unknown.
	Entered int64
	// Appended is when the oldest row was put where the engine read it, in microseconds
	// since the Unix epoch; 0: unknown.
	Appended int64
	// Split is the number of the source split that the rows come from, counted in
	// the source task; it has a meaning up to the first operator that mixes rows.
	Split int
	// Origin is where the rows were read; nil: unknown. It goes with the rows up to
	// the first operator that mixes batches.
	Origin *Origin
}

// Origin is one read of a source's split: the rows that it gave lie at or after
// From and before Until. "" is unknown, or the beginning of the split.
type Origin struct{ Split, From, Until string }

// NewBatch returns an insert-only batch of cols, which it takes over. n is the
// number of rows (needed where there are no columns).
func NewBatch(n int, cols ...*Vec) *Batch { return &Batch{Cols: cols, Len: n} }

// Release gives back the batch's reference to each column.
func (b *Batch) Release() {
	if b == nil {
		return
	}
	for i, c := range b.Cols {
		c.Release()
		b.Cols[i] = nil
	}
	b.Cols, b.Len = nil, 0
}

// OpAt returns the op of row i.
func (b *Batch) OpAt(i int) Op {
	if b.Ops == nil {
		return Insert
	}
	return b.Ops[i]
}

// AppendOnly tells whether every row is an Insert.
func (b *Batch) AppendOnly() bool {
	for _, o := range b.Ops {
		if o != Insert {
			return false
		}
	}
	return true
}

// Share returns a second batch with the same columns, each retained.
func (b *Batch) Share() *Batch {
	c := *b
	c.Cols = make([]*Vec, len(b.Cols))
	for i, v := range b.Cols {
		c.Cols[i] = v.Retain()
	}
	return &c
}

// Bytes is the memory that the batch's rows take.
func (b *Batch) Bytes() int {
	n := len(b.Ops)
	for _, c := range b.Cols {
		n += c.Bytes()
	}
	return n
}

// Take returns a new batch of the rows idx, in that order; b stays as it is. An
// entry of -1 gives an inserted row of NULLs.
func (b *Batch) Take(idx []int32) *Batch {
	out := &Batch{Len: len(idx), Entered: b.Entered, Appended: b.Appended, Split: b.Split, Origin: b.Origin,
		Cols: make([]*Vec, len(b.Cols))}
	for i, c := range b.Cols {
		out.Cols[i] = c.Take(idx)
	}
	if b.Ops != nil {
		out.Ops = make([]Op, len(idx))
		for j, i := range idx {
			if i >= 0 {
				out.Ops[j] = b.Ops[i]
			}
		}
	}
	return out
}

// Slice returns a new batch of the rows lo to hi-1.
func (b *Batch) Slice(lo, hi int) *Batch {
	if lo == 0 && hi == b.Len {
		return b.Share()
	}
	idx := make([]int32, hi-lo)
	for i := range idx {
		idx[i] = int32(lo + i)
	}
	return b.Take(idx)
}

// Append adds row i of src, a batch of the same shape, with its op.
func (b *Batch) Append(src *Batch, i int) {
	for k, c := range b.Cols {
		c.AppendFrom(src.Cols[k], i)
	}
	b.appendOp(src.OpAt(i))
}

// AppendOp ends a row whose columns were appended by hand.
func (b *Batch) AppendOp(o Op) { b.appendOp(o) }

func (b *Batch) appendOp(o Op) {
	if b.Ops == nil && o != Insert {
		b.Ops = make([]Op, b.Len, b.Len+1)
	}
	if b.Ops != nil {
		b.Ops = append(b.Ops, o)
	}
	b.Len++
}

// NewLike returns an empty batch with columns of the given shapes.
func NewLike(shapes []Shape) *Batch {
	b := &Batch{Cols: make([]*Vec, len(shapes))}
	for i, s := range shapes {
		b.Cols[i] = NewVec(s, 0)
	}
	return b
}

// Shapes returns the shapes of b's columns.
func (b *Batch) Shapes() []Shape {
	s := make([]Shape, len(b.Cols))
	for i, c := range b.Cols {
		s[i] = c.Shape()
	}
	return s
}
