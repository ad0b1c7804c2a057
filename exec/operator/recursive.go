package operator

import (
	"errors"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// WorkRows are the rows that a run of a recursive query gave to the next.
type WorkRows struct{ batches []*arrowbatch.Batch }

func (w *WorkRows) replace(bs []*arrowbatch.Batch) {
	for _, b := range w.batches {
		b.Release()
	}
	w.batches = bs
}

// WorkTable gives the rows of the run before.
type WorkTable struct{ Rows *WorkRows }

// Run emits the rows.
func (w *WorkTable) Run(rt *exec.Runtime, out exec.Output) error {
	for _, b := range w.Rows.batches {
		if err := rt.Ctx.Err(); err != nil {
			return err
		}
		if err := out.Emit(b.Share()); err != nil {
			return err
		}
	}
	return nil
}

// Recursive runs First, then Step with the rows that the run before gave, until
// a run gives none. Without All, rows that were given before are dropped.
type Recursive struct {
	All    bool
	First  *exec.Tree
	Step   func() (*exec.Tree, error)
	Rows   *WorkRows
	Shapes []arrowbatch.Shape
}

// Run emits the rows of all runs.
func (r *Recursive) Run(rt *exec.Runtime, out exec.Output) error {
	run := &recursion{out: out, all: r.All, seen: state.NewGroups(r.Shapes)}
	defer func() { r.Rows.replace(nil) }()
	enclose(r.First, rt.Eval.Outer)
	if err := run.tree(r.First); err != nil {
		return err
	}
	for len(run.next) > 0 {
		if err := rt.Ctx.Err(); err != nil {
			return err
		}
		r.Rows.replace(run.next)
		run.next = nil
		step, err := r.Step()
		if err != nil {
			return err
		}
		enclose(step, rt.Eval.Outer)
		if err := run.tree(step); err != nil {
			return err
		}
	}
	return nil
}

// recursion takes the rows of the runs.
type recursion struct {
	out  exec.Output
	all  bool
	seen *state.Groups
	next []*arrowbatch.Batch
	ids  []int32
	err  error // what out said, also where a run took it for its own end
}

func (r *recursion) tree(t *exec.Tree) error {
	err := t.Run(r)
	if r.err != nil {
		err = r.err
	}
	if err != nil {
		for _, b := range r.next {
			b.Release()
		}
		r.next = nil
	}
	if errors.Is(err, exec.ErrStop) && r.err == nil {
		return nil
	}
	return err
}

func (r *recursion) Emit(b *arrowbatch.Batch) error {
	if r.err != nil {
		b.Release()
		return r.err
	}
	if !r.all {
		b = r.fresh(b)
	}
	if b.Len == 0 {
		b.Release()
		return nil
	}
	r.next = append(r.next, b.Share())
	r.err = r.out.Emit(b)
	return r.err
}

// fresh returns the rows that were never seen, and releases b.
func (r *recursion) fresh(b *arrowbatch.Batch) *arrowbatch.Batch {
	known := int32(r.seen.Len())
	r.ids = resizeIDs(r.ids, b.Len)
	r.seen.Lookup(b.Cols, nil, r.ids)
	var keep []int32
	for i, id := range r.ids {
		if id >= known {
			keep = append(keep, int32(i))
			known = id + 1
		}
	}
	if len(keep) == b.Len {
		return b
	}
	defer b.Release()
	return b.Take(keep)
}
