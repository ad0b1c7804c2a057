package operator

import (
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// replay gives the rows of the result once more, as the store has them, for operators
// above that are new. It comes before any row, so that the table is no further than the
// store.
func (s *SetChanges) replay() error {
	if !s.rt.Replay {
		return nil
	}
	s.rt.Replay = false
	part := &SetChanges{Except: s.Except, All: s.All, Shapes: s.Shapes, exact: s.exact, rt: s.rt, out: s.out}
	part.empty()
	lo := s.rt.Table.Prefix()
	err := s.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		if k = k[len(lo):]; len(k) < 1 {
			return errState
		}
		if !s.rt.Owns(k[0]) {
			return nil
		}
		id, _, err := part.groups.AddKey(k[1:])
		if err != nil {
			return errState
		}
		part.grow()
		if err := part.restoreRow(id, v); err != nil {
			return err
		}
		if part.groups.Len() < chunkRows {
			return nil
		}
		return part.give()
	})
	if err != nil {
		return err
	}
	return part.give()
}

// give sends the rows of the table that are in the result, and empties it.
func (s *SetChanges) give() error {
	var ids []int32
	for id, n := range s.given {
		ids = append(ids, slices.Repeat([]int32{int32(id)}, int(n))...)
	}
	if len(ids) > 0 {
		out := arrowbatch.NewLike(s.Shapes)
		if err := s.rows(out, ids); err != nil {
			out.Release()
			return err
		}
		out.Len = len(ids)
		if err := s.out.Emit(out); err != nil {
			return err
		}
	}
	s.empty()
	return nil
}
