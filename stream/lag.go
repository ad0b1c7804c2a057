package stream

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec/build"
)

// lagging is what the last look at the sources found, for whoever asks how far the
// query is behind.
type lagging struct {
	sources map[string]*build.Source
	latest  bounds
	at      time.Time
}

// looked keeps what a look has found.
func (q *Query) looked(r *run, latest bounds) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lag = &lagging{sources: r.c.Sources, latest: maps.Clone(latest), at: q.m.cfg.Clock.Now()}
}

// lastLook is what the last look at the sources has found.
func (q *Query) lastLook() bounds {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lag == nil {
		return nil
	}
	return q.lag.latest
}

// SplitLag is how far a query is behind in a split.
type SplitLag struct {
	// Operator is the source's place in the plan, as checkpoints name it.
	Operator, Name, Split string
	// Offset is the committed one; "": none.
	Offset string
	// Latest is the offset after the split's last row, when it was looked at the last
	// time; "": not known.
	Latest string
	LookAt time.Time
	// Lag is how many offsets lie between the two, Held how many more may not be read
	// yet; Counted: both are known.
	Lag, Held int64
	Counted   bool
}

// Splits tells how far the query is behind in its sources' splits; nil where it has
// not run since the server was started.
func (s *Status) Splits() []SplitLag {
	if s.lag == nil {
		return nil
	}
	return s.lag.lags(s.Offsets)
}

// lags are those of a query's splits, given the committed offsets.
func (l *lagging) lags(offsets map[string]map[string]string) []SplitLag {
	var out []SplitLag
	for op, s := range l.sources {
		if s.Static {
			continue
		}
		splits := map[string]bool{}
		for split := range offsets[op] {
			splits[split] = true
		}
		for split := range l.latest[op] {
			splits[split] = true
		}
		m, measured := connector.As[connector.Measured](s.Source)
		for split := range splits {
			x := SplitLag{Operator: op, Name: s.Object.Name.String(), Split: split, Offset: offsets[op][split]}
			if latest, ok := l.latest[op][split]; ok {
				x.Latest, x.LookAt = string(latest), l.at
				if measured {
					x.Lag, x.Held = m.Behind(split, connector.Offset(x.Offset), latest), m.Held(split)
					x.Counted = x.Lag >= 0
				}
			}
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b SplitLag) int {
		return cmp.Or(inOrder(a.Operator, b.Operator), inOrder(a.Split, b.Split))
	})
	return out
}

// inOrder compares names, numbers by their value and before others.
func inOrder(a, b string) int {
	m, merr := strconv.Atoi(a)
	n, nerr := strconv.Atoi(b)
	switch {
	case merr == nil && nerr == nil:
		return cmp.Compare(m, n)
	case merr == nil:
		return -1
	case nerr == nil:
		return 1
	}
	return cmp.Compare(a, b)
}
