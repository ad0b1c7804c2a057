package operator

import (
	"sync/atomic"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// LocalAgg is the first phase of an aggregation in two: it groups the rows of one
// task before they are sent to the tasks that own the groups, so that a frequent
// key crosses the exchange once an epoch instead of once a row.
//
// Its output has the key columns, then start and end of the group's bucket (a
// window, or a pane where rows are in several), the number of rows (inserts less
// deletes) and the aggregates' states in one column of bytes. The second phase is a
// HashAgg with States set.
type LocalAgg struct {
	// Agg is the aggregation of the second phase; it is read, not run.
	Agg *HashAgg
	// Horizon is the watermark that the second phase has applied; see
	// HashAgg.Horizon.
	Horizon *atomic.Int64

	h     *HashAgg
	out   exec.Output
	each  bool // grouping does not pay: nothing is held past its batch
	rows  int
	total int
}

// Limits of the first phase.
const (
	// localGroups is how many groups are held before they are sent on.
	localGroups = 1 << 16
	// localTrial is how many rows decide whether grouping pays, and localWorth the
	// share of groups among them from which it does not.
	localTrial = 1 << 15
	localWorth = 0.8
)

// Open makes the empty tables. Nothing is kept over a barrier, so there is nothing
// to restore.
func (l *LocalAgg) Open(rt *exec.Runtime, out exec.Output) error {
	a := l.Agg
	l.out = out
	l.h = &HashAgg{KeyCols: a.KeyCols, KeyTypes: a.KeyTypes, Aggs: a.Aggs, Window: a.Window, CloseCol: a.CloseCol,
		CloseLag: a.CloseLag, FinalOnly: a.FinalOnly, Keep: a.Keep}
	own := *rt
	own.Store = nil
	if err := l.h.Open(&own, out); err != nil {
		return err
	}
	l.h.rt = rt   // late rows are dropped in the task's name
	l.h.touch = 0 // nothing is emitted or saved by group
	if w := l.h.Window; w != nil && !w.single() {
		// All rows of a pane are in the same windows: the second phase can tell for
		// them which of the windows they are late for.
		l.h.panes, l.h.pane = true, w.Pane()
	}
	return nil
}

// ProcessBatch groups rows.
func (l *LocalAgg) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	h := l.h
	if w := l.Horizon.Load(); w > h.w && !h.Keep {
		h.w, h.cur = w, nil
	}
	h.assign(b)
	for _, bk := range h.touched {
		before := bk.groups.Len()
		h.update(bk, b, len(bk.sel) == b.Len)
		l.total += bk.groups.Len() - before
		bk.sel = bk.sel[:0]
	}
	h.touched = h.touched[:0]
	l.rows += b.Len
	if h.rt.Eager || l.each || l.total >= localGroups {
		return l.flush()
	}
	return nil
}

// ProcessWatermark sends all groups before the watermark, which may close them.
func (l *LocalAgg) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	return w, l.flush()
}

// ProcessBarrier sends all groups of the epoch.
func (l *LocalAgg) ProcessBarrier(exec.Barrier) error { return l.flush() }

// flush sends the groups and forgets them.
func (l *LocalAgg) flush() error {
	if l.rows >= localTrial {
		l.each = float64(l.total) > localWorth*float64(l.rows)
		l.rows = 0
	}
	l.total = 0
	for _, end := range l.h.ends() {
		bk := l.h.buckets[end]
		if bk.groups.Len() == 0 {
			continue
		}
		out, err := l.states(bk)
		if err != nil {
			return err
		}
		l.h.drop(bk)
		if err := l.out.Emit(out); err != nil {
			return err
		}
	}
	l.h.cur, l.h.dropped = nil, l.h.dropped[:0]
	return nil
}

func (l *LocalAgg) states(bk *bucket) (*arrowbatch.Batch, error) {
	n := bk.groups.Len()
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i)
	}
	out := arrowbatch.NewLike(l.h.keyShapes)
	if err := bk.groups.AppendColumns(out.Cols, ids); err != nil {
		out.Release()
		return nil, err
	}
	start, end := arrowbatch.NewFlat(arrowbatch.Int64, n), arrowbatch.NewFlat(arrowbatch.Int64, n)
	rows, state := arrowbatch.NewFlat(arrowbatch.Int64, n), arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	for i := range ids {
		start.I64[i], end.I64[i], rows.I64[i] = bk.start, bk.end, bk.rows[i]
		for _, a := range bk.accs {
			state.Data = a.Append(state.Data, int32(i))
		}
		state.EndBytes()
	}
	out.Cols = append(out.Cols, start, end, rows, state)
	out.Len = n
	return out, nil
}

// Close frees the tables.
func (l *LocalAgg) Close() {
	if l.h != nil {
		l.h.Close()
	}
}

// TwoPhase tells whether the aggregation can be done in two phases: the states of
// its aggregates can be merged in any order.
func (o *HashAgg) TwoPhase() bool {
	for _, a := range o.Aggs {
		if a.Distinct || len(a.Order) > 0 || a.Name == "array_agg" || a.Name == "string_agg" {
			return false
		}
	}
	return true
}

// takeStates is ProcessBatch of the second phase.
func (o *HashAgg) takeStates(b *arrowbatch.Batch) error {
	nk := len(o.KeyCols)
	start, end, rows := b.Cols[nk], b.Cols[nk+1], b.Cols[nk+2]
	late := 0
	for i := range b.Len {
		s, e, n := start.I64[i], end.I64[i], int(rows.I64[i])
		switch {
		case o.Window != nil && !o.Window.single():
			late += o.addPane(s, e, i, n)
		case o.lateBucket(e):
			late += n
		default:
			o.add(o.bucketAt(s, e), i)
		}
	}
	if late > 0 { // in real time only: the watermark rose while they were on their way
		o.rt.Stats.Late(late)
	}
	for _, bk := range o.touched {
		if err := o.mergeStates(bk, b); err != nil {
			return err
		}
		bk.sel = bk.sel[:0]
	}
	return nil
}

// addPane puts state i, of n rows in the pane from start to end, into the windows
// that are open. It returns how many rows came too late for all windows.
func (o *HashAgg) addPane(start, end int64, i, n int) (late int) {
	if !o.Keep && o.Window.lastEnd(start) <= o.w {
		return n
	}
	if o.panes {
		bk := o.bucketAt(start, end)
		o.touchPane(bk)
		o.add(bk, i)
		return 0
	}
	o.Window.each(start, func(start, end int64) {
		if o.Keep || end > o.w {
			o.add(o.windowBucket(start, end), i)
		}
	})
	return 0
}

// lateBucket tells whether the window that ends at end is closed.
func (o *HashAgg) lateBucket(end int64) bool {
	if o.Keep || o.Window == nil && (o.CloseCol < 0 || end >= endNegInf) {
		return false
	}
	return end <= o.w
}

func (o *HashAgg) mergeStates(bk *bucket, b *arrowbatch.Batch) error {
	nk := len(o.KeyCols)
	o.ids = resizeIDs(o.ids, len(bk.sel))
	if err := o.lookup(bk, b.Cols[:nk], bk.sel, o.ids); err != nil {
		return err
	}
	o.mark(bk)
	for k, i := range bk.sel {
		id := o.ids[k]
		if !o.AppendOnly {
			bk.rows[id] += b.Cols[nk+2].I64[i]
		}
		src := b.Cols[nk+3].BytesAt(int(i))
		var err error
		for _, a := range bk.accs {
			if src, err = a.Merge(id, src); err != nil {
				return err
			}
		}
	}
	return nil
}
