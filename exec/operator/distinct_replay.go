package operator

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// replay gives the rows that stand for their keys once more, as the store has them, for
// operators above that are new. Only Replace keeps them. It comes before any row, so
// that the table is no further than the store.
func (d *DistinctOn) replay() error {
	if !d.rt.Replay || d.Order == nil {
		return nil
	}
	d.rt.Replay = false
	out := arrowbatch.NewLike(d.Shapes)
	defer func() { out.Release() }()
	prefix := d.rt.Table.Prefix()
	err := d.rt.Store.Scan(prefix, state.After(prefix), func(k, v []byte) error {
		if k = k[len(prefix):]; d.Forget >= 0 && len(k) > 8 {
			k = k[8:]
		}
		if len(k) < 1 || !d.rt.Owns(k[0]) {
			return nil
		}
		row, ok := d.storedRow(v)
		if !ok {
			return errState
		}
		if row == nil {
			return nil
		}
		if _, err := arrowbatch.DecodeRow(row, out.Cols); err != nil {
			return errState
		}
		out.AppendOp(arrowbatch.Insert)
		if out.Len < chunkRows {
			return nil
		}
		full := out
		out = arrowbatch.NewLike(d.Shapes)
		return d.out.Emit(full)
	})
	if err != nil || out.Len == 0 {
		return err
	}
	last := out
	out = nil
	return d.out.Emit(last)
}

// storedRow reads the row from a key's value; nil if the key is forgotten.
func (d *DistinctOn) storedRow(v []byte) (row []byte, ok bool) {
	until, n := binary.Varint(v)
	if n <= 0 {
		return nil, false
	}
	if v = v[n:]; d.exp != nil {
		_, m := binary.Varint(v)
		if m <= 0 {
			return nil, false
		}
		v = v[m:]
	}
	l, m := binary.Uvarint(v)
	if m <= 0 || l > uint64(len(v)-m) {
		return nil, false
	}
	if until <= d.w {
		return nil, true
	}
	return v[m:][l:], true
}
