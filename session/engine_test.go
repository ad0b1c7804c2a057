package session

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/planner"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/state"
)

// testEngine is an executor that interprets logical plans: enough for the
// session's own tests.
type testEngine struct {
	store *state.Store
	mu    sync.Mutex
	calls []string // of Queries
	fail  map[string]error
	// changes is what Subscribe delivers.
	changes []Change
}

func (e *testEngine) note(format string, args ...any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	call := fmt.Sprintf(format, args...)
	e.calls = append(e.calls, call)
	return e.fail[call]
}

func (e *testEngine) taken() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.calls
	e.calls = nil
	return out
}

// testRows is a result that is there already.
type testRows struct {
	b    []*arrowbatch.Batch
	done bool
}

func (r *testRows) Next(ctx context.Context) (*arrowbatch.Batch, error) {
	if len(r.b) == 0 {
		return nil, io.EOF
	}
	b := r.b[0]
	r.b = r.b[1:]
	return b, ctx.Err()
}

func (r *testRows) Close() error {
	for _, b := range r.b {
		b.Release()
	}
	return nil
}

func (e *testEngine) Select(ctx context.Context, p *QueryPlan, env *ExecEnv) (Rows, error) {
	c := &expr.Ctx{Now: env.Now, Env: env.Env, Session: env.Session}
	if env.Params != nil {
		c.Params = env.Params.Cols
	}
	b, err := e.eval(p.Node.(*planner.Plan).Logical, c, env)
	if err != nil {
		return nil, err
	}
	return &testRows{b: []*arrowbatch.Batch{b}}, nil
}

func (e *testEngine) Analyze(ctx context.Context, p *QueryPlan, env *ExecEnv) (map[int]NodeFigures, error) {
	rows, err := e.Select(ctx, p, env)
	if err != nil {
		return nil, err
	}
	return map[int]NodeFigures{1: {Rows: 1}}, rows.Close()
}

func (e *testEngine) eval(n logical.Node, c *expr.Ctx, env *ExecEnv) (*arrowbatch.Batch, error) {
	switch n := n.(type) {
	case *logical.Values:
		out := arrowbatch.NewLike(n.Schema().Shapes())
		one := arrowbatch.NewBatch(1)
		for _, r := range n.Rows {
			row, err := evaluate(c, r, one)
			if err != nil {
				return nil, err
			}
			out.Append(row, 0)
		}
		return out, nil
	case *logical.Scan:
		return e.scan(n, env)
	}
	in := make([]*arrowbatch.Batch, len(n.Children()))
	for i, k := range n.Children() {
		var err error
		if in[i], err = e.eval(k, c, env); err != nil {
			return nil, err
		}
	}
	switch n := n.(type) {
	case *logical.Project:
		return evaluate(c, n.List, in[0])
	case *logical.Filter:
		keep := expr.Filter(c, n.Pred, in[0], nil, nil)
		if errs := c.TakeErrors(); errs != nil {
			return nil, errs[0].Err
		}
		return in[0].Take(keep), nil
	case *logical.Sort:
		return sorted(n, in[0]), nil
	case *logical.Union:
		for _, b := range in[1:] {
			for i := range b.Len {
				in[0].Append(b, i)
			}
		}
		return in[0], nil
	case *logical.Join:
		return joined(n, in[0], in[1], c)
	case *logical.ProjectSet, *logical.TableFunc:
		return nil, sqlerr.Unsupported("not in the test engine")
	}
	return nil, sqlerr.Internal("the test engine cannot run %T", n)
}

