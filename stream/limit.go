package stream

import (
	"context"
	"maps"
	"math"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// never is longer than any source makes an epoch wait.
const never = time.Duration(math.MaxInt64)

// limits are the bounds that sources put on epochs by their options.
type limits struct {
	r *run
	// next are those of the epoch to come, held those of the last one, by source: an
	// epoch that was cut by its number of rows goes on to the same bound, so that the
	// pieces together are no more than one epoch may read.
	next, held map[string]connector.Limit
	// waits are the sources that have less than an epoch is worth.
	waits map[string]bool
	// less: the last epoch left rows behind its limits.
	less bool
}

// set lowers the bounds of a pace to the limits; since is the time since the last
// epoch.
func (l *limits) set(ctx context.Context, p *exec.Pace, since time.Duration) error {
	l.next, l.waits = nil, nil
	for name, s := range l.r.c.Sources {
		src, ok := limitedSource(s)
		if !ok {
			continue
		}
		latest := p.Until[name]
		if latest == nil { // it is bounded: by its end, and by nothing where that is in reach
			var err error
			if latest, err = s.Source.Latest(ctx, nil); err != nil {
				return err
			}
		}
		lim, err := l.of(ctx, src, name, latest)
		if err != nil {
			return err
		}
		if l.next == nil {
			l.next = map[string]connector.Limit{}
		}
		l.next[name] = lim
		if since < lim.Wait {
			l.waits = with(l.waits, name)
		}
		if !lim.Less {
			continue
		}
		p.Limited = with(p.Limited, name)
		if p.Until = maps.Clone(p.Until); p.Until == nil {
			p.Until = map[string]map[string]connector.Offset{}
		}
		p.Until[name] = maps.Clone(lim.Until)
	}
	return nil
}

// of is a source's limit for the next epoch.
func (l *limits) of(ctx context.Context, src connector.Limited, name string, latest map[string]connector.Offset) (
	connector.Limit, error) {
	held, ok := l.held[name]
	if ok = ok && l.r.cut && held.Less; ok {
		for split := range latest {
			_, has := held.Until[split]
			ok = ok && has
		}
	}
	if ok {
		return held, nil
	}
	return src.Limit(ctx, l.r.at[name], latest)
}

// took tells that the epoch that was set begins.
func (l *limits) took() {
	l.held, l.less = l.next, false
	for _, lim := range l.next {
		l.less = l.less || lim.Less
	}
}

func with(m map[string]bool, name string) map[string]bool {
	if m == nil {
		m = map[string]bool{}
	}
	m[name] = true
	return m
}

// join adds new splits to others.
func join(a, b map[string][]connector.Split) map[string][]connector.Split {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	for name, splits := range b {
		out[name] = append(out[name][:len(out[name]):len(out[name])], splits...)
	}
	return out
}

func limitedSource(s *build.Source) (connector.Limited, bool) {
	l, ok := connector.As[connector.Limited](s.Source)
	return l, ok && !s.Static && l.Limits()
}

// refuseLimits refuses sources that limit epochs where rows leave at once: there an
// epoch is no unit of reading.
func refuseLimits(sources map[string]*build.Source) error {
	for _, s := range sources {
		if _, ok := limitedSource(s); ok {
			return noLimits(s.Object)
		}
	}
	return nil
}

func noLimits(o *catalog.Object) error {
	return sqlerr.Unsupported("source %s limits what a trigger reads, which trigger real_time cannot keep", o.Name).
		WithHint("Use trigger 'processing_time ...', or a source without such options.").AsPermanent()
}

// checkLimits refuses a query that could never run for that reason.
func (m *Manager) checkLimits(o *catalog.Object) error {
	opt, err := readOptions(o, m.cfg.Trigger)
	if err != nil || opt.trigger.Kind != RealTime {
		return err
	}
	snap := m.cfg.Catalog.Snapshot()
	todo := append([]catalog.ObjectID{o.ID}, o.DependsOn...)
	seen := map[catalog.ObjectID]bool{}
	for len(todo) > 0 {
		d := snap.ByID(todo[0])
		todo = todo[1:]
		if d == nil || seen[d.ID] {
			continue
		}
		seen[d.ID] = true
		switch {
		case d.Kind == catalog.KindView:
			todo = append(todo, d.DependsOn...)
		case d.Kind == catalog.KindSource || d.Kind == catalog.KindTable && d.ID == o.ID:
			limited := false
			m.look(d, func(s connector.Source) {
				l, ok := connector.As[connector.Limited](s)
				limited = ok && l.Limits()
			})
			if limited {
				return noLimits(d)
			}
		}
	}
	return nil
}

// look makes a source for fn to ask, if it can be made.
func (m *Manager) look(o *catalog.Object, fn func(connector.Source)) {
	env := &build.Env{Registry: m.cfg.Registry, Clock: m.cfg.Clock}
	spec, f, err := env.Spec(o, nil)
	if err != nil || f.Source == nil {
		return
	}
	src, err := f.Source(m.ctx, spec)
	if err != nil {
		return
	}
	defer src.Close()
	fn(src)
}
