package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/state"
)

// Lookup is a Filter over a Replay, of a subquery that asks for rows whose column
// Col equals something of the enclosing row: the kept rows are indexed once, and
// each run looks at those alone that have the value.
type Lookup struct {
	Leaf   exec.Leaf
	LeafRT *exec.Runtime
	Kept   *KeptRows
	Col    int
	// Key reads no columns and has the column's type.
	Key expr.Expr
	// Rest is the rest of the condition, or nil.
	Rest expr.Expr
	// Shapes are the leaf's columns.
	Shapes []arrowbatch.Shape
}

// rowIndex finds rows by the value of a column.
type rowIndex struct {
	groups *state.Groups
	rows   [][]int32 // by group
}

// Run emits the rows that the condition is true for.
func (l *Lookup) Run(rt *exec.Runtime, out exec.Output) error {
	k := l.Kept
	if !k.full && !k.tooMany {
		l.LeafRT.Eval.Outer = rt.Eval.Outer
		err := (&Replay{l.Leaf, k}).Run(l.LeafRT, discard{l.LeafRT})
		if err != nil {
			return err
		}
	}
	key, err := expr.EvalConst(rt.Eval, l.Key)
	if err != nil {
		return err
	}
	defer key.Release()
	if key.IsNull(0) {
		return nil
	}
	if !k.full {
		return l.scan(rt, key, out)
	}
	all, rows := k.find(l.Col, key, l.Shapes)
	for len(rows) > 0 {
		if err := rt.Ctx.Err(); err != nil {
			return err
		}
		n := min(len(rows), chunkRows)
		if err := l.rest(rt, all.Take(rows[:n]), out); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// scan reads a leaf of too many rows.
func (l *Lookup) scan(rt *exec.Runtime, key *arrowbatch.Vec, out exec.Output) error {
	want := key.AppendKey(nil, 0)
	var have []byte
	return l.Leaf.Run(l.LeafRT, emitFunc(func(b *arrowbatch.Batch) error {
		defer b.Release()
		var idx []int32
		for i := range b.Len {
			if have = b.Cols[l.Col].AppendKey(have[:0], i); string(have) == string(want) {
				idx = append(idx, int32(i))
			}
		}
		if len(idx) == 0 {
			return nil
		}
		return l.rest(rt, b.Take(idx), out)
	}))
}

// rest emits the rows of b, which it takes over, that pass the rest of the
// condition.
func (l *Lookup) rest(rt *exec.Runtime, b *arrowbatch.Batch, out exec.Output) error {
	if l.Rest == nil {
		return out.Emit(b)
	}
	sel := expr.Filter(rt.Eval, l.Rest, b, nil, nil)
	if rt.Eval.Failed() {
		if err := rt.Fail(rt, b, rt.Eval.TakeErrors()); err != nil {
			b.Release()
			return err
		}
	}
	if len(sel) == b.Len {
		return out.Emit(b)
	}
	defer b.Release()
	if len(sel) == 0 {
		return nil
	}
	return out.Emit(b.Take(sel))
}

// find returns all rows that are kept and the positions of those whose column
// has the value.
func (k *KeptRows) find(col int, key *arrowbatch.Vec, shapes []arrowbatch.Shape) (*arrowbatch.Batch, []int32) {
	switch len(k.batches) {
	case 0:
		k.batches = []*arrowbatch.Batch{arrowbatch.NewLike(shapes)}
	case 1:
	default:
		k.batches = []*arrowbatch.Batch{arrowbatch.Concat(k.batches)}
	}
	all := k.batches[0]
	x := k.index[col]
	if x == nil {
		x = &rowIndex{groups: state.NewGroups([]arrowbatch.Shape{shapes[col]})}
		ids := make([]int32, all.Len)
		x.groups.Lookup(all.Cols[col:col+1], nil, ids)
		x.rows = make([][]int32, x.groups.Len())
		for i, g := range ids {
			x.rows[g] = append(x.rows[g], int32(i))
		}
		if k.index == nil {
			k.index = map[int]*rowIndex{}
		}
		k.index[col] = x
	}
	id := []int32{-1}
	x.groups.Find([]*arrowbatch.Vec{key}, nil, id)
	if id[0] < 0 {
		return all, nil
	}
	return all, x.rows[id[0]]
}

// discard drops rows, counting them.
type discard struct{ rt *exec.Runtime }

func (d discard) Emit(b *arrowbatch.Batch) error {
	d.rt.Stats.RowsOut(b.Len)
	b.Release()
	return nil
}

// emitFunc is an output that is a function.
type emitFunc func(b *arrowbatch.Batch) error

func (f emitFunc) Emit(b *arrowbatch.Batch) error { return f(b) }
