package operator

import (
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// SessionAgg groups rows by key and session. A row spans [time, time+gap); spans of
// a key that overlap or touch are one session. A session is closed when its end is
// at or before the watermark, and is not opened again: a row that is in time and
// touches a closed session begins a new one. A row is late when its own span ends
// at or before the watermark.
//
// Each session has a number, which is its entry in the accumulators. When sessions
// merge, the one that goes leaves its number dead; dead numbers are reclaimed by
// rebuilding when they are the majority.
type SessionAgg struct {
	KeyCols  []int
	KeyTypes []types.Type
	Aggs     []AggCall
	Out      []OutCol
	OutTypes []types.Type
	TimeCol  int
	Gap      expr.Expr
	// FinalOnly: emit closed sessions only. Keep: sessions are never closed and
	// nothing is late (complete mode).
	FinalOnly, Keep bool
	// Budget is how many bytes of sessions may be held in memory; nil: any number. It is
	// asked at barriers.
	Budget func() int

	rt        *exec.Runtime
	out       exec.Output
	keyShapes []arrowbatch.Shape
	aggShapes []arrowbatch.Shape
	outShapes []arrowbatch.Shape

	w      arrowbatch.EventTime
	groups *state.Groups
	head   []int32 // by group: first session, -1 for none
	saving []bool  // by group: in save
	save   []int32
	s      []session
	accs   []aggregate.Acc
	open   int // sessions that are not dead
	// ends has the sessions by an end that they had, in buckets; a session that has
	// grown since is put into a later one when its bucket is due.
	ends map[int64][]int32

	tier    *tier // nil: sessions stay in memory
	ages    ages  // of groups
	away    bool  // the store has groups that are not here
	index   dueIndex
	indexed []int64 // by group: its time in the index, MaxTime for none
	saved   state.KeyList

	changed []int32 // sessions to emit
	old     *arrowbatch.Batch
	oldSpan []spanOf

	ids, sids, rows []int32
	fresh, late     []int32
	merges          [][2]int32
	keyVecs         []*arrowbatch.Vec
	args            [][]*arrowbatch.Vec
	buf             []byte
}

// session is one session of a group.
type session struct {
	start, end int64
	group      int32
	next       int32 // next session of the group, -1 for none
	into       int32 // where it went when it was merged, -1: it is there
	old        int32 // row of old with what was emitted, -1 for none
	flags      byte
}

// dead marks a session that was merged or closed.
const dead byte = 1 << 7

// spanOf is the span of a group's session.
type spanOf struct {
	group      int32
	start, end int64
}

// endBits sets how long a bucket of ends is: 2^17 µs, about an eighth of a second.
const endBits = 17

// Open restores the open sessions.
func (o *SessionAgg) Open(rt *exec.Runtime, out exec.Output) error {
	o.rt, o.out, o.w = rt, out, arrowbatch.NoTime
	for _, t := range o.KeyTypes {
		o.keyShapes = append(o.keyShapes, t.Shape())
	}
	for _, t := range o.OutTypes {
		o.outShapes = append(o.outShapes, t.Shape())
	}
	for i := range o.Aggs {
		c := &o.Aggs[i]
		o.aggShapes = append(o.aggShapes, c.Result.Shape())
		o.args = append(o.args, make([]*arrowbatch.Vec, len(c.Cols)))
	}
	o.keyVecs = make([]*arrowbatch.Vec, len(o.KeyCols))
	o.groups = state.NewGroups(o.keyShapes)
	o.old, o.ends = arrowbatch.NewLike(o.aggShapes), map[int64][]int32{}
	var err error
	if o.accs, err = o.newAccs(); err != nil || rt.Store == nil {
		return err
	}
	if len(o.KeyCols) > 0 {
		o.tier = newTier(rt, o.Budget)
	}
	return o.restore()
}

func (o *SessionAgg) newAccs() ([]aggregate.Acc, error) {
	var accs []aggregate.Acc
	for _, c := range o.Aggs {
		a, err := aggregate.New(c.Call)
		if err != nil {
			return nil, err
		}
		if c.Distinct {
			a = aggregate.Distinct(a, c.Call)
		}
		accs = append(accs, a)
	}
	return accs, nil
}

// ProcessBatch takes rows into their sessions.
func (o *SessionAgg) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	gap := o.Gap.Eval(o.rt.Eval, b, nil)
	defer gap.Release()
	var failed []expr.RowError
	if o.rt.Eval.Failed() {
		failed = o.rt.Eval.TakeErrors()
		if err := o.rt.Fail(o.rt, b, failed); err != nil {
			return err
		}
	}
	for i, c := range o.KeyCols {
		o.keyVecs[i] = b.Cols[c]
	}
	o.pick(b, gap)
	o.ids = resizeIDs(o.ids, len(o.rows))
	from := o.groups.Len()
	o.groups.Lookup(o.keyVecs, o.rows, o.ids)
	o.grow()
	if o.away {
		if err := o.fetch(from); err != nil {
			return err
		}
	}
	o.place(b.Cols[o.TimeCol], gap)
	o.keepOld()
	if err := o.merge(); err != nil {
		return err
	}
	for k, id := range o.sids {
		o.sids[k] = o.resolve(id)
	}
	for i := range o.Aggs {
		o.update(i, b)
	}
	if o.rt.Eager && !o.FinalOnly {
		return o.emit()
	}
	return nil
}

