package stream

import (
	"context"
	"fmt"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/planner"
	"github.com/streamsql/streamsql/state"
)

// settle brings a built query to its last checkpoint: the plan must be the one
// whose state is there, the epoch's prepared output is committed (again), what was
// prepared after it is dropped. Sources begin at the checkpoint's offsets and
// operators read their state as they open; nothing else knows of recovery.
func settle(ctx context.Context, c *build.Continuous, last *state.Checkpoint, p *planner.Plan) error {
	if last == nil {
		for name, s := range c.Sinks {
			if err := s.Abort(ctx, 0); err != nil {
				return fmt.Errorf("sink %s: %w", name, err)
			}
		}
		return nil
	}
	if last.Plan != "" && !fits(last.Plan, p) {
		return errPlan(last.Plan, fingerprint(p))
	}
	for name, s := range c.Sinks {
		if p := last.Prepared[name]; p != nil {
			if err := s.Commit(ctx, connector.Epoch(last.Epoch), p); err != nil {
				return fmt.Errorf("sink %s: %w", name, err)
			}
		}
		if err := s.Abort(ctx, connector.Epoch(last.Epoch)); err != nil {
			return fmt.Errorf("sink %s: %w", name, err)
		}
	}
	return nil
}

// errPlan is the failure of a query whose state another plan has written; the plans
// have names where both are known.
func errPlan(was, is string) error {
	e := sqlerr.New(sqlerr.ObjectNotInState, "the query's plan is not the one that its state belongs to").
		WithHint("CREATE OR REPLACE the query to build the state anew.")
	if was == "" {
		return e
	}
	return e.WithDetail("The state was written under plan %s, the plan is %s now.", was, is)
}
