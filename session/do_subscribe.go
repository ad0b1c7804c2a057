package session

import (
	"context"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// The columns that SUBSCRIBE puts before those of the query: the epoch of the
// change and what it is.
var changeColumns = []pgwire.Column{{Name: "epoch", Type: types.TInt8}, {Name: "op", Type: types.TText}}

// subscribed is the query that a SUBSCRIBE follows.
func (s *Session) subscribed(t *sql.Subscribe) (*sql.Query, error) {
	if t.Query != nil {
		return t.Query, nil
	}
	return &sql.Query{Pos: t.Relation.Pos, Body: &sql.Select{Pos: t.Relation.Pos,
		Targets: []sql.Target{{X: &sql.Star{Pos: t.Relation.Pos}}}, From: []sql.TableRef{t.Relation}}}, nil
}

func subscribeOptions(opts []sql.Option) (SubscribeOptions, error) {
	out := SubscribeOptions{Snapshot: true}
	for i := range opts {
		o := &opts[i]
		text, given := o.Text()
		on, ok := parseBool(text)
		if !given && o.Value == nil {
			on, ok = true, true
		}
		if !ok {
			return out, sqlerr.New(sqlerr.InvalidParameterValue, "option %q requires a Boolean value", o.Name.Text).
				At(o.Name.Pos)
		}
		switch o.Name.Text {
		case "snapshot":
			out.Snapshot = on
		case "progress":
			out.Progress = on
		default:
			return out, unknownOption(o.Name, []string{"snapshot", "progress"})
		}
	}
	return out, nil
}

func (s *Session) prepareSubscribe(in *input, t *sql.Subscribe) (*statement, error) {
	o, err := subscribeOptions(t.Options)
	if err != nil {
		return nil, err
	}
	q, err := s.subscribed(t)
	if err != nil {
		return nil, err
	}
	plan, err := s.srv.Planner.Subscription(s.planInput(in.text, in.params), q)
	if err != nil {
		return nil, err
	}
	cols := append(append([]pgwire.Column(nil), changeColumns...), plan.Columns...)
	st := &statement{s: s, params: plan.Params, cols: cols, depends: true}
	st.traits.Live = true
	st.start = func(ctx context.Context, args *arrowbatch.Batch) (run, error) {
		if err := s.populated(ctx, plan.Reads); err != nil {
			return nil, err
		}
		env, _ := s.execEnv(plan, args)
		run, cancel := context.WithCancel(s.ctx)
		changes, err := s.srv.Executor.Subscribe(run, plan, o, env)
		if err != nil {
			cancel()
			return nil, err
		}
		return &subscription{changes: changes, cancel: cancel, cols: cols}, nil
	}
	return st, nil
}

// subscription is the run of SUBSCRIBE.
type subscription struct {
	changes Changes
	cancel  context.CancelFunc
	cols    []pgwire.Column
}

// Next waits for the next changes.
func (r *subscription) Next(ctx context.Context, _ int) (*arrowbatch.Batch, error) {
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	c, err := r.changes.Next(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	if c.Rows == nil {
		return r.progress(c.Epoch), nil
	}
	n := c.Rows.Len
	epoch, op := arrowbatch.NewFlat(arrowbatch.Int64, n), arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	for i := range n {
		epoch.I64[i] = int64(c.Epoch)
		if c.Rows.OpAt(i) == arrowbatch.Insert {
			op.AppendString("insert")
		} else {
			op.AppendString("delete")
		}
	}
	// The columns go over to the new batch.
	return arrowbatch.NewBatch(n, append([]*arrowbatch.Vec{epoch, op}, c.Rows.Cols...)...), nil
}

// progress is the row that tells that an epoch is over.
func (r *subscription) progress(epoch uint64) *arrowbatch.Batch {
	b := arrowbatch.NewLike(shapes(r.cols))
	b.Cols[0].AppendInt64(int64(epoch))
	b.Cols[1].AppendString("progress")
	for _, c := range b.Cols[2:] {
		c.AppendNull()
	}
	b.AppendOp(arrowbatch.Insert)
	return b
}

// Tag returns SUBSCRIBE and the number of rows.
func (r *subscription) Tag(sent int64) string { return "SUBSCRIBE " + itoa(sent) }

// Close ends the subscription.
func (r *subscription) Close() error {
	r.cancel()
	return r.changes.Close()
}