func (e *testEngine) scan(n *logical.Scan, env *ExecEnv) (*arrowbatch.Batch, error) {
	pick := func(b *arrowbatch.Batch) *arrowbatch.Batch {
		out := &arrowbatch.Batch{Len: b.Len}
		for _, k := range n.Columns {
			out.Cols = append(out.Cols, b.Cols[k].Retain())
		}
		return out
	}
	if n.Object.Kind == catalog.KindSystem {
		b, err := env.System(n.Object)
		if err != nil {
			return nil, err
		}
		return pick(b), nil
	}
	rel, err := e.Relation(n.Object)
	if err != nil {
		return nil, err
	}
	from := env.Reader
	if from == nil {
		s := e.store.Snapshot()
		defer s.Close()
		from = s
	}
	it, err := rel.Rows(from, nil, nil)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	out := arrowbatch.NewLike(shapesOf(n.Object))
	for {
		b, err := it.Next(1000)
		if err != nil {
			return nil, err
		}
		if b == nil {
			return pick(out), nil
		}
		for i := range b.Len {
			out.Append(b, i)
		}
	}
}

func sorted(n *logical.Sort, b *arrowbatch.Batch) *arrowbatch.Batch {
	idx := make([]int32, b.Len)
	for i := range idx {
		idx[i] = int32(i)
	}
	sort.SliceStable(idx, func(x, y int) bool {
		i, j := int(idx[x]), int(idx[y])
		for _, k := range n.Keys {
			v := b.Cols[k.Col]
			if v.IsNull(i) || v.IsNull(j) {
				if v.IsNull(i) != v.IsNull(j) {
					return v.IsNull(i) == k.NullsFirst
				}
				continue
			}
			if d := expr.Comparator(n.Schema().Fields[k.Col].Type)(v, i, v, j); d != 0 {
				return d < 0 != k.Desc
			}
		}
		return false
	})
	return b.Take(idx)
}

// joined is a nested loop of an inner join.
func joined(n *logical.Join, l, r *arrowbatch.Batch, c *expr.Ctx) (*arrowbatch.Batch, error) {
	var li, ri []int32
	for i := range l.Len {
		for j := range r.Len {
			li, ri = append(li, int32(i)), append(ri, int32(j))
		}
	}
	both := l.Take(li)
	both.Cols = append(both.Cols, r.Take(ri).Cols...)
	if len(n.Exprs()) == 0 {
		return both, nil
	}
	if n.Kind != plan.InnerJoin {
		return nil, sqlerr.Unsupported("not in the test engine")
	}
	return both.Take(expr.Filter(c, n.Exprs()[0], both, nil, nil)), nil
}

func (e *testEngine) Relation(o *catalog.Object) (*state.Relation, error) {
	return build.Relation(e.store, o)
}

// testChanges delivers prepared steps, then waits.
type testChanges struct{ left []Change }

func (c *testChanges) Next(ctx context.Context) (Change, error) {
	if len(c.left) == 0 {
		<-ctx.Done()
		return Change{}, ctx.Err()
	}
	next := c.left[0]
	c.left = c.left[1:]
	return next, nil
}

func (c *testChanges) Close() error { return nil }

func (e *testEngine) Subscribe(_ context.Context, _ *QueryPlan, o SubscribeOptions, _ *ExecEnv) (Changes, error) {
	if err := e.note("subscribe %+v", o); err != nil {
		return nil, err
	}
	return &testChanges{left: e.changes}, nil
}

func (e *testEngine) Create(_ context.Context, o *catalog.Object) error {
	return e.note("create %s", o.Name)
}

func (e *testEngine) Drop(_ context.Context, o *catalog.Object) error {
	return e.note("drop %s", o.Name)
}

func (e *testEngine) Alter(_ context.Context, o *catalog.Object) error {
	return e.note("alter %s trigger=%s", o.Name, o.Options["trigger"])
}

func (e *testEngine) Control(_ context.Context, o *catalog.Object, a sql.ControlAction) error {
	return e.note("%s %s", a, o.Name)
}

func (e *testEngine) Await(ctx context.Context, o *catalog.Object) error {
	if o == nil {
		return e.note("await any")
	}
	if err := e.note("await %s", o.Name); err != nil {
		return err
	}
	if strings.HasPrefix(o.Name.Name, "endless") {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (e *testEngine) Flush(context.Context) error { return e.note("flush") }
