package build

import (
	"context"
	"errors"
	"io"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/state"
)

// Rows is the result of a finite read, computed as it is fetched.
type Rows struct {
	ctx    context.Context
	cancel context.CancelFunc
	out    chan *arrowbatch.Batch
	done   chan struct{}
	err    error
	stats  []*exec.OpStats
}

// Select runs a plan's finite read. Close must be called.
func Select(ctx context.Context, root physical.Node, env *Env) (*Rows, error) {
	r := &Rows{out: make(chan *arrowbatch.Batch), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(ctx)
	b := &builder{Env: env, ctx: r.ctx, finite: true, work: map[int]*workTable{},
		shared: map[physical.NodeID]*exec.OpStats{}}
	var snap *state.Snapshot
	if env.Reader == nil && env.Store != nil {
		// One snapshot for all relations of the statement.
		snap = env.Store.Snapshot()
		e := *env
		e.Reader = snap
		b.Env = &e
	}
	t, err := b.tree(root)
	if err != nil {
		r.cancel()
		if snap != nil {
			_ = snap.Close()
		}
		return nil, err
	}
	r.stats = b.stats
	spawn.Go("select", func() error {
		if snap != nil {
			defer func() { _ = snap.Close() }()
		}
		return t.Run(r)
	}, func(err error) {
		if !errors.Is(err, exec.ErrStop) {
			r.err = err
		}
		close(r.done)
	})
	return r, nil
}

// Emit hands a batch to the one who fetches.
func (r *Rows) Emit(b *arrowbatch.Batch) error {
	if b.Len == 0 {
		b.Release()
		return nil
	}
	select {
	case r.out <- b:
		return nil
	case <-r.ctx.Done():
		b.Release()
		return context.Cause(r.ctx)
	}
}

// Next returns the next rows, io.EOF at the end. The batch is the caller's.
func (r *Rows) Next(ctx context.Context) (*arrowbatch.Batch, error) {
	select {
	case b := <-r.out:
		return b, nil
	case <-r.done:
		if r.err != nil {
			return nil, r.err
		}
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Stats returns the figures of each operator; they are final after io.EOF.
func (r *Rows) Stats() []exec.StatsValues {
	out := make([]exec.StatsValues, len(r.stats))
	for i, s := range r.stats {
		out[i] = s.Read()
	}
	return out
}

// Close ends the read and waits for it.
func (r *Rows) Close() error {
	r.cancel()
	<-r.done
	return nil
}

// tree builds a node and what is below it.
func (b *builder) tree(n physical.Node) (*exec.Tree, error) {
	if t, known, err := b.leaf(n); known || err != nil {
		return b.replayed(n, t), err
	}
	if t, err := b.lookup(n); t != nil || err != nil {
		return t, err
	}
	switch n := n.(type) {
	case *physical.Result:
		return b.tree(n.Input[0])
	case *physical.Sort:
		return b.over(n, &operator.Sort{Keys: batchKeys(n.Schema(), n.Keys), Shapes: shapes(n.Schema())})
	case *physical.Limit:
		l := &operator.Limit{Limit: n.Limit, Offset: n.Offset}
		if n.WithTies {
			l.Ties = sortKeys(n.Ties)
		}
		return b.over(n, l)
	}
	op, err := b.operator(n)
	if err != nil {
		return nil, err
	}
	if op != nil {
		return b.over(n, op)
	}
	t, known, err := b.batchNode(n)
	if err != nil || known {
		return t, err
	}
	return nil, notFinite(n)
}

// over puts an operator over the node's inputs.
func (b *builder) over(n physical.Node, op exec.Operator) (*exec.Tree, error) {
	kids, err := b.children(n)
	if err != nil {
		return nil, err
	}
	return &exec.Tree{Op: op, RT: b.runtime(n), Children: kids}, nil
}

func (b *builder) children(n physical.Node) ([]*exec.Tree, error) {
	var kids []*exec.Tree
	for _, c := range n.Children() {
		t, err := b.tree(c)
		if err != nil {
			return nil, err
		}
		kids = append(kids, t)
	}
	return kids, nil
}

// leaf builds a scan.
func (b *builder) leaf(n physical.Node) (*exec.Tree, bool, error) {
	var l exec.Leaf
	switch n := n.(type) {
	case *physical.RelationScan:
		rel, err := Relation(b.Store, n.Object)
		if err != nil {
			return nil, true, err
		}
		l = &relationLeaf{store: b.Store, rel: rel, reader: b.Reader, cols: n.Columns, keyEq: n.KeyEq,
			key: n.Object.Key}
	case *physical.SystemScan:
		l = &systemLeaf{rows: func() (*arrowbatch.Batch, error) { return b.System(n.Object) }, cols: n.Columns}
	case *physical.SourceScan:
		spec, f, err := b.Spec(n.Object, n.Used)
		if err != nil {
			return nil, true, err
		}
		l = &sourceLeaf{spec: spec, factory: f, used: n.Used}
	default:
		return nil, false, nil
	}
	return &exec.Tree{Leaf: l, RT: b.runtime(n)}, true, nil
}

// relationLeaf reads a stored relation.
type relationLeaf struct {
	store  *state.Store
	rel    *state.Relation
	reader state.Reader
	cols   []int
	key    []int
	keyEq  []expr.Expr
}

// scanRows is how many rows a scan's batch has.
const scanRows = 4096

func (l *relationLeaf) Run(rt *exec.Runtime, out exec.Output) (err error) {
	// A view with a row that could not be computed is as wrong as a SELECT that
	// failed: it says so.
	if err := l.store.LiveError(l.reader, l.rel.ID); err != nil {
		return err
	}
	if filling, err := l.store.Filling(l.reader, l.rel.ID); err != nil || filling {
		return err // a part of the first rows may be what never was
	}
	var prefix []byte
	for _, e := range l.keyEq {
		v, err := expr.EvalConst(rt.Eval, e)
		if err != nil {
			return err
		}
		null := v.IsNull(0)
		prefix = v.AppendKey(prefix, 0)
		v.Release()
		if null {
			return nil
		}
	}
	it, err := l.rel.Rows(l.reader, prefix, l.cols)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for n := 64; ; n = scanRows { // the first batch is small: most point reads end with it
		if err := rt.Ctx.Err(); err != nil {
			return err
		}
		b, err := it.Next(n)
		if err != nil || b == nil {
			return err
		}
		if err := out.Emit(b); err != nil {
			return err
		}
	}
}

// systemLeaf gives the rows of a system relation.
type systemLeaf struct {
	rows func() (*arrowbatch.Batch, error)
	cols []int
}

func (l *systemLeaf) Run(_ *exec.Runtime, out exec.Output) error {
	b, err := l.rows()
	if err != nil {
		return err
	}
	o := &arrowbatch.Batch{Len: b.Len, Cols: make([]*arrowbatch.Vec, len(l.cols))}
	for i, c := range l.cols {
		o.Cols[i] = b.Cols[c].Retain()
	}
	b.Release()
	return out.Emit(o)
}

// sourceLeaf reads a source from its start to what is there now.
type sourceLeaf struct {
	spec    *connector.Spec
	factory connector.Factory
	used    []bool
}

func (l *sourceLeaf) Run(rt *exec.Runtime, out exec.Output) error {
	p := connector.NewPatience(rt.Ctx, rt.Clock)
	defer p.Cancel(nil)
	l.spec.Report = p.Report
	return p.Cause(l.read(p.Ctx, out))
}

func (l *sourceLeaf) read(ctx context.Context, out exec.Output) (err error) {
	src, err := l.factory.Source(ctx, l.spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	splits, err := src.Splits(ctx)
	if err != nil {
		return err
	}
	latest, err := src.Latest(ctx, splits)
	if err != nil {
		return err
	}
	for _, s := range splits {
		until, ok := latest[s.ID]
		if !ok && !src.Bounded() {
			return endless(l.spec.Name)
		}
		if err := l.split(ctx, src, s, until, out); err != nil {
			return err
		}
	}
	return nil
}

func (l *sourceLeaf) split(ctx context.Context, src connector.Source, s connector.Split, until connector.Offset,
	out exec.Output,
) error {
	r, err := src.Open(ctx, s, "")
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, _, err := r.Read(ctx, until)
		if err := ctx.Err(); err != nil {
			b.Release()
			return err
		}
		if b != nil {
			if err := out.Emit(usedColumns(b, l.used)); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, connector.ErrEnd):
			return nil
		case errors.Is(err, connector.ErrIdle):
		case err != nil:
			return err
		}
	}
}

// usedColumns drops the columns that the plan does not read.
func usedColumns(b *arrowbatch.Batch, used []bool) *arrowbatch.Batch {
	out := *b
	out.Cols = nil
	for i, c := range b.Cols {
		if used[i] {
			out.Cols = append(out.Cols, c)
		} else {
			c.Release()
		}
	}
	return &out
}
