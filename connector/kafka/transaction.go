package kafka

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// transaction is one transactional id of a part with the transaction under it. A
// part has two and uses them in turn, so that an epoch is written while the one
// before is committed. Each transaction has an identity of its own: to commit an
// epoch again after a crash must not commit what came later under the id.
type transaction struct {
	id  string
	who identity
	// state is guarded by the mu of the producer of the sink's topic, on by that of the
	// topic's own.
	state txnState
	on    [topicPlaces]onTopic

	// What the outbox has of the epoch; see writer.keep.
	epoch  connector.Epoch
	pieces uint64
	bytes  int64
	kept   bool
}

type txnState uint8

const (
	txnIdle     txnState = iota
	txnOpen              // rows go into it
	txnPrepared          // complete, to be committed and to get the next identity
)

// topicPlace numbers the topics that a transaction may write to.
type topicPlace int

const (
	ownTopic        topicPlace = iota // the sink's topic
	deadLetterTopic                   // that of its dead letters
	topicPlaces
)

// onTopic is the part of a transaction that is on one topic.
type onTopic struct {
	next     map[int32]int32 // by partition: the sequence number of the next record
	admitted map[int32]bool  // the partitions in it
}

func newTransaction(id string) *transaction {
	t := &transaction{id: id}
	for i := range t.on {
		t.on[i] = onTopic{next: map[int32]int32{}, admitted: map[int32]bool{}}
	}
	return t
}

// number gives a batch its sequence number, the first time that it is sent.
func (t *onTopic) number(part int32, b *outBatch) {
	if b.seq < 0 {
		b.seq = t.next[part]
		t.next[part] = nextSequence(b.seq, b.count)
	}
}

// lostError ends a run whose transaction is lost; the next one writes the epoch
// again.
func (t *transaction) lostError(code kafkago.Error) error {
	return sqlerr.New(sqlerr.ConnectionFailure, `the broker has given up transaction "%s": %s`, t.id, describe(code)).
		WithDetail("It took longer than transaction_timeout, or another program uses the same transactional id. " +
			"The epoch is written again.")
}

// prepared is what Commit needs of a part's epoch, in the checkpoint.
type prepared struct {
	Part  int    `json:"part"`
	ID    string `json:"id"`
	PID   int64  `json:"pid"`
	Epoch int16  `json:"producer_epoch"`
	// Pieces in the outbox; Kept is false where the epoch was too large for it.
	Pieces uint64 `json:"pieces"`
	Kept   bool   `json:"kept"`
}

// transactionalID is the id of one of a part's two transactions; group is where
// both mark their epochs.
func (s *sink) transactionalID(part, i int) string { return fmt.Sprintf("%s-%d", s.group(part), i) }

func (s *sink) group(part int) string {
	return fmt.Sprintf("%s-%s-%d", s.cfg.prefix, s.spec.Identity, part)
}

// takeOver ends what an earlier run has left open under a part's ids and returns
// the transactions to go on with.
func (s *sink) takeOver(ctx context.Context, part int) (txns [2]*transaction, err error) {
	for i := range txns {
		t := newTransaction(s.transactionalID(part, i))
		if t.who, err = s.initProducer(ctx, t.id); err != nil {
			return txns, err
		}
		txns[i] = t
	}
	return txns, nil
}

// Commit makes an epoch visible. It is called for an epoch of this run by its
// coordinator, and for one of an earlier run before the first Open.
func (s *sink) Commit(ctx context.Context, e connector.Epoch, parts [][]byte) error {
	for _, raw := range parts {
		var p prepared
		if err := json.Unmarshal(raw, &p); err != nil {
			return sqlerr.Wrap(err, sqlerr.DataCorrupted, "the prepared output of a kafka sink is damaged")
		}
		err := s.endTxn(ctx, p.ID, identity{id: p.PID, epoch: p.Epoch}, true)
		if code, ok := lost(err); ok {
			if w := s.writer(p.Part); w != nil {
				// Rows of the next epoch are in the topic already: only a run that begins anew
				// keeps the order.
				return (&transaction{id: p.ID}).lostError(code)
			}
			err = s.again(ctx, e, &p, code)
		}
		if err != nil {
			return err
		}
		if p.Pieces > 0 && s.spec.Outbox != nil {
			if err := s.spec.Outbox.Remove(p.Part, uint64(e), p.Pieces); err != nil {
				return err
			}
		}
		if w := s.writer(p.Part); w != nil {
			w.committed(p.ID)
		}
	}
	return nil
}