// gapMicros returns the gap of a row in microseconds, at most MaxTime; 0 or less: the
// row is in no session.
func gapMicros(v *arrowbatch.Vec, i int) int64 {
	if v.IsNull(i) {
		return 0
	}
	x := v.Ivl[i]
	days := int64(x.Months)*30 + int64(x.Days)
	switch days = min(max(days, -maxGapDays), maxGapDays); {
	case x.Micros > arrowbatch.MaxTime-days*microsPerDay && days > 0:
		return arrowbatch.MaxTime
	case x.Micros < arrowbatch.NoTime-days*microsPerDay && days < 0:
		return 0
	}
	return days*microsPerDay + x.Micros
}

const (
	microsPerDay = 86400_000_000
	maxGapDays   = arrowbatch.MaxTime / microsPerDay // as many as microseconds can count
)

// pick sets rows to the rows of the batch that are in a session.
func (o *SessionAgg) pick(b *arrowbatch.Batch, gap *arrowbatch.Vec) {
	o.rows = o.rows[:0]
	t := b.Cols[o.TimeCol]
	o.late = o.late[:0]
	null := 0
	for i := range b.Len {
		g := gapMicros(gap, i)
		switch {
		case t.IsNull(i) || g > 0 && !spans(t.I64[i], g) || !usable(t.I64[i]):
			null++
		case g <= 0: // it has a time, and asks for no session
		case !o.Keep && t.I64[i]+g <= o.w:
			o.late = append(o.late, int32(i))
		default:
			o.rows = append(o.rows, int32(i))
		}
	}
	o.rt.DropLate(b, o.late, o.TimeCol, o.w)
	if null > 0 {
		o.rt.Stats.NullTime(null)
	}
}

// place finds or makes the session of each row, in order, and notes which ones grow
// together.
func (o *SessionAgg) place(t, gap *arrowbatch.Vec) {
	o.sids = resizeIDs(o.sids, len(o.rows))
	for k, i := range o.rows {
		start := t.I64[i]
		o.sids[k] = o.placeRow(o.ids[k], start, start+gapMicros(gap, int(i)))
	}
}

func (o *SessionAgg) placeRow(group int32, start, end int64) int32 {
	found := int32(-1)
	for p := &o.head[group]; *p >= 0; {
		id := *p
		s := &o.s[id]
		if start > s.end || end < s.start {
			p = &s.next
			continue
		}
		if found < 0 {
			found = id
			if start < s.start || end > s.end {
				o.touch(id)
				s.start, s.end = min(s.start, start), max(s.end, end)
			}
			p = &s.next
			continue
		}
		// The row's span joins a second session to the first.
		o.touch(found)
		o.touch(id)
		f := &o.s[found]
		f.start, f.end = min(f.start, s.start), max(f.end, s.end)
		o.merges = append(o.merges, [2]int32{id, found})
		*p = s.next
		s.into = found
		s.flags |= dead
		o.open--
	}
	if found < 0 {
		found = o.newSession(group, start, end)
	}
	o.touch(found)
	return found
}

func (o *SessionAgg) newSession(group int32, start, end int64) int32 {
	id := int32(len(o.s))
	o.s = append(o.s, session{start: start, end: end, group: group, next: o.head[group], into: -1, old: -1})
	o.head[group] = id
	for _, a := range o.accs {
		a.Grow(len(o.s))
	}
	if !o.Keep {
		o.ends[end>>endBits] = append(o.ends[end>>endBits], id)
	}
	o.open++
	return id
}

// touch notes that a session changes, and where it was emitted, as it was then.
func (o *SessionAgg) touch(id int32) {
	s := &o.s[id]
	o.touchGroup(s.group)
	if s.flags&toEmit != 0 || o.FinalOnly {
		return
	}
	s.flags |= toEmit
	o.changed = append(o.changed, id)
	if s.flags&emitted != 0 {
		s.old = int32(len(o.oldSpan))
		o.oldSpan = append(o.oldSpan, spanOf{s.group, s.start, s.end})
		o.fresh = append(o.fresh, id)
	}
}

// touchGroup notes that a group is to be saved.
func (o *SessionAgg) touchGroup(g int32) {
	if !o.saving[g] && o.rt.Store != nil {
		o.saving[g] = true
		o.save = append(o.save, g)
	}
}

