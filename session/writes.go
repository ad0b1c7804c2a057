package session

import (
	"errors"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/state"
)

// write is one change of a relation, kept in a block so that ROLLBACK TO can
// replay what came before its savepoint. The batches are references.
type write struct {
	rel      *state.Relation
	op       WriteOp
	key      []byte
	old, new *arrowbatch.Batch
	j, i     int // rows of old and new
}

// do makes one change of the transaction.
func (t *tx) do(w write) error {
	if err := w.apply(t.txn()); err != nil {
		return err
	}
	if t.block {
		w.old, w.new = t.keep(w.old), t.keep(w.new)
		t.log = append(t.log, w)
	}
	return nil
}

func (w *write) apply(txn *state.Txn) error {
	switch w.op {
	case OpInsert:
		return txn.Insert(w.rel, w.new, w.i)
	case OpDelete:
		return txn.Delete(w.rel, w.key, w.old, w.j)
	}
	return txn.Replace(w.rel, w.key, w.old, w.j, w.new, w.i)
}

// keep returns a reference to b that lasts until the transaction's end. The
// rows of a batch come one after the other, so one reference does for them all.
func (t *tx) keep(b *arrowbatch.Batch) *arrowbatch.Batch {
	if b == nil {
		return nil
	}
	for i := len(t.kept) - 1; i >= 0 && i >= len(t.kept)-2; i-- {
		if t.kept[i].of == b {
			return t.kept[i].ref
		}
	}
	k := keptBatch{b, b.Share()}
	t.kept = append(t.kept, k)
	return k.ref
}

// keptBatch is a batch as it was given, never to be read again, and the
// transaction's own reference to its columns.
type keptBatch struct{ of, ref *arrowbatch.Batch }

func (t *tx) dropLog() {
	for _, k := range t.kept {
		k.ref.Release()
	}
	t.kept, t.log = nil, nil
}

// replay makes the writes anew up to n entries of the log.
func (t *tx) replay(n int) error {
	t.log = t.log[:n]
	if t.writes == nil {
		return nil
	}
	t.writes.Rollback()
	t.writes = t.s.srv.Store.Begin()
	for i := range t.log {
		if err := t.log[i].apply(t.writes); err != nil {
			if errors.Is(err, state.ErrDuplicate) {
				return sqlerr.New(sqlerr.SerializationFailure, "could not serialize access due to concurrent update")
			}
			return err
		}
	}
	return nil
}
