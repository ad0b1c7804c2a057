package exec

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
)

// SourceSpec describes the source that a fragment begins with.
type SourceSpec struct {
	// Name is the source's place in the plan, as checkpoints name it.
	Name   string
	Source connector.Source
	// Start has the checkpoint's offsets by split; splits not in it begin at "".
	Start map[string]string
	// Watermarks are the checkpoint's, by watermark operator and split.
	Watermarks map[string]map[string]int64
	// IdleTimeout is after how long without rows a split stops holding the
	// watermark back; 0: never.
	IdleTimeout time.Duration
	// Bad has the records that the source's readers could not decode; nil: there are
	// none. KeepBad is how many of an epoch are to be kept, as Runtime.KeepLate.
	Bad     BadRows
	KeepBad int
	// DeadLetters takes those records; nil: nobody does.
	DeadLetters connector.Sink
}

// splitState is what a source task knows of one of its splits.
type splitState struct {
	id      string
	pump    *pump
	offset  connector.Offset
	bound   bool // stands at the bound of the present pace
	ended   bool
	idle    bool
	lastRow time.Time
	got     bool // rows, in this epoch
	fresh   bool // rows, since the last acknowledgement
	rowAt   time.Time
}

// sourceTask reads the splits of one source and drives a chain with their rows.
type sourceTask struct {
	Task
	spec   SourceSpec
	parts  int
	paces  chan Pace
	out    chan pumped
	splits []*splitState
	now    Pace
	rows   int64
	seen   int // splits, of all tasks
	cut    bool
	pumps  *spawn.Group
	moves  *atomic.Int64    // see Graph
	dead   connector.Writer // nil: nobody takes dead letters
	// waiting counts splits that have yet to reach the bound; -1: no bound.
	waiting int
}

// owns tells whether this task of the source's tasks reads the next new split:
// all tasks see the same splits in the same order and take turns.
func (t *sourceTask) owns() bool {
	t.seen++
	return (t.seen-1)%t.parts == t.part
}

func (t *sourceTask) run(ctx context.Context) error {
	t.newAck()
	defer func() { t.ack.Done() }()
	var pctx context.Context
	t.pumps, pctx = spawn.NewGroup(ctx)
	ctx, cancel := context.WithCancel(pctx)
	defer func() {
		cancel()
		t.drainPumps()
		_ = t.pumps.Wait()
	}()
	t.out = make(chan pumped, edgeCapacity)
	defer t.chain.close()
	if err := t.chain.open(); err != nil {
		return err
	}
	defer t.closeDeadLetters()
	if err := t.openDeadLetters(ctx); err != nil {
		return err
	}
	t.chain.resume(t.saved)
	t.generators()
	for {
		stop, err := t.step(ctx)
		if err != nil || stop {
			return err
		}
	}
}

// drainPumps releases what the pumps had read ahead, so that they can end.
func (t *sourceTask) drainPumps() {
	for {
		select {
		case m := <-t.out:
			m.batch.Release()
		default:
			return
		}
	}
}

