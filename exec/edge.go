package exec

import (
	"context"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// edge connects one task to the tasks of a downstream fragment. Batches go to one
// of them (by hash of the key columns, or all to the only one) or, as broadcast,
// to all; watermarks and barriers go to all.
type edge struct {
	ctx       context.Context
	sender    int
	to        []chan message
	keys      []int
	broadcast bool
	from      *chain // the sender's
	hashes    []uint64
	rows      [][]int32
}

// Emit sends the batch on.
func (e *edge) Emit(b *arrowbatch.Batch) error {
	if b.Len == 0 {
		b.Release()
		return nil
	}
	e.from.carry(b)
	if len(e.to) == 1 {
		return e.send(e.to[0], b)
	}
	if e.broadcast {
		for _, ch := range e.to[1:] {
			if err := e.send(ch, b.Share()); err != nil {
				return err
			}
		}
		return e.send(e.to[0], b)
	}
	return e.hash(b)
}

// hash splits the batch by the vnode of its keys.
func (e *edge) hash(b *arrowbatch.Batch) error {
	defer b.Release()
	cols := make([]*arrowbatch.Vec, len(e.keys))
	for i, k := range e.keys {
		cols[i] = b.Cols[k]
	}
	if cap(e.hashes) < b.Len {
		e.hashes = make([]uint64, b.Len)
	}
	e.hashes = e.hashes[:b.Len]
	state.HashKeys(cols, b.Len, e.hashes)
	if e.rows == nil {
		e.rows = make([][]int32, len(e.to))
	}
	for i := range e.rows {
		e.rows[i] = e.rows[i][:0]
	}
	for i, h := range e.hashes {
		p := int(state.VnodeOfHash(h)) * len(e.to) / state.Vnodes
		e.rows[p] = append(e.rows[p], int32(i))
	}
	for p, idx := range e.rows {
		if len(idx) == 0 {
			continue
		}
		if err := e.send(e.to[p], b.Take(idx)); err != nil {
			return err
		}
	}
	return nil
}

func (e *edge) send(ch chan<- message, b *arrowbatch.Batch) error {
	return send(e.ctx, ch, message{kind: kindBatch, sender: e.sender, batch: b, now: e.from.now})
}

func (e *edge) watermark(w, floor arrowbatch.EventTime, idle bool) error {
	return e.all(message{kind: kindWatermark, sender: e.sender, watermark: w, floor: floor, idle: idle})
}

func (e *edge) barrier(b Barrier) error {
	return e.all(message{kind: kindBarrier, sender: e.sender, barrier: b})
}

func (e *edge) all(m message) error {
	m.now = e.from.now
	for _, ch := range e.to {
		if err := send(e.ctx, ch, m); err != nil {
			return err
		}
	}
	return nil
}