// again settles an epoch whose transaction the broker no longer knows as it was
// prepared: it was committed after all and the id taken over since, or it was
// aborted, and is written again from the outbox.
func (s *sink) again(ctx context.Context, e connector.Epoch, p *prepared, code kafkago.Error) error {
	// Nothing that an earlier run began can come to an end after this.
	txns, err := s.takeOver(ctx, p.Part)
	if err != nil {
		return err
	}
	at, err := s.marker(ctx, s.group(p.Part))
	switch {
	case err != nil:
		return err
	case at == int64(e):
		return nil
	case at > int64(e):
		return s.ahead(e, at)
	case at < 0 && code == kafkago.InvalidProducerIDMapping:
		return sqlerr.New(sqlerr.DataCorrupted, `it cannot be told whether epoch %d was written to topic "%s"`,
			e, s.cfg.topic).
			WithDetail(`The broker has forgotten transactional id "%s" and group "%s".`, p.ID, s.group(p.Part)).
			WithHint("See whether the topic has the epoch's rows, then drop the sink and create it again.").AsPermanent()
	case !p.Kept || s.spec.Outbox == nil:
		return sqlerr.New(sqlerr.DataCorrupted, `epoch %d is lost to topic "%s": its transaction was aborted, `+
			`and its output was too large to be kept`, e, s.cfg.topic).
			WithDetail("The sink was away for longer than transaction_timeout.").
			WithHint("Drop the sink and create it again; raise outbox_max_bytes or transaction_timeout.").AsPermanent()
	}
	return s.rewrite(ctx, e, p, txns[0])
}

func (s *sink) ahead(e connector.Epoch, at int64) error {
	return sqlerr.New(sqlerr.ObjectNotInState,
		`topic "%s" has epoch %d of this sink, whose last checkpoint is of epoch %d`, s.cfg.topic, at, e).
		WithDetail("The data directory is an older copy, or another server runs on a copy of it.").
		WithHint("Drop the sink and create it again; rows after the checkpoint would be written twice.").AsPermanent()
}

// rewrite writes an epoch from the outbox in a new transaction and commits it.
func (s *sink) rewrite(ctx context.Context, e connector.Epoch, p *prepared, t *transaction) error {
	outs, err := s.rewriters(ctx, t)
	for _, out := range outs {
		if out != nil {
			defer out.close()
		}
	}
	if err != nil {
		return err
	}
	n := uint64(0)
	err = s.spec.Outbox.Each(p.Part, uint64(e), func(piece []byte) error {
		place, part, b, err := readPiece(piece)
		if err != nil {
			return err
		}
		out := outs[place]
		if out == nil {
			return sqlerr.New(sqlerr.UndefinedObject, "epoch %d has dead letters, for which there is no topic", e).AsPermanent()
		}
		if part >= len(out.parts) {
			return sqlerr.New(sqlerr.UndefinedObject, `topic "%s" has %d partitions, epoch %d was written to partition %d`,
				out.cl.topic, len(out.parts), e, part).AsPermanent()
		}
		n++
		out.mu.Lock()
		defer out.mu.Unlock()
		out.appendLocked(part, b)
		return out.wait(ctx, func() bool { return int64(out.buffered) < s.cfg.bufferBytes })
	})
	if err == nil && n != p.Pieces {
		err = sqlerr.New(sqlerr.DataCorrupted, "the outbox has %d of %d batches of epoch %d", n, p.Pieces, e)
	}
	for _, out := range outs {
		if err == nil && out != nil {
			err = out.flush(ctx)
		}
	}
	if err == nil {
		err = s.mark(ctx, s.group(p.Part), t.id, t.who, int64(e))
	}
	if err == nil {
		err = s.endTxn(ctx, t.id, t.who, true)
	}
	if code, ok := lost(err); ok {
		return t.lostError(code)
	}
	return err
}

// rewriters starts a producer for each of the sink's topics, in the transaction.
func (s *sink) rewriters(ctx context.Context, t *transaction) (outs [topicPlaces]*producer, err error) {
	for place, cl := range s.topics {
		if cl == nil {
			continue
		}
		l, err := s.find(ctx, cl)
		if err != nil {
			return outs, err
		}
		out := newProducer(ctx, cl, s.cfg, s.status, l)
		out.place, out.txn = topicPlace(place), t
		out.admit = func(t *transaction, parts []int32) error {
			return s.addPartitions(out.ctx, cl.topic, t.id, t.who, parts)
		}
		outs[place] = out
	}
	return outs, nil
}

// A piece of the outbox is the partition's number, with the highest bit where it is one
// of the dead letters' topic, and the record set.
const (
	pieceHead = 4
	pieceDead = 1 << 31
)

func readPiece(piece []byte) (place topicPlace, part int, b *outBatch, err error) {
	if len(piece) < pieceHead {
		return 0, 0, nil, sqlerr.New(sqlerr.DataCorrupted, "a record batch in the outbox is cut off")
	}
	b, err = storedBatch(piece[pieceHead:])
	n := binary.BigEndian.Uint32(piece)
	if n&pieceDead != 0 {
		place = deadLetterTopic
	}
	return place, int(n &^ pieceDead), b, err
}

// Abort forgets what was prepared after an epoch that is committed, or whose
// commit had nothing to do. What is open at the broker ends when Open takes the
// ids over.
func (s *sink) Abort(_ context.Context, after connector.Epoch) error {
	s.after, s.resumed = after, true
	if s.spec.Outbox == nil || !s.cfg.exactly {
		return nil
	}
	return s.spec.Outbox.Clear()
}
