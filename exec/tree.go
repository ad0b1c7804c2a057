package exec

import (
	"errors"

	"github.com/streamsql/streamsql/arrowbatch"
)

// Leaf produces the rows of a finite read: a scan, VALUES, a table function.
type Leaf interface {
	// Run emits all rows. ErrStop from out ends it and is returned.
	Run(rt *Runtime, out Output) error
}

// Tree is a finite read: an operator over its children, or a leaf. Run drives it
// once, in the caller's goroutine.
type Tree struct {
	Op       Operator
	Leaf     Leaf
	RT       *Runtime
	Children []*Tree
}

// Stopper is an operator that itself stops its input by ErrStop.
type Stopper interface{ Stops() }

type inputOf struct {
	rt    *Runtime
	op    Operator
	input int
}

func (i inputOf) Emit(b *arrowbatch.Batch) error {
	if b.Len == 0 {
		b.Release()
		return nil
	}
	i.rt.Stats.RowsIn(b.Len)
	return i.op.ProcessBatch(i.input, b)
}

// Run emits the tree's rows to out.
func (t *Tree) Run(out Output) error {
	out = counted{t.RT.Stats, out}
	if err := t.RT.Ctx.Err(); err != nil {
		return err
	}
	if t.Leaf != nil {
		return t.Leaf.Run(t.RT, out)
	}
	op := watched(t.Op, t.RT)
	if err := op.Open(t.RT, out); err != nil {
		return err
	}
	defer op.Close()
	first := 0
	if g, ok := t.Op.(Gated); ok {
		first = g.StaticInput()
	}
	for k := range t.Children {
		i := k
		switch {
		case k == 0:
			i = first
		case k <= first:
			i = k - 1
		}
		err := t.Children[i].Run(inputOf{t.RT, op, i})
		if _, stops := t.Op.(Stopper); stops && errors.Is(err, ErrStop) {
			break
		}
		if err != nil {
			return err
		}
	}
	return op.ProcessBarrier(Barrier{Epoch: 1, Now: t.RT.Eval.Now, Stop: true, Final: true})
}
