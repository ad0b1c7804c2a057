package kafka

import (
	"context"
	"sync/atomic"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// deadLetters takes what a sink's topic does not: records that the broker refuses, and
// rows of which no record can be made. They go to a topic of their own, in the
// transaction of the rows beside them. A nil one takes nothing.
type deadLetters struct {
	s      *sink
	out    *producer // of the dead letters' topic
	cols   []format.Column
	letter letter // guarded by out's mu
	turn   int    // partition of letters without a key
	taken  atomic.Int64
}

// begins starts the writer's producers.
func (w *writer) begins(ctx context.Context, layouts [topicPlaces]*layout) {
	w.out = w.produce(ctx, ownTopic, layouts[ownTopic])
	if l := layouts[deadLetterTopic]; l != nil {
		d := &deadLetters{s: w.s, out: w.produce(ctx, deadLetterTopic, l),
			cols: connector.FormatColumns(w.s.spec.Columns)}
		d.out.refuse = d.again
		w.dead, w.out.refuse = d, d.record
	}
	if m, ok := w.env.(*letterMaker); ok {
		w.out.refuse = m.again(w)
	}
}

// into sets the transaction that letters go into.
func (d *deadLetters) into(t *transaction) {
	if d != nil {
		d.out.mu.Lock()
		d.out.txn = t
		d.out.mu.Unlock()
	}
}

func (d *deadLetters) flush(ctx context.Context) error {
	if d == nil {
		return nil
	}
	return d.out.flush(ctx)
}

// room waits until there is room for more.
func (d *deadLetters) room(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	return d.out.wait(ctx, func() bool { return int64(d.out.buffered) < d.s.cfg.bufferBytes })
}

func (d *deadLetters) close() {
	if d != nil {
		d.out.close()
	}
}

// record takes a record that the broker refuses. Its value cannot go to a topic that
// may have the same limits: the letter says how long it was.
func (d *deadLetters) record(r *outRecord, why *sqlerr.Error) error {
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	d.letter.begin(r.key, nil, r.headers)
	d.about(why, "")
	d.letter.leaveOut(r.value)
	return d.sendLocked()
}

// row takes row i of a batch, of which no record can be made.
func (d *deadLetters) row(b *arrowbatch.Batch, i int, why *sqlerr.Error) error {
	op := "insert"
	if b.OpAt(i) == arrowbatch.Delete {
		op = "delete"
	}
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	d.letter.begin(nil, format.AppendJSONRow(nil, d.cols, b.Cols, i, nil), nil)
	d.about(why, op)
	if len(d.letter.value) > maxRecord {
		d.letter.leaveOut(d.letter.value)
	}
	return d.sendLocked()
}

// about adds the headers of a letter.
func (d *deadLetters) about(why *sqlerr.Error, op string) {
	l := &d.letter
	l.addText(headerSink, d.s.spec.Name)
	if q := d.s.spec.Query; q != "" {
		l.addText(headerQuery, q)
	}
	l.addText(headerTopic, d.s.cfg.topic)
	if op != "" {
		l.addText(headerOp, op)
	}
	l.addText(headerCode, string(why.Code))
	l.addText(headerReason, connector.ReasonText(why))
	l.addTime(headerTime, clock.Micros(d.s.clk))
}

func (d *deadLetters) sendLocked() error {
	d.taken.Add(1)
	d.putLocked(d.letter.record(d.s.clk.Now().UnixMilli()))
	return nil
}

func (d *deadLetters) putLocked(r *outRecord) {
	n := len(d.out.parts)
	if r.key != nil {
		r.part = partitionOf(r.key, n)
	} else {
		d.turn = (d.turn + 1) % n
		r.part = d.turn
	}
	d.out.addLocked(r.part, r)
	d.out.change.Broadcast()
}

// again sends what is left of a letter that is itself too large, with mu held.
func (d *deadLetters) again(r *outRecord, why *sqlerr.Error) error {
	if !d.letter.shrink(r) {
		return why
	}
	d.putLocked(d.letter.record(r.ms))
	return nil
}

// DeadLetters returns how many rows were sent to the dead letters' topic since the
// last call; it is called when an epoch is prepared.
func (w *writer) DeadLetters() int64 {
	if w.dead == nil {
		return 0
	}
	return w.dead.taken.Swap(0)
}
