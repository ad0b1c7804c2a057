package operator

import (
	"slices"
	"sync/atomic"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// AggCall is one aggregate of a HashAgg.
type AggCall struct {
	aggregate.Call
	// Cols are the input columns: the arguments, then the ORDER BY columns.
	Cols []int
	// Filter is a boolean input column or -1.
	Filter   int
	Distinct bool
}

func (c *AggCall) nargs() int { return len(c.Args) }

// OutKind says where an output column of a HashAgg comes from.
type OutKind uint8

// The kinds of output columns.
const (
	OutKey   OutKind = iota // key column number N
	OutStart                // start of the window
	OutEnd                  // end of the window
	OutAgg                  // aggregate number N
)

// OutCol is an output column of a HashAgg.
type OutCol struct {
	Kind OutKind
	N    int
}

// HashAgg groups rows and aggregates them: one table for all, or one per window,
// which is dropped whole when the watermark has passed the window.
//
// Rows are held back as pending changes of their groups until the barrier, or
// until the end of the batch where results are eager; a changed group then leaves
// as a Delete of its old row and an Insert of the new one. With FinalOnly a group
// leaves once, when its window is closed.
type HashAgg struct {
	// KeyCols are the input columns grouped by, those that give the window left out.
	KeyCols  []int
	KeyTypes []types.Type
	Aggs     []AggCall
	Out      []OutCol
	OutTypes []types.Type
	// Window assigns rows to windows by a time column; nil: none.
	Window *Windowing
	// CloseCol is a time column in the key's place: each of its values is a window
	// that ends CloseLag after it. -1: none.
	CloseCol int
	CloseLag int64
	// FinalOnly: emit closed windows only.
	FinalOnly bool
	// Keep: windows are never closed and nothing is late (complete mode).
	Keep bool
	// Keyless: there is one row, also for an empty input.
	Keyless bool
	// AppendOnly: no deletes come in.
	AppendOnly bool
	// States: the input is the output of LocalAggs.
	States bool
	// Budget is how many bytes of groups may be held in memory, where they can be left to
	// the store; nil: any number. It is asked at barriers.
	Budget func() int
	// Horizon is told the watermark as it is applied: what LocalAggs call late by,
	// who have the rows. They may take its value for that of the epoch: rows of the
	// next one are read when this one's barrier has passed everywhere. Nil: there are
	// none.
	Horizon *atomic.Int64
	// TTL, above 0, is how many microseconds of processing time a group stays that no
	// row touches; there is one table for all groups then. Quiet: its row is not taken
	// back with it.
	TTL   int64
	Quiet bool

	rt        *exec.Runtime
	out       exec.Output
	keyShapes []arrowbatch.Shape
	aggShapes []arrowbatch.Shape
	outShapes []arrowbatch.Shape
	panes     bool  // buckets are panes, merged as windows close
	pane      int64 // length of a bucket
	touch     byte  // flags that a touched group gets

	w       arrowbatch.EventTime // watermark applied
	buckets map[int64]*bucket    // by end
	cur     *bucket
	free    []*bucket
	tier    *tier // nil: groups stay in memory
	saved   state.KeyList
	keys    []byte
	touched []*bucket
	exp     *expiry // nil: groups stay
	dropped []int64 // ends of stored buckets that were closed in this epoch
	slide   slide

	ids, fresh, filterIDs, filterRows []int32
	late                              []int32
	keyCols                           []int
	keyVecs                           []*arrowbatch.Vec
	args                              [][]*arrowbatch.Vec
	buf                               [2][]byte
}

var errState = sqlerr.New(sqlerr.DataCorrupted, "an operator's state is unreadable")

// Open restores the groups.
func (o *HashAgg) Open(rt *exec.Runtime, out exec.Output) error {
	o.rt, o.out, o.w = rt, out, arrowbatch.NoTime
	o.buckets = map[int64]*bucket{}
	o.keyCols = o.KeyCols
	o.keyVecs = make([]*arrowbatch.Vec, len(o.KeyCols))
	for _, t := range o.KeyTypes {
		o.keyShapes = append(o.keyShapes, t.Shape())
	}
	for i := range o.Aggs {
		if _, err := aggregate.New(o.Aggs[i].Call); err != nil {
			return err
		}
		o.aggShapes = append(o.aggShapes, o.Aggs[i].Result.Shape())
		o.args = append(o.args, make([]*arrowbatch.Vec, len(o.Aggs[i].Cols)))
	}
	for _, t := range o.OutTypes {
		o.outShapes = append(o.outShapes, t.Shape())
	}
	if o.Window != nil {
		o.panes = o.FinalOnly && !o.Window.single() && !o.Keep && o.mergeable()
		o.pane = o.Window.Size
		if o.panes {
			o.pane = o.Window.Pane()
		}
	}
	if !o.FinalOnly {
		o.touch |= toEmit
	}
	if o.TTL > 0 {
		o.exp = newExpiry(o.TTL)
	}
	if rt.Store != nil {
		o.touch |= toSave
		if o.canSpill() {
			o.tier = newTier(rt, o.Budget)
		}
		if err := o.restore(); err != nil {
			return err
		}
	}
	if o.Keyless && o.Window == nil && o.CloseCol < 0 && o.ownsKeyless() {
		return o.seedKeyless()
	}
	return nil
}

// ownsKeyless tells whether this task has the one group of a query without keys.
func (o *HashAgg) ownsKeyless() bool { return o.rt.Part == 0 }

// mergeable tells whether windows can be put together from panes: the values of
// DISTINCT aggregates would be counted once a pane.
func (o *HashAgg) mergeable() bool {
	for _, a := range o.Aggs {
		if a.Distinct {
			return false
		}
	}
	return true
}

func (o *HashAgg) newAcc(i int) aggregate.Acc {
	a, _ := aggregate.New(o.Aggs[i].Call) // checked by Open
	return a
}

func (o *HashAgg) argShapes(i int) []arrowbatch.Shape {
	var s []arrowbatch.Shape
	for _, t := range o.Aggs[i].Args {
		s = append(s, t.Shape())
	}
	return s
}

// bucketAt returns the bucket that ends at end, made if need be.
func (o *HashAgg) bucketAt(start, end int64) *bucket {
	bk := o.buckets[end]
	if bk == nil {
		bk = o.newBucket(start, end)
		o.buckets[end] = bk
	}
	return bk
}

// seedKeyless makes the one group of a query without GROUP BY.
func (o *HashAgg) seedKeyless() error {
	bk := o.bucketAt(arrowbatch.NoTime, arrowbatch.MaxTime)
	if bk.groups.Len() > 0 {
		return nil
	}
	o.ids = resizeIDs(o.ids, 1)
	if err := o.lookup(bk, nil, nil, o.ids); err != nil || bk.away {
		return err // what is away has been seeded
	}
	o.mark(bk)
	if !o.AppendOnly {
		bk.rows[0] = 1 // the row stays when the last input row goes
	}
	return nil
}

// ProcessBatch takes rows into their groups.
func (o *HashAgg) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	if err := o.replay(); err != nil {
		return err
	}
	if o.States {
		if err := o.takeStates(b); err != nil {
			return err
		}
	} else if err := o.takeRows(b); err != nil {
		return err
	}
	if !o.rt.Eager || o.FinalOnly {
		o.touched = o.touched[:0]
		return nil
	}
	touched := o.touched
	o.touched = o.touched[:0]
	for _, bk := range touched {
		if err := o.emit(bk); err != nil {
			return err
		}
	}
	return nil
}

