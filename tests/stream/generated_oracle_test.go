package stream

import (
	"cmp"
	"slices"
	"time"
)

// genMark follows a stream's watermark as the rules have it: that of a split is its
// greatest time less the delay, the stream's is the least over the splits that are
// not idle, or the greatest of all, and it never falls.
type genMark struct {
	s      *genStream
	at     []int64
	has    []bool
	idle   []bool
	heard  []time.Time
	own    int64
	hasOwn bool
}

func newGenMark(s *genStream, now time.Time) *genMark {
	m := &genMark{s: s, at: make([]int64, s.splits), has: make([]bool, s.splits)}
	m.begin(now)
	return m
}

// begin starts the splits' time anew, as a start of the engine does.
func (m *genMark) begin(now time.Time) {
	m.idle, m.heard = make([]bool, m.s.splits), make([]time.Time, m.s.splits)
	for i := range m.heard {
		m.heard[i] = now
	}
}

// epoch takes an epoch's rows in. drained: all splits are idle at its end.
func (m *genMark) epoch(rows []*genRow, now time.Time, drained bool) {
	was := slices.Clone(m.idle)
	for _, r := range rows {
		m.heard[r.split], m.idle[r.split], was[r.split] = now, false, false
		if w := r.t - m.s.delay; !r.noTime && (!m.has[r.split] || w > m.at[r.split]) {
			m.at[r.split], m.has[r.split] = w, true
		}
	}
	for i := range m.idle {
		if drained || m.s.idle > 0 && now.Sub(m.heard[i]) >= m.s.idle {
			m.idle[i] = true
		}
	}
	if w, ok := m.combined(was); ok && (!m.hasOwn || w > m.own) {
		m.own, m.hasOwn = w, true
	}
}

func (m *genMark) combined(was []bool) (w int64, ok bool) {
	all := !slices.Contains(m.idle, false)
	for i, x := range m.at {
		switch {
		case m.s.greatest:
			if m.has[i] && (!ok || x > w) {
				w, ok = x, true
			}
			continue
		case all:
			// While all are idle it stays; what those had read that are so only now counts.
			if was[i] || !m.has[i] {
				continue
			}
		case m.idle[i]:
			continue
		case !m.has[i]:
			return 0, false
		}
		if !ok || x < w {
			w, ok = x, true
		}
	}
	return w, ok
}

// judge notes for each row of an epoch which watermark it meets, and counts what is
// late for all of its windows, or for some.
func (s *genStream) judge(rows []*genRow, m *genMark) {
	for _, r := range rows {
		r.mark, r.marked = m.own, m.hasOwn
		switch {
		case !s.windowed():
			continue
		case r.noTime:
			if s.kind != genTrunc {
				s.noTime++
			}
			continue
		case s.mode == "complete":
			continue
		}
		open, closed := 0, 0
		for _, end := range s.ends(r) {
			if r.marked && end <= r.mark {
				closed++
			} else {
				open++
			}
		}
		switch {
		case open == 0 && closed > 0:
			r.late = true
			s.late++
		case closed > 0:
			r.part = true
			s.part++
		}
	}
}

// ends are the ends of a row's windows.
func (s *genStream) ends(r *genRow) []int64 {
	if s.sessions() {
		if g := s.gap(r); g > 0 {
			return []int64{r.t + g}
		}
		return nil
	}
	var out []int64
	switch s.kind {
	case genCumulate:
		start := below(r.t-s.off, s.size) + s.off
		for end := start + s.slide; end <= start+s.size; end += s.slide {
			if end > r.t {
				out = append(out, end)
			}
		}
	default:
		for start := below(r.t-s.off, s.slide) + s.off; start+s.size > r.t; start -= s.slide {
			out = append(out, start+s.size)
		}
	}
	return out
}

// below is the greatest multiple of step that is at most t.
func below(t, step int64) int64 {
	n := t / step
	if t%step < 0 {
		n--
	}
	return n * step
}

// gap is how long a row holds its session open, in microseconds; 0: it is in none.
func (s *genStream) gap(r *genRow) int64 {
	switch {
	case s.kind == genSession:
		return s.size
	case r.noGap || r.gap <= 0:
		return 0
	}
	return r.gap * second
}

// genSpan is a session with its rows.
type genSpan struct {
	start, end int64
	rows       []*genRow
}

// genSessions follows a stream's sessions, by key: open ones grow together where
// they touch, closed ones stay as they are.
type genSessions struct {
	s            *genStream
	open, closed map[string][]*genSpan
}

func newGenSessions(s *genStream) *genSessions {
	return &genSessions{s, map[string][]*genSpan{}, map[string][]*genSpan{}}
}

func (g *genSessions) key(r *genRow) string {
	if g.s.keyed {
		return r.values[0]
	}
	return ""
}

func (g *genSessions) epoch(rows []*genRow, m *genMark) {
	for _, r := range rows {
		gap := g.s.gap(r)
		if r.noTime || r.late || gap <= 0 {
			continue
		}
		k := g.key(r)
		now := &genSpan{r.t, r.t + gap, []*genRow{r}}
		g.open[k] = slices.DeleteFunc(g.open[k], func(o *genSpan) bool {
			if o.end < now.start || o.start > now.end {
				return false
			}
			now.start, now.end = min(now.start, o.start), max(now.end, o.end)
			now.rows = append(now.rows, o.rows...)
			return true
		})
		g.open[k] = append(g.open[k], now)
	}
	if !m.hasOwn || g.s.mode == "complete" {
		return
	}
	for k, spans := range g.open {
		g.open[k] = slices.DeleteFunc(spans, func(o *genSpan) bool {
			if o.end > m.own {
				return false
			}
			g.closed[k] = append(g.closed[k], o)
			return true
		})
	}
}

// paint gives sessions of one key that touch each other different colors: there
// PostgreSQL, which knows no closing, is to see no single island.
func (g *genSessions) paint() {
	all := g.closed
	for k, spans := range g.open {
		all[k] = append(all[k], spans...)
	}
	for _, spans := range all {
		slices.SortFunc(spans, func(a, b *genSpan) int { return cmp.Compare(a.start, b.start) })
		var ends []int64 // of each color's last session
		for _, o := range spans {
			c := slices.IndexFunc(ends, func(end int64) bool { return end < o.start })
			if c < 0 {
				c = len(ends)
				ends = append(ends, o.end)
			}
			ends[c] = o.end
			for _, r := range o.rows {
				r.color = c
			}
		}
	}
}
