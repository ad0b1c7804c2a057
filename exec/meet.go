package exec

import "github.com/streamsql/streamsql/arrowbatch"

// Meeting makes one watermark of those of several parts: the splits of a source, or
// the tasks that read them. It is the least over the parts that are not idle and
// never falls. While all are idle it stays; what those that have fallen idle since
// the last look had read before still counts.
type Meeting struct {
	// Value is the common watermark at the last look.
	Value arrowbatch.EventTime

	w    []arrowbatch.EventTime
	idle []bool
	was  []bool // idle at the last look
}

// NewMeeting returns a meeting of n parts without watermarks.
func NewMeeting(n int) *Meeting {
	m := &Meeting{Value: arrowbatch.NoTime}
	for range n {
		m.Add(arrowbatch.NoTime)
	}
	return m
}

// Add adds a part that stands at w.
func (m *Meeting) Add(w arrowbatch.EventTime) {
	m.w, m.idle, m.was = append(m.w, w), append(m.idle, false), append(m.was, false)
}

// Len is the number of parts.
func (m *Meeting) Len() int { return len(m.w) }

// At returns where part i stands.
func (m *Meeting) At(i int) arrowbatch.EventTime { return m.w[i] }

// Raise moves part i up to w; it never moves back.
func (m *Meeting) Raise(i int, w arrowbatch.EventTime) { m.w[i] = max(m.w[i], w) }

// SetIdle notes whether part i holds the others back.
func (m *Meeting) SetIdle(i int, idle bool) { m.idle[i] = idle }

// AllIdle tells whether no part holds anything back.
func (m *Meeting) AllIdle() bool {
	for _, idle := range m.idle {
		if !idle {
			return false
		}
	}
	return len(m.idle) > 0
}

// Look returns the common watermark now.
func (m *Meeting) Look() arrowbatch.EventTime {
	least, any := arrowbatch.MaxTime, false
	all := m.AllIdle()
	for i, w := range m.w {
		if all && !m.was[i] && w != arrowbatch.NoTime || !m.idle[i] {
			least, any = min(least, w), true
		}
	}
	copy(m.was, m.idle)
	if any {
		m.Value = max(m.Value, least)
	}
	return m.Value
}