func (o *HashAgg) takeRows(b *arrowbatch.Batch) error {
	o.assign(b)
	for _, bk := range o.touched {
		if err := o.update(bk, b, len(bk.sel) == b.Len); err != nil {
			return err
		}
		bk.sel = bk.sel[:0]
	}
	return nil
}

// assign puts each row of the batch into the sel of its buckets.
func (o *HashAgg) assign(b *arrowbatch.Batch) {
	switch {
	case o.Window != nil:
		o.assignWindows(b)
	case o.CloseCol >= 0:
		o.assignByColumn(b)
	default:
		bk := o.bucketAt(arrowbatch.NoTime, arrowbatch.MaxTime)
		bk.sel = bk.sel[:0]
		for i := range b.Len {
			bk.sel = append(bk.sel, int32(i))
		}
		o.touched = append(o.touched, bk)
	}
}

func (o *HashAgg) add(bk *bucket, i int) {
	if len(bk.sel) == 0 {
		o.touched = append(o.touched, bk)
	}
	bk.sel = append(bk.sel, int32(i))
}

func (o *HashAgg) assignWindows(b *arrowbatch.Batch) {
	v, w := b.Cols[o.Window.TimeCol], o.Window
	partial, null := 0, 0
	o.late = o.late[:0]
	cur := o.cur
	for i, t := range v.I64[:b.Len] {
		if cur != nil && t >= cur.start && t < cur.end && v.Valid == nil {
			o.add(cur, i)
			continue
		}
		if v.IsNull(i) || !w.holds(t) {
			null++
			continue
		}
		switch {
		case w.single():
			start := floorTo(t, w.Size, w.Offset)
			if start+w.Size <= o.w && !o.Keep {
				o.late = append(o.late, int32(i))
				continue
			}
			cur = o.bucketAt(start, start+w.Size)
			o.add(cur, i)
		case o.panes:
			if w.lastEnd(t) <= o.w {
				o.late = append(o.late, int32(i))
				continue
			}
			if w.firstEnd(t) <= o.w {
				partial++
			}
			start := floorTo(t, o.pane, w.Offset)
			bk := o.bucketAt(start, start+o.pane)
			o.touchPane(bk)
			o.add(bk, i)
			if w.firstEnd(start) > o.w { // no row of the pane is late for a window
				cur = bk
			}
		default:
			partial += o.assignEach(i, t)
		}
	}
	o.cur = cur
	o.count(partial, null)
	o.rt.DropLate(b, o.late, w.TimeCol, o.w)
}

