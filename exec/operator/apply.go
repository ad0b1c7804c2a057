package operator

import (
	"errors"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// ApplyKind says what becomes of a subquery's rows.
type ApplyKind uint8

// The kinds, numbered as in the physical plan.
const (
	ApplyScalar ApplyKind = iota
	ApplyExists
	ApplyAny
	ApplyAll
	ApplyArray
	ApplyRow
	ApplyCross
	ApplyLeft
)

// Apply runs a subquery for each of its rows and adds what comes of it as
// columns, or joins the row with the subquery's rows. A subquery that does not
// look at the row runs once, when the first row comes.
type Apply struct {
	base
	Kind ApplyKind
	// Test compares the row with one of the subquery (any, all), or decides whether
	// they join (cross, left; nil: always). Its columns are the row's and then the
	// subquery's.
	Test expr.Expr
	// Correlated: the subquery looks at the row.
	Correlated bool
	// Make builds the subquery anew.
	Make func() (*exec.Tree, error)
	// Sub are the subquery's columns.
	Sub []arrowbatch.Shape

	once   *arrowbatch.Batch // the rows of a subquery that runs once
	answer *arrowbatch.Batch // the one row of columns that they come to
	set    *valueSet
	pend   []*arrowbatch.Batch
	rows   int // in pend
}

// enclose gives all operators of a tree the rows of the enclosing queries.
func enclose(t *exec.Tree, outer []*arrowbatch.Batch) {
	t.RT.Eval.Outer = outer
	for _, c := range t.Children {
		enclose(c, outer)
	}
}

// ProcessBatch runs the subquery for the rows.
func (a *Apply) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	switch {
	case a.Kind == ApplyCross || a.Kind == ApplyLeft:
		return a.join(b)
	case a.Kind == ApplyAny || a.Kind == ApplyAll:
		return a.compare(b)
	}
	add, err := a.columns(b)
	if err != nil {
		return err
	}
	return a.emitWith(b, add)
}

// emitWith emits the rows of b with more columns.
func (a *Apply) emitWith(b, add *arrowbatch.Batch) error {
	out := b.Share()
	out.Cols = append(out.Cols, add.Cols...)
	return a.out.Emit(out)
}

// run runs the subquery for row i of b into out.
func (a *Apply) run(b *arrowbatch.Batch, i int, out exec.Output) error {
	t, err := a.Make()
	if err != nil {
		return err
	}
	row := &arrowbatch.Batch{Len: 1}
	if a.Correlated {
		row = b.Take([]int32{int32(i)})
		defer row.Release()
	}
	enclose(t, append(slices.Clip(a.rt.Eval.Outer), row))
	if err := t.Run(out); !errors.Is(err, exec.ErrStop) {
		return err
	}
	return nil
}

// gather is an output that keeps up to limit rows; 0: all.
type gather struct {
	batches []*arrowbatch.Batch
	n       int
	limit   int
}

func (g *gather) Emit(b *arrowbatch.Batch) error {
	g.batches = append(g.batches, b)
	if g.n += b.Len; g.limit > 0 && g.n >= g.limit {
		return exec.ErrStop
	}
	return nil
}

func (g *gather) all(shapes []arrowbatch.Shape) *arrowbatch.Batch {
	if len(g.batches) == 0 {
		return arrowbatch.NewLike(shapes)
	}
	return arrowbatch.Concat(g.batches)
}

func (g *gather) release() {
	for _, b := range g.batches {
		b.Release()
	}
	g.batches = nil
}

// collect runs the subquery for row i of b and returns its rows, as many as the
// kind needs.
func (a *Apply) collect(b *arrowbatch.Batch, i int) (*arrowbatch.Batch, error) {
	g := gather{}
	switch a.Kind {
	case ApplyExists:
		g.limit = 1
	case ApplyScalar, ApplyRow:
		g.limit = 2
	}
	if err := a.run(b, i, &g); err != nil {
		g.release()
		return nil, err
	}
	return g.all(a.Sub), nil
}

// fixed returns the rows of a subquery that runs once.
func (a *Apply) fixed(b *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	if a.once == nil {
		rows, err := a.collect(b, 0)
		if err != nil {
			return nil, err
		}
		a.once = rows
	}
	return a.once, nil
}

// added are the columns that a kind adds.
func (a *Apply) added() []arrowbatch.Shape {
	switch a.Kind {
	case ApplyScalar, ApplyRow:
		return a.Sub
	case ApplyArray:
		return []arrowbatch.Shape{{Layout: arrowbatch.List, Kids: a.Sub}}
	}
	return []arrowbatch.Shape{{Layout: arrowbatch.Bool}}
}

// columns computes the added columns of the kinds without a test.
func (a *Apply) columns(b *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	if !a.Correlated {
		if a.answer == nil {
			rows, err := a.fixed(b)
			if err != nil {
				return nil, err
			}
			a.answer = arrowbatch.NewLike(a.added())
			if err := a.reduce(rows, a.answer); err != nil {
				return nil, err
			}
		}
		return a.answer.Take(make([]int32, b.Len)), nil
	}
	add := arrowbatch.NewLike(a.added())
	for i := range b.Len {
		rows, err := a.collect(b, i)
		if err == nil {
			err = a.reduce(rows, add)
			rows.Release()
		}
		if err != nil {
			add.Release()
			return nil, err
		}
	}
	return add, nil
}

// reduce appends what the rows of one run come to.
func (a *Apply) reduce(rows, add *arrowbatch.Batch) error {
	switch a.Kind {
	case ApplyExists:
		add.Cols[0].AppendBool(rows.Len > 0)
	case ApplyArray:
		for i := range rows.Len {
			add.Cols[0].Kids[0].AppendFrom(rows.Cols[0], i)
		}
		add.Cols[0].EndList()
	default:
		if rows.Len > 1 {
			return sqlerr.New(sqlerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")
		}
		for k, c := range add.Cols {
			if rows.Len == 0 {
				c.AppendNull()
			} else {
				c.AppendFrom(rows.Cols[k], 0)
			}
		}
	}
	add.AppendOp(arrowbatch.Insert)
	return nil
}

// Close frees what is kept.
func (a *Apply) Close() {
	a.once.Release()
	a.answer.Release()
	for _, b := range a.pend {
		b.Release()
	}
	a.once, a.answer, a.pend = nil, nil, nil
}