// keepOld computes the results that the sessions touched first in this batch had.
func (o *SessionAgg) keepOld() {
	if len(o.fresh) == 0 {
		return
	}
	for i, a := range o.accs {
		a.Result(o.fresh, o.old.Cols[i], func(int, *sqlerr.Error) {})
	}
	o.old.Len += len(o.fresh)
	o.fresh = o.fresh[:0]
}

// merge adds the states of sessions that went into others.
func (o *SessionAgg) merge() error {
	for _, m := range o.merges {
		for _, a := range o.accs {
			o.buf = a.Append(o.buf[:0], m[0])
			if _, err := a.Merge(m[1], o.buf); err != nil {
				return err
			}
		}
	}
	o.merges = o.merges[:0]
	return nil
}

func (o *SessionAgg) resolve(id int32) int32 {
	for o.s[id].into >= 0 {
		id = o.s[id].into
	}
	return id
}

func (o *SessionAgg) update(i int, b *arrowbatch.Batch) {
	c := &o.Aggs[i]
	for k, col := range c.Cols {
		o.args[i][k] = b.Cols[col]
	}
	ids, rows := o.sids, o.rows
	if c.Filter >= 0 {
		v := b.Cols[c.Filter]
		var fi, fr []int32
		for k, r := range rows {
			if !v.IsNull(int(r)) && v.Bits.Get(int(r)) {
				fi, fr = append(fi, ids[k]), append(fr, r)
			}
		}
		ids, rows = fi, fr
	}
	if len(ids) > 0 {
		o.accs[i].Update(ids, rows, o.args[i], nil)
	}
}

// Resume implements exec.Resumer.
func (o *SessionAgg) Resume(w arrowbatch.EventTime) { o.w = w }

// ProcessWatermark closes the sessions that end at or before w.
func (o *SessionAgg) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	o.w = w
	if o.Keep {
		return w, nil
	}
	if err := o.closeAway(w); err != nil {
		return w, err
	}
	return w, o.closeHere(w)
}

// closeHere closes those in memory.
func (o *SessionAgg) closeHere(w arrowbatch.EventTime) error {
	closed := o.due(w)
	if len(closed) == 0 {
		return nil
	}
	if err := o.close(closed); err != nil {
		return err
	}
	return o.reclaim()
}

// due takes the sessions that end at or before w out of their buckets.
func (o *SessionAgg) due(w arrowbatch.EventTime) []int32 {
	var at []int64
	for k := range o.ends {
		if k <= w>>endBits {
			at = append(at, k)
		}
	}
	slices.Sort(at)
	var closed []int32
	for _, k := range at {
		ids := o.ends[k]
		stay := ids[:0]
		for _, id := range ids {
			switch s := &o.s[id]; {
			case s.flags&dead != 0:
			case s.end <= w:
				closed = append(closed, id)
			case s.end>>endBits == k:
				stay = append(stay, id)
			default:
				o.ends[s.end>>endBits] = append(o.ends[s.end>>endBits], id)
			}
		}
		if len(stay) == 0 {
			delete(o.ends, k)
		} else {
			o.ends[k] = stay
		}
	}
	return closed
}

func (o *SessionAgg) close(ids []int32) error {
	if !o.FinalOnly {
		if err := o.emit(); err != nil {
			return err
		}
	} else if err := o.emitFinal(ids); err != nil {
		return err
	}
	for _, id := range ids {
		s := &o.s[id]
		o.touchGroup(s.group)
		for p := &o.head[s.group]; *p >= 0; p = &o.s[*p].next {
			if *p == id {
				*p = s.next
				break
			}
		}
		s.flags |= dead
		o.open--
	}
	return nil
}

// ProcessBarrier emits what changed and saves the groups that changed.
func (o *SessionAgg) ProcessBarrier(bar exec.Barrier) error {
	if o.FinalOnly && bar.Final {
		if err := o.closeAway(arrowbatch.MaxTime); err != nil {
			return err
		}
		var all []int32
		for id := range o.s {
			if o.s[id].flags&dead == 0 {
				all = append(all, int32(id))
			}
		}
		if err := o.close(all); err != nil {
			return err
		}
	}
	if err := o.emit(); err != nil {
		return err
	}
	if d := o.rt.Delta(); d != nil {
		o.saveGroups(d)
	}
	o.tier.sealed()
	if err := o.spill(); err != nil {
		return err
	}
	if err := o.reclaim(); err != nil {
		return err
	}
	o.rt.Stats.State(o.open, o.bytes())
	o.rt.Stats.Due(o.nextClose())
	return nil
}

// bytes is about the memory of the state.
func (o *SessionAgg) bytes() int {
	size := o.groups.Bytes() + cap(o.s)*40 + (cap(o.head)+cap(o.save)+cap(o.ages))*4 + cap(o.saving) + cap(o.indexed)*8
	for _, a := range o.accs {
		size += aggregate.Bytes(a)
	}
	for _, ids := range o.ends {
		size += cap(ids) * 4
	}
	return size
}

// Close frees the results kept.
func (o *SessionAgg) Close() {
	o.old.Release()
	o.old = nil
}
