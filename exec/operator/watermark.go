package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
)

// Watermark raises the watermark from the rows that pass. Each split has its own:
// the greatest value of the expression over its rows; the operator's is the least
// over the splits that are not idle, and never falls. There is none before every
// such split has had a row with a time.
type Watermark struct {
	base
	// Column is the event-time column; with Expr nil the watermark of a row is
	// Column minus Delay.
	Column int
	Expr   expr.Expr
	Delay  int64
	// MaxOverSplits takes the greatest watermark of the splits instead.
	MaxOverSplits bool
	// Clock: Column is the epoch's time, so the watermark follows that, whatever the
	// splits bring.
	Clock bool

	ids   []string
	split *exec.Meeting
	own   arrowbatch.EventTime
}

// Splits names the splits; see exec.WatermarkSource.
func (w *Watermark) Splits(ids []string, restored map[string]int64) {
	if w.split == nil {
		w.split, w.own = exec.NewMeeting(0), arrowbatch.NoTime
		if x, ok := restored[""]; ok {
			w.own = x
		}
	}
	for i := len(w.ids); i < len(ids); i++ {
		x := arrowbatch.NoTime
		if r, ok := restored[ids[i]]; ok {
			x = r
		}
		w.split.Add(x)
	}
	w.split.Greatest = w.MaxOverSplits
	w.ids = ids
}

// Steady implements exec.WatermarkSource.
func (w *Watermark) Steady() bool { return w.Clock }

// Idle notes whether a split holds the watermark back.
func (w *Watermark) Idle(split int, idle bool) { w.split.SetIdle(split, idle) }

// Standing is where the splits stand now; see exec.Meeting.
func (w *Watermark) Standing() arrowbatch.EventTime {
	if w.Clock || w.own == arrowbatch.MaxTime || w.split == nil {
		return w.own
	}
	return w.split.Standing
}

// Reading returns the watermarks as a checkpoint keeps them.
func (w *Watermark) Reading() (map[string]int64, arrowbatch.EventTime) {
	if w.Clock {
		return map[string]int64{}, w.own
	}
	by := make(map[string]int64, len(w.ids)+1)
	for i, id := range w.ids {
		if x := w.split.At(i); x != arrowbatch.NoTime {
			by[id] = x
		}
	}
	return by, w.Standing()
}

// ProcessBatch takes the greatest time of the batch.
func (w *Watermark) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	if w.Clock {
		return w.out.Emit(b)
	}
	m, err := w.greatest(b)
	if err != nil {
		b.Release()
		return err
	}
	if len(w.ids) == 0 { // rows of no source: one unnamed split
		w.Splits([]string{"all"}, nil)
	}
	w.split.Raise(b.Split, m)
	return w.out.Emit(b)
}

func (w *Watermark) greatest(b *arrowbatch.Batch) (arrowbatch.EventTime, error) {
	v, delay := b.Cols[w.Column], w.Delay
	if w.Expr != nil {
		delay = 0
		v = w.Expr.Eval(w.rt.Eval, b, nil)
		defer v.Release()
		if w.rt.Eval.Failed() {
			if err := w.rt.Fail(w.rt, b, w.rt.Eval.TakeErrors()); err != nil {
				return 0, err
			}
		}
	}
	m := arrowbatch.NoTime
	if v.Valid == nil {
		for _, x := range v.I64[:b.Len] {
			m = max(m, x)
		}
	} else {
		for i, x := range v.I64[:b.Len] {
			if v.Valid.Get(i) {
				m = max(m, x)
			}
		}
	}
	if m == arrowbatch.MaxTime {
		m = greatestFinite(v, b.Len)
	}
	if m < arrowbatch.NoTime+delay {
		return m, nil
	}
	return m - delay, nil
}

// greatestFinite leaves 'infinity' out: it says nothing about the rows to come.
func greatestFinite(v *arrowbatch.Vec, n int) arrowbatch.EventTime {
	m := arrowbatch.NoTime
	for i, x := range v.I64[:n] {
		if x != arrowbatch.MaxTime && !v.IsNull(i) {
			m = max(m, x)
		}
	}
	return m
}

// ProcessWatermark returns the operator's watermark now; in is MaxTime at the end
// of the input.
func (w *Watermark) ProcessWatermark(in arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	if in == arrowbatch.MaxTime {
		w.own = in
		return in, nil
	}
	if w.Clock {
		w.own = max(w.own, w.rt.Eval.Now-1-w.Delay) // more rows may come at this very time
		return w.own, nil
	}
	if w.split == nil {
		return arrowbatch.NoTime, nil
	}
	w.own = max(w.own, w.split.Look())
	return w.own, nil
}
