package session

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/plan/planner"
	"github.com/streamsql/streamsql/state"
)

// subscribers numbers the readers of change feeds.
var subscribers atomic.Int64

// snapshotRows is how many rows of a snapshot are sent at a time.
const snapshotRows = 1024

// Subscribe follows a query. One that only filters and computes columns of a
// table or materialized view reads its change feed; any other one is handed to
// the continuous engine.
func (e *engineExecutor) Subscribe(ctx context.Context, p *QueryPlan, o SubscribeOptions, x *ExecEnv) (Changes, error) {
	root, err := rootOf(p)
	if err != nil {
		return nil, err
	}
	scan, steps, ok := feedOf(root.Root)
	if !ok {
		if e.follow == nil {
			return nil, sqlerr.Unsupported("SUBSCRIBE cannot follow a query with state").
				WithHint("CREATE a MATERIALIZED VIEW and SUBSCRIBE TO it.")
		}
		return e.follow(ctx, root, o, x)
	}
	rel, err := e.Relation(scan.Object)
	if err != nil {
		return nil, err
	}
	env := e.build(x)
	c := &feedChanges{rel: rel, opts: o, cols: scan.Columns, inserts: scan.Stream, steps: steps, eval: &env.Eval,
		clock: e.env.Clock, reader: "subscribe " + strconv.FormatInt(subscribers.Add(1), 10)}
	return c, c.open()
}

// Follow runs a continuous plan without a target and delivers its changes.
type Follow func(ctx context.Context, p *planner.Plan, o SubscribeOptions, x *ExecEnv) (Changes, error)

// feedOf takes a plan apart into the relation that it reads and what is done
// with each row; ok is false for any other plan.
func feedOf(root physical.Node) (scan *physical.RelationScan, steps []physical.Node, ok bool) {
	for n := root; ; n = n.Children()[0] {
		switch t := n.(type) {
		case *physical.Emit:
			if t.Mode != physical.Update && t.Mode != physical.Changelog {
				return nil, nil, false
			}
		case *physical.Filter, *physical.Project:
			steps = append([]physical.Node{n}, steps...)
		case *physical.RelationScan:
			return t, steps, true
		default:
			return nil, nil, false
		}
	}
}

// feedChanges follows a stored relation: its rows at the start, if wanted, then
// each version's changes. The epoch is the relation's version.
type feedChanges struct {
	rel     *state.Relation
	opts    SubscribeOptions
	cols    []int
	inserts bool // deletes are not wanted
	steps   []physical.Node
	eval    *expr.Ctx
	clock   clock.Clock
	reader  string

	snap *state.Snapshot
	rows *state.RowIter
	at   uint64
	tell bool // the epoch at is over and is still to be told of
}

func (c *feedChanges) open() error {
	snap, version := c.rel.Snapshot(c.reader)
	c.at = version
	if !c.opts.Snapshot {
		return snap.Close()
	}
	rows, err := c.rel.Rows(snap, nil, nil)
	if err != nil {
		_ = snap.Close()
		c.rel.Leave(c.reader)
		return err
	}
	c.snap, c.rows = snap, rows
	return nil
}

// Next waits for the next step.
func (c *feedChanges) Next(ctx context.Context) (Change, error) {
	for {
		if c.tell {
			c.tell = false
			return Change{Epoch: c.at}, nil
		}
		b, err := c.read(ctx)
		if err != nil {
			return Change{}, err
		}
		if b == nil {
			continue
		}
		if b, err = c.apply(b); err != nil {
			return Change{}, err
		}
		if b.Len > 0 {
			return Change{Epoch: c.at, Rows: b}, nil
		}
		b.Release()
	}
}

// read returns rows of the snapshot or of the next version; nil when it has
// only waited.
func (c *feedChanges) read(ctx context.Context) (*arrowbatch.Batch, error) {
	if c.rows != nil {
		b, err := c.rows.Next(snapshotRows)
		if err != nil || b != nil {
			return b, err
		}
		c.tell = c.opts.Progress
		return nil, c.endSnapshot()
	}
	changed := c.rel.Changed()
	var out *arrowbatch.Batch
	last, err := c.rel.Changes(c.at, 1, func(_ uint64, b *arrowbatch.Batch) error {
		out = b
		return nil
	})
	if err != nil {
		return nil, err
	}
	if last > c.at {
		c.at, c.tell = last, c.opts.Progress
		c.rel.Moved(c.reader, last)
		return out, nil
	}
	select {
	case <-changed:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *feedChanges) endSnapshot() error {
	rows, snap := c.rows, c.snap
	c.rows, c.snap = nil, nil
	if rows == nil {
		return nil
	}
	err := rows.Close()
	if cerr := snap.Close(); err == nil {
		err = cerr
	}
	return err
}

// apply makes the query's rows of the relation's.
func (c *feedChanges) apply(whole *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	b := &arrowbatch.Batch{Len: whole.Len, Ops: whole.Ops}
	for _, k := range c.cols {
		b.Cols = append(b.Cols, whole.Cols[k].Retain())
	}
	whole.Release()
	if c.inserts {
		b = insertsOf(b)
	}
	c.eval.Now = clock.Micros(c.clock)
	for _, s := range c.steps {
		next, err := c.step(s, b)
		b.Release()
		if err != nil {
			return nil, err
		}
		b = next
	}
	return b, nil
}

func insertsOf(b *arrowbatch.Batch) *arrowbatch.Batch {
	if b.AppendOnly() {
		return b
	}
	defer b.Release()
	var keep []int32
	for i := range b.Len {
		if b.OpAt(i) == arrowbatch.Insert {
			keep = append(keep, int32(i))
		}
	}
	return b.Take(keep)
}

func (c *feedChanges) step(n physical.Node, b *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	switch n := n.(type) {
	case *physical.Filter:
		keep := expr.Filter(c.eval, n.Pred, b, nil, nil)
		if errs := c.eval.TakeErrors(); errs != nil {
			return nil, errs[0].Err
		}
		return b.Take(keep), nil
	case *physical.Project:
		out, err := evaluate(c.eval, n.Exprs, b)
		if err == nil {
			out.Ops = b.Ops
		}
		return out, err
	}
	return nil, sqlerr.Internal("a subscription cannot run %T", n)
}

// Close ends the subscription.
func (c *feedChanges) Close() error {
	err := c.endSnapshot()
	c.rel.Leave(c.reader)
	return err
}
