package stream

import (
	"context"
	"slices"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// toldAfter is how long a start waits for a static side in silence.
const toldAfter = time.Second

// awaitStatic waits, at the first start of a query, until the relations that it
// joins a stream with hold what there is for them: a stream must meet all of a
// table that a file feeds, though both begin at once. So it does for relations of
// which a part is not to be shown: see filling. It returns false when the query is
// asked to stop meanwhile.
func (q *Query) awaitStatic(ctx context.Context, c *build.Continuous) (bool, error) {
	for _, up := range q.staticQueries(c) {
		for {
			ok, err := q.awaitFlush(ctx, up)
			if !ok || err != nil && ctx.Err() != nil {
				return false, err
			}
			if err == nil {
				break
			}
		}
	}
	return true, nil
}

// staticQueries returns the queries that fill the static sides, each after those
// that it reads.
func (q *Query) staticQueries(c *build.Continuous) []*Query {
	snap := q.m.cfg.Catalog.Snapshot()
	var ids []catalog.ObjectID
	var visit func(id catalog.ObjectID)
	visit = func(id catalog.ObjectID) {
		o := snap.ByID(id)
		if o == nil || slices.Contains(ids, id) {
			return
		}
		for _, d := range o.DependsOn {
			visit(d)
		}
		ids = append(ids, id)
	}
	for _, s := range c.Sources {
		if s.Relation == nil {
			continue
		}
		if unfilled, err := q.m.unfilled(s.Object); s.Static || unfilled && err == nil {
			visit(s.Object.ID)
		}
	}
	var out []*Query
	for _, id := range ids {
		if up := q.m.query(id); up != nil && up != q {
			out = append(out, up)
		}
	}
	return out
}

// awaitFlush waits until up has absorbed what there is now. An error means that up
// has failed and has since changed its state.
func (q *Query) awaitFlush(ctx context.Context, up *Query) (bool, error) {
	q.m.mu.Lock()
	changed := q.m.changed
	q.m.mu.Unlock()
	f, err := up.wish()
	if f == nil && err == nil {
		return true, nil
	}
	var done <-chan struct{}
	if f != nil {
		done, changed = f.done, nil
	} else {
		q.set(Waiting, err)
	}
	told, giveUp := q.m.cfg.Clock.After(toldAfter)
	defer giveUp()
	for {
		select {
		case <-done:
			return true, f.err
		case <-changed:
			return true, err
		case <-told:
			if err == nil {
				st := up.Status()
				q.set(Waiting, sqlerr.New(sqlerr.ObjectNotInState, "waits for %s %s to be read", st.Kind, st.Name))
			}
		case <-q.wake:
			if q.isStopping() {
				return false, nil
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
