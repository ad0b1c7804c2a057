package exec

import "github.com/streamsql/streamsql/arrowbatch"

// Meeting makes one watermark of those of several parts: the splits of a source, or
// the tasks that read them. It is the least over the parts that are not idle and
// never falls. While all are idle it stays; what those that have fallen idle since
// the last look had read before still counts. A part that has ended for good (its
// watermark is MaxTime) holds nothing back either; when all have, so has the whole.
type Meeting struct {
	// Value is the common watermark at the last look, MaxTime once all parts have
	// ended; Last is the last one before that.
	Value, Last arrowbatch.EventTime
	// Standing is the watermark of the parts as they were at the last look, without
	// what went before. It can fall, when a part comes back that had been idle. Where
	// this meeting is itself a part of another, it is this that counts: the whole must
	// not depend on how its parts are divided.
	Standing arrowbatch.EventTime
	// Floor is what Value had come to before a restart.
	Floor arrowbatch.EventTime
	// Greatest takes the greatest of the parts' watermarks instead.
	Greatest bool

	w     []arrowbatch.EventTime
	idle  []bool
	ended []bool
	was   []bool // out of the reckoning at the last look
}

// NewMeeting returns a meeting of n parts without watermarks.
func NewMeeting(n int) *Meeting {
	m := &Meeting{Value: arrowbatch.NoTime, Last: arrowbatch.NoTime, Standing: arrowbatch.NoTime,
		Floor: arrowbatch.NoTime}
	for range n {
		m.Add(arrowbatch.NoTime)
	}
	return m
}

// Add adds a part that stands at w.
func (m *Meeting) Add(w arrowbatch.EventTime) {
	m.w, m.idle = append(m.w, arrowbatch.NoTime), append(m.idle, false)
	m.ended, m.was = append(m.ended, false), append(m.was, false)
	m.Raise(len(m.w)-1, w)
}

func (m *Meeting) standing() arrowbatch.EventTime { return m.Standing }

// Len is the number of parts.
func (m *Meeting) Len() int { return len(m.w) }

// At returns where part i stands, or stood when it ended.
func (m *Meeting) At(i int) arrowbatch.EventTime { return m.w[i] }

// Raise moves part i up to w; it never moves back.
func (m *Meeting) Raise(i int, w arrowbatch.EventTime) {
	if w == arrowbatch.MaxTime {
		m.ended[i] = true
		return
	}
	m.w[i] = max(m.w[i], w)
}

// Stand sets where part i, a meeting itself, stands, also when that is back from
// where it was.
func (m *Meeting) Stand(i int, w arrowbatch.EventTime) {
	if w != arrowbatch.MaxTime {
		m.w[i] = w
	}
	m.Raise(i, w)
}

// Rest keeps the watermark from falling below w, where it was before a restart.
func (m *Meeting) Rest(w arrowbatch.EventTime) {
	m.Floor = max(m.Floor, w)
	m.Value, m.Last = max(m.Value, m.Floor), max(m.Last, m.Floor)
}

// SetIdle notes whether part i holds the others back.
func (m *Meeting) SetIdle(i int, idle bool) { m.idle[i] = idle }

// AllIdle tells whether no part holds anything back.
func (m *Meeting) AllIdle() bool {
	for i := range m.w {
		if !m.out(i) {
			return false
		}
	}
	return len(m.w) > 0
}

func (m *Meeting) out(i int) bool { return m.idle[i] || m.ended[i] }

// Look returns the common watermark now.
func (m *Meeting) Look() arrowbatch.EventTime {
	w, any := m.least()
	if m.Greatest {
		w, any = m.greatest()
	}
	over := len(m.w) > 0
	for i := range m.w {
		m.was[i] = m.out(i)
		over = over && m.ended[i]
	}
	if any {
		m.Standing = w
		m.Last = max(m.Last, w)
		m.Value = max(m.Value, w)
	}
	if over {
		m.Value = arrowbatch.MaxTime
	}
	return m.Value
}

func (m *Meeting) least() (w arrowbatch.EventTime, any bool) {
	w = arrowbatch.MaxTime
	all := m.AllIdle()
	for i, x := range m.w {
		if all && !m.was[i] && x != arrowbatch.NoTime || !m.out(i) {
			w, any = min(w, x), true
		}
	}
	return w, any
}

func (m *Meeting) greatest() (w arrowbatch.EventTime, any bool) {
	w = arrowbatch.NoTime
	for _, x := range m.w {
		w = max(w, x)
	}
	return w, w != arrowbatch.NoTime
}
