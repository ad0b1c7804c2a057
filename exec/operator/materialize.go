package operator

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// Materialize stores the changes of each epoch in a relation, as its next version.
type Materialize struct {
	base
	Relation *state.Relation
	// Upsert: the rows replace what is stored under their keys.
	Upsert bool
	// Refill: the rows of the first epoch take the place of all that are stored.
	Refill bool

	held []*arrowbatch.Batch
}

// ProcessBatch holds the changes.
func (m *Materialize) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	m.held = append(m.held, b)
	return nil
}

// ProcessBarrier writes the epoch's changes to its delta.
func (m *Materialize) ProcessBarrier(exec.Barrier) error {
	if len(m.held) == 0 && !m.Refill {
		return nil
	}
	b := arrowbatch.NewLike(m.Relation.Shapes)
	if len(m.held) > 0 {
		b = arrowbatch.Concat(m.held)
	}
	m.held = nil
	defer b.Release()
	write := m.Relation.Apply
	switch {
	case m.Refill:
		write = m.Relation.Refill
		m.Refill = false
	case m.Upsert:
		write = m.Relation.Upsert
	}
	done, err := write(m.rt.Delta(), b)
	if err != nil {
		return err
	}
	m.rt.AfterCommit(done)
	return nil
}

// Close frees what is held.
func (m *Materialize) Close() {
	for _, b := range m.held {
		b.Release()
	}
	m.held = nil
}

func appendCount(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

func readCount(src []byte) (int64, bool) {
	n, k := binary.Varint(src)
	return n, k > 0
}
