package kafka

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/endtxn"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// lockRows is how many rows are encoded between two looks at what was
// acknowledged.
const lockRows = 256

// writer writes the rows of one part of the sink.
type writer struct {
	s      *sink
	env    recordMaker
	out    *producer
	sticky int // partition of records without a key, changed every lockRows
	// dead takes what the topic cannot: a producer of the dead letters' topic; nil: the
	// sink has none. Its mu is taken behind out's.
	dead *deadLetters

	// Exactly once only. txns are used in turn; epoch is the one being written.
	part  int
	txns  [2]*transaction
	last  int // index of the transaction used last
	epoch connector.Epoch
}

// Write encodes the rows and lets them go; it waits while the buffers are full.
func (w *writer) Write(ctx context.Context, b *arrowbatch.Batch) error {
	if b.Len == 0 {
		return nil
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	ms := w.s.clk.Now().UnixMilli()
	w.env.begin(b)
	for i := 0; i < b.Len; {
		w.out.mu.Lock()
		err := w.out.wait(ctx, func() bool { return int64(w.out.buffered) < w.s.cfg.bufferBytes })
		if err == nil {
			w.sticky = (w.sticky + 1) % len(w.out.parts)
			i, err = w.rows(b, i, min(i+lockRows, b.Len), ms)
			w.out.change.Broadcast()
		}
		w.out.mu.Unlock()
		if err == nil {
			err = w.dead.room(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rows gives rows lo to hi-1 to their partitions and returns the next one. A row of
// which no record can be made is a dead letter, if there may be such. With the
// producer's mu held.
func (w *writer) rows(b *arrowbatch.Batch, lo, hi int, ms int64) (next int, err error) {
	for next = lo; next < hi; {
		next, err = w.env.rows(b, next, hi, func(r *outRecord) error { return w.put(r, ms) })
		if err == nil || w.dead == nil {
			return next, err
		}
		why := sqlerr.From(err)
		if why.Code == sqlerr.InternalError {
			return next, err
		}
		if err := w.dead.row(b, next, why); err != nil {
			return next, err
		}
		next++
	}
	return next, nil
}

// put gives a record to its partition. With the producer's mu held.
func (w *writer) put(r *outRecord, now int64) error {
	n := len(w.out.parts)
	if r.ms < 0 {
		r.ms = now
	}
	switch {
	case len(r.key)+len(r.value)+len(r.headers) > maxRecord:
		why := recordTooLarge(r, w.s.cfg.topic)
		if w.out.refuse == nil {
			return why
		}
		return w.out.refuse(r, why)
	case r.part >= n:
		return sqlerr.New(sqlerr.NumericValueOutOfRange, `a row is for partition %d of topic "%s", which has %d`, r.part,
			w.s.cfg.topic, n).AsPermanent()
	case r.part >= 0:
	case r.key != nil:
		r.part = partitionOf(r.key, n)
	default:
		r.part = w.sticky
	}
	w.out.addLocked(r.part, r)
	return nil
}

// begin makes sure that there is a transaction for the rows to go into: the other
// one than the last, which may still be on its way to be committed. It waits for
// the epoch before the last.
func (w *writer) begin(ctx context.Context) error {
	if !w.s.cfg.exactly || w.out.txn != nil {
		return nil
	}
	next := 1 - w.last
	t := w.txns[next]
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	if err := w.out.wait(ctx, func() bool { return t.state == txnIdle }); err != nil {
		return err
	}
	t.state, t.epoch, t.pieces, t.bytes, t.kept = txnOpen, w.epoch, 0, 0, w.s.spec.Outbox != nil
	w.last, w.out.txn = next, t
	w.dead.into(t)
	return nil
}

// produce starts a producer for one of the sink's topics.
func (w *writer) produce(ctx context.Context, place topicPlace, l *layout) *producer {
	cl := w.s.topics[place]
	out := newProducer(ctx, cl, w.s.cfg, w.s.status, l)
	out.place = place
	if w.s.cfg.exactly {
		out.admit = func(t *transaction, parts []int32) error {
			return out.lostTxn(t, w.s.addPartitions(out.ctx, cl.topic, t.id, t.who, parts))
		}
		out.kept = func(t *transaction, part int32, raw []byte) error { return w.keep(t, place, part, raw) }
	}
	return out
}

// keep puts a batch that the broker has taken into the outbox. An epoch that is
// larger than the outbox may be is not kept at all.
func (w *writer) keep(t *transaction, place topicPlace, part int32, raw []byte) error {
	head := uint32(part)
	if place == deadLetterTopic {
		head |= pieceDead
	}
	w.out.mu.Lock()
	t.bytes += int64(len(raw))
	kept, number := t.kept, t.pieces
	if kept && t.bytes > w.s.cfg.outbox {
		t.kept, t.pieces = false, 0
	} else if kept {
		t.pieces++
	}
	still := t.kept
	w.out.mu.Unlock()
	switch {
	case still:
		return w.s.spec.Outbox.Put(w.part, uint64(t.epoch), number, binary.BigEndian.AppendUint32(nil, head), raw)
	case kept:
		return w.s.spec.Outbox.Remove(w.part, uint64(t.epoch), number)
	}
	return nil
}

// Prepare waits until all in-sync replicas have every row and, exactly once,
// returns what it takes to commit the transaction.
func (w *writer) Prepare(ctx context.Context, e connector.Epoch) ([]byte, error) {
	if err := w.out.flush(ctx); err != nil {
		return nil, err
	}
	// What the topic did not take is all there by now.
	if err := w.dead.flush(ctx); err != nil {
		return nil, err
	}
	if !w.s.cfg.exactly {
		return nil, nil
	}
	t := w.out.txn
	if t == nil {
		w.epoch = e + 1
		return nil, nil
	}
	if e != w.epoch {
		return nil, sqlerr.Internal("kafka: epoch %d is prepared as epoch %d", w.epoch, e)
	}
	w.epoch = e + 1
	if err := w.out.lostTxn(t, w.s.mark(ctx, w.s.group(w.part), t.id, t.who, int64(e))); err != nil {
		return nil, err
	}
	w.out.mu.Lock()
	t.state, w.out.txn = txnPrepared, nil
	w.dead.into(nil)
	p := prepared{Part: w.part, ID: t.id, PID: t.who.id, Epoch: t.who.epoch, Pieces: t.pieces, Kept: t.kept}
	w.out.mu.Unlock()
	return json.Marshal(p)
}

// lostTxn turns the broker's answer that a transaction is lost into the error that
// ends the run.
func (p *producer) lostTxn(t *transaction, err error) error {
	if code, ok := lost(err); ok {
		return t.lostError(code)
	}
	return err
}

// committed asks for the next identity of a transaction whose epoch is committed,
// and then lets it be used again.
func (w *writer) committed(id string) {
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	if w.out.ctx.Err() != nil {
		return
	}
	for _, t := range w.txns {
		if t.id == id && t.state == txnPrepared {
			w.out.goes("kafka next transaction", func() error { return w.renew(t) })
		}
	}
}

func (w *writer) renew(t *transaction) error {
	who, err := w.s.newIdentity(w.out.ctx, t.id, t.who)
	if w.out.ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return w.out.lostTxn(t, err)
	}
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	t.state, t.who = txnIdle, who
	for _, on := range t.on { // no producer has the transaction now
		clear(on.next)
		clear(on.admitted)
	}
	w.out.change.Broadcast()
	return nil
}

// abortTime is how long Close waits for the broker to abort what is open. If it
// does not, that holds up readers until the transaction's time is over or the next
// run takes the id over.
const abortTime = time.Second

// Close drops what was not prepared. A prepared transaction stays: its epoch may
// be in a checkpoint.
func (w *writer) Close() error {
	w.out.close()
	w.dead.close()
	w.env.close()
	if !w.s.cfg.exactly {
		return nil
	}
	w.s.mu.Lock()
	delete(w.s.writers, w.part)
	w.s.mu.Unlock()
	if t := w.out.txn; t != nil && len(t.on[ownTopic].admitted)+len(t.on[deadLetterTopic].admitted) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), abortTime)
		defer cancel()
		_, _ = w.s.askOnce(ctx, txnCoordinator, t.id, &endtxn.Request{TransactionalID: t.id, ProducerID: t.who.id,
			ProducerEpoch: t.who.epoch}, func(m protocol.Message) int16 { return m.(*endtxn.Response).ErrorCode })
	}
	return nil
}