// assignEach puts a row into each of its windows that is open. It returns 1 for a
// row that some of its windows were closed to.
func (o *HashAgg) assignEach(i int, t int64) (partial int) {
	in, missed := 0, 0
	o.Window.each(t, func(start, end int64) {
		if end <= o.w && !o.Keep {
			missed++
			return
		}
		in++
		o.add(o.windowBucket(start, end), i)
	})
	switch {
	case in == 0 && missed > 0:
		o.late = append(o.late, int32(i))
	case missed > 0:
		return 1
	}
	return 0
}

// windowBucket returns the bucket of a window. Cumulating windows of one start
// have different ends, and hopping ones too, so the end names it.
func (o *HashAgg) windowBucket(start, end int64) *bucket {
	bk := o.bucketAt(start, end)
	bk.start = start
	return bk
}

func (o *HashAgg) count(partial, null int) {
	if partial > 0 {
		o.rt.Stats.Partial(partial)
	}
	if null > 0 {
		o.rt.Stats.NullTime(null)
	}
}

// Ends of the buckets of closing-column values that are no times.
const (
	endNull   = arrowbatch.MaxTime
	endPosInf = arrowbatch.MaxTime - 1
	endNegInf = arrowbatch.MaxTime - 2
)

// assignByColumn takes the values of the closing column for windows. Rows without
// a time are in buckets that close only with the stream.
func (o *HashAgg) assignByColumn(b *arrowbatch.Batch) {
	v := b.Cols[o.CloseCol]
	o.late = o.late[:0]
	for i, t := range v.I64[:b.Len] {
		end := int64(0)
		switch {
		case v.IsNull(i):
			end = endNull
		case t == arrowbatch.MaxTime:
			end = endPosInf
		case t == arrowbatch.NoTime:
			end = endNegInf
		default:
			if end = t + o.CloseLag; end <= o.w && !o.Keep {
				o.late = append(o.late, int32(i))
				continue
			}
		}
		o.add(o.bucketAt(end-o.CloseLag, end), i)
	}
	o.rt.DropLate(b, o.late, o.CloseCol, o.w)
}

// Resume implements exec.Resumer.
func (o *HashAgg) Resume(w arrowbatch.EventTime) { o.w = w }

// ProcessWatermark closes the windows that end at or before w.
func (o *HashAgg) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	if err := o.replay(); err != nil {
		return w, err
	}
	if o.Horizon != nil && !o.Keep {
		o.Horizon.Store(w)
	}
	if o.Window == nil && o.CloseCol < 0 || o.Keep {
		o.w = w
		return w, nil
	}
	from := o.w
	o.w, o.cur = w, nil
	if o.panes {
		return w, o.closePanes(from, w)
	}
	for _, end := range o.closable(w) {
		bk := o.buckets[end]
		if err := o.close(bk); err != nil {
			return w, err
		}
		o.drop(bk)
	}
	return w, nil
}

// closable returns the ends of the buckets that end at or before w, ascending.
func (o *HashAgg) closable(w arrowbatch.EventTime) []int64 {
	var ends []int64
	for end := range o.buckets {
		if end <= w && end < endNegInf || w == arrowbatch.MaxTime && o.FinalOnly {
			ends = append(ends, end)
		}
	}
	slices.Sort(ends)
	return ends
}

// close emits what a bucket still has to give.
func (o *HashAgg) close(bk *bucket) error {
	if !o.FinalOnly {
		return o.emit(bk)
	}
	return o.emitFinal(bk, bk.start, bk.end)
}

// drop forgets a bucket; its stored keys go with the epoch.
func (o *HashAgg) drop(bk *bucket) {
	delete(o.buckets, bk.end)
	if bk.stored {
		o.dropped = append(o.dropped, bk.end)
	}
	bk.reset()
	if len(o.free) < o.keep() {
		o.free = append(o.free, bk)
	}
}

// ProcessBarrier emits the changed groups and writes them to the epoch's delta.
func (o *HashAgg) ProcessBarrier(bar exec.Barrier) error {
	if err := o.replay(); err != nil {
		return err
	}
	for _, end := range o.ends() {
		bk := o.buckets[end]
		if o.FinalOnly && bar.Final {
			if err := o.emitFinal(bk, bk.start, bk.end); err != nil {
				return err
			}
		} else if err := o.emit(bk); err != nil {
			return err
		}
	}
	if err := o.forget(bar.Now); err != nil {
		return err
	}
	if d := o.rt.Delta(); d != nil {
		if err := o.save(d); err != nil {
			return err
		}
	}
	o.tier.sealed()
	return o.measure()
}

func (o *HashAgg) ends() []int64 {
	ends := make([]int64, 0, len(o.buckets))
	for end := range o.buckets {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	return ends
}

// Close frees the results kept.
func (o *HashAgg) Close() {
	for _, bk := range o.buckets {
		bk.old.Release()
		bk.old = nil
	}
}