// step waits for the next event: rows, a new pace, or a split that falls idle.
func (t *sourceTask) step(ctx context.Context) (stop bool, err error) {
	var paces chan Pace
	if t.waiting <= 0 {
		paces = t.paces
	}
	out := t.out
	if t.waiting == 0 && !t.eager {
		out = nil // between epochs: nothing may enter
	}
	timer, cancel := t.idleTimer()
	defer cancel()
	select {
	case p := <-paces:
		return t.begin(ctx, p)
	case m := <-out:
		return t.take(ctx, m)
	case <-timer:
		t.moves.Add(1)
		t.markIdle()
		return false, t.watermark()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// begin starts a pace.
func (t *sourceTask) begin(ctx context.Context, p Pace) (bool, error) {
	t.now = p
	t.chain.at(max(p.Barrier.Now, t.chain.now))
	t.addSplits(ctx, p.Splits[t.spec.Name])
	if p.Until == nil {
		t.waiting = -1
		return t.endEpoch(ctx)
	}
	t.waiting = 0
	for _, s := range t.splits {
		s.bound = s.ended
		if s.ended {
			continue
		}
		o := order{until: p.Until[t.spec.Name][s.id], maxRows: p.MaxRows}
		t.waiting++
		s.give(o)
	}
	if t.waiting == 0 {
		return t.endEpoch(ctx)
	}
	return false, nil
}

// give replaces the order that the pump has not yet taken.
func (s *splitState) give(o order) {
	select {
	case <-s.pump.orders:
	default:
	}
	s.pump.orders <- o
}

func (t *sourceTask) addSplits(ctx context.Context, splits []connector.Split) {
	added := false
	for _, sp := range splits {
		if !t.owns() {
			continue
		}
		from := connector.Offset(t.spec.Start[sp.ID])
		p := &pump{split: sp, index: len(t.splits), source: t.spec.Source, from: from,
			orders: make(chan order, 1), out: t.out, bad: t.spec.Bad}
		s := &splitState{id: sp.ID, pump: p, offset: from, lastRow: t.clock.Now()}
		t.splits = append(t.splits, s)
		t.pumps.Go("read "+t.spec.Name+"/"+sp.ID, func(context.Context) error { return p.run(ctx) })
		added = true
		if t.eager && t.waiting < 0 {
			s.give(order{follow: true})
		}
	}
	if !added {
		return
	}
	ids := make([]string, len(t.splits))
	for i, s := range t.splits {
		ids[i] = s.id
	}
	for i, w := range t.wms {
		w.Splits(ids, t.spec.Watermarks[t.wmName[i]])
	}
}

// take handles what a pump brought.
func (t *sourceTask) take(ctx context.Context, m pumped) (stop bool, err error) {
	t.works()
	defer t.rests()
	if m.err != nil {
		return false, m.err
	}
	s := t.splits[m.split]
	if m.batch != nil && m.batch.Len > 0 || m.next != "" && m.next != s.offset || m.ended || len(m.bad) > 0 {
		t.moves.Add(1)
	}
	if err := t.leftOut(ctx, m.bad); err != nil {
		m.batch.Release()
		return false, err
	}
	if m.batch != nil && m.batch.Len > 0 {
		t.rows += int64(m.batch.Len)
		m.batch.Split = m.split
		m.batch.Origin = &arrowbatch.Origin{Split: s.id, From: string(s.offset), Until: string(m.next)}
		now := clock.Micros(t.clock)
		if m.batch.Entered == 0 {
			m.batch.Entered = now
		}
		if t.waiting < 0 {
			t.chain.at(max(now, t.chain.now))
		}
		if m.batch.Appended != 0 {
			t.queued.Add(m.batch.Entered-m.batch.Appended, m.batch.Len)
		}
		s.got, s.fresh = true, true
		if t.spec.IdleTimeout > 0 && t.eager {
			s.lastRow = t.clock.Now()
		}
		t.setIdle(m.split, false)
		if err := t.chain.batch(0, m.batch); err != nil {
			return false, err
		}
	} else {
		m.batch.Release()
	}
	if m.next != "" {
		s.offset = m.next
	}
	s.ended = s.ended || m.ended
	if t.waiting < 0 { // no bound: watermarks as they rise
		if m.ended {
			t.setIdle(m.split, true)
		}
		return false, t.watermark()
	}
	if !m.atBound || s.bound {
		return false, nil
	}
	s.bound = true
	t.cut = t.cut || m.cut
	if t.now.Drained && !t.now.Limited[t.spec.Name] && !m.cut || s.ended {
		t.setIdle(m.split, true)
	}
	if t.waiting--; t.waiting > 0 {
		return false, nil
	}
	return t.endEpoch(ctx)
}

// over tells whether the task's splits have ended for good.
func (t *sourceTask) over() bool { return t.ended() && t.spec.Source.Bounded() }

func (t *sourceTask) ended() bool {
	for _, s := range t.splits {
		if !s.ended {
			return false
		}
	}
	return true
}

// endEpoch sends the watermark and the barrier of the present pace.
func (t *sourceTask) endEpoch(ctx context.Context) (bool, error) {
	t.markIdle()
	if err := t.watermark(); err != nil {
		return false, err
	}
	t.fillAck()
	b := t.now.Barrier
	if err := t.chain.barrier(b); err != nil {
		return false, err
	}
	if err := t.prepareDeadLetters(ctx, b); err != nil {
		return false, err
	}
	wasEager := t.eager
	t.eager = b.Eager
	if err := t.sendAck(ctx, b); err != nil || b.Stop {
		return b.Stop, err
	}
	t.waiting = max(t.waiting, 0)
	if t.eager {
		t.waiting = -1
	}
	if t.eager && !wasEager {
		for _, s := range t.splits {
			if !s.ended {
				s.give(order{follow: true})
			}
		}
	}
	return false, nil
}

// watermark passes on what the splits have come to, and then that they have ended.
func (t *sourceTask) watermark() error {
	t.chain.idle = t.allIdle() && !t.steady
	if err := t.chain.watermark(arrowbatch.NoTime); err != nil || !t.over() {
		return err
	}
	return t.chain.watermark(arrowbatch.MaxTime)
}

// allIdle tells whether the task holds nothing back: no split of it does.
func (t *sourceTask) allIdle() bool {
	for _, s := range t.splits {
		if !s.idle {
			return false
		}
	}
	return true
}

func (t *sourceTask) fillAck() {
	t.ack.Source, t.ack.Rows, t.rows = t.spec.Name, t.rows, 0
	t.ack.Ended, t.ack.Cut, t.cut = t.ended(), t.cut, false
	off := map[string]connector.Offset{}
	now := t.clock.Now()
	for _, s := range t.splits {
		off[s.id] = s.offset
		if s.fresh {
			s.rowAt, s.fresh = now, false
		}
		t.ack.Splits = append(t.ack.Splits, SplitReading{ID: s.id, LastRow: s.rowAt, Idle: s.idle, Ended: s.ended})
	}
	t.ack.Offsets = map[string]map[string]connector.Offset{t.spec.Name: off}
}

func (t *sourceTask) setIdle(split int, idle bool) {
	s := t.splits[split]
	if s.idle == idle {
		return
	}
	s.idle = idle
	for _, w := range t.wms {
		w.Idle(split, idle)
	}
}

// idleTimer fires when the next split may have fallen idle. In epochs with a bound
// it is their end that looks.
func (t *sourceTask) idleTimer() (<-chan time.Time, func()) {
	if t.spec.IdleTimeout <= 0 || len(t.wms) == 0 || !t.eager {
		return nil, func() {}
	}
	var next time.Time
	for _, s := range t.splits {
		if due := s.lastRow.Add(t.spec.IdleTimeout); !s.idle && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	if next.IsZero() {
		return nil, func() {}
	}
	return t.clock.After(next.Sub(t.clock.Now()))
}

// markIdle marks the splits that have had no rows for as long as the timeout. A
// split whose rows of an epoch were read early waits for the others, which is no
// idleness: its time begins with the epoch's end.
func (t *sourceTask) markIdle() {
	if t.spec.IdleTimeout <= 0 {
		return
	}
	now := t.clock.Now()
	for i, s := range t.splits {
		if s.got && !t.eager {
			s.lastRow = now
		}
		s.got = false
		if !s.idle && now.Sub(s.lastRow) >= t.spec.IdleTimeout {
			t.setIdle(i, true)
		}
	}
}
