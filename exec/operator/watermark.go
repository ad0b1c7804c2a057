package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
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

	ids   []string
	split []int64
	idle  []bool
	own   arrowbatch.EventTime
	begun bool
}

// Splits names the splits; see exec.WatermarkSource.
func (w *Watermark) Splits(ids []string, restored map[string]int64) {
	if !w.begun {
		w.begun, w.own = true, arrowbatch.NoTime
		if x, ok := restored[""]; ok {
			w.own = x
		}
	}
	for i := len(w.ids); i < len(ids); i++ {
		x := arrowbatch.NoTime
		if r, ok := restored[ids[i]]; ok {
			x = r
		}
		w.split, w.idle = append(w.split, x), append(w.idle, false)
	}
	w.ids = ids
}

// Idle notes whether a split holds the watermark back.
func (w *Watermark) Idle(split int, idle bool) { w.idle[split] = idle }

// Reading returns the watermarks as a checkpoint keeps them.
func (w *Watermark) Reading() (map[string]int64, arrowbatch.EventTime) {
	by := make(map[string]int64, len(w.ids)+1)
	for i, id := range w.ids {
		if w.split[i] != arrowbatch.NoTime {
			by[id] = w.split[i]
		}
	}
	return by, w.own
}

// ProcessBatch takes the greatest time of the batch.
func (w *Watermark) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	m, err := w.greatest(b)
	if err != nil {
		b.Release()
		return err
	}
	if len(w.ids) == 0 { // rows of no source: one unnamed split
		w.Splits([]string{"all"}, nil)
	}
	if s := &w.split[b.Split]; m > *s {
		*s = m
	}
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
	if !w.begun {
		return arrowbatch.NoTime, nil
	}
	m, any := arrowbatch.MaxTime, false
	if w.MaxOverSplits {
		m = arrowbatch.NoTime
	}
	for i, x := range w.split {
		switch {
		case w.MaxOverSplits:
			m, any = max(m, x), true
		case !w.idle[i]:
			m, any = min(m, x), true
		}
	}
	if !any { // all are idle: it stays, but what they have read counts
		for _, x := range w.split {
			if x != arrowbatch.NoTime {
				m, any = min(m, x), true
			}
		}
	}
	if any && m > w.own {
		w.own = m
	}
	return w.own, nil
}
