package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// SetOp is INTERSECT or EXCEPT: it reads its second input, counts its rows, and
// then passes the rows of the first that the counts allow. NULLs are equal.
type SetOp struct {
	base
	Except, All bool
	Shapes      []arrowbatch.Shape

	groups *state.Groups
	counts []int64 // rows of the second input by group
	given  []bool  // groups that were passed already
	ids    []int32
}

// Open makes the empty table.
func (s *SetOp) Open(rt *exec.Runtime, out exec.Output) error {
	s.groups = state.NewGroups(s.Shapes)
	return s.base.Open(rt, out)
}

// StaticInput is the second input.
func (s *SetOp) StaticInput() int { return 1 }

// ProcessBatch counts rows, or passes them.
func (s *SetOp) ProcessBatch(input int, b *arrowbatch.Batch) error {
	defer b.Release()
	s.ids = resizeIDs(s.ids, b.Len)
	s.groups.Lookup(b.Cols, nil, s.ids)
	for len(s.counts) < s.groups.Len() {
		s.counts, s.given = append(s.counts, 0), append(s.given, false)
	}
	if input == 1 {
		for _, g := range s.ids {
			s.counts[g]++
		}
		return nil
	}
	var keep []int32
	for i, g := range s.ids {
		if s.pass(g) {
			keep = append(keep, int32(i))
		}
	}
	if len(keep) == 0 {
		return nil
	}
	return s.out.Emit(b.Take(keep))
}

// pass tells whether one more row of a group is in the result.
func (s *SetOp) pass(g int32) bool {
	if s.All {
		if s.counts[g] > 0 {
			s.counts[g]--
			return !s.Except
		}
		return s.Except
	}
	if s.given[g] || (s.counts[g] > 0) == s.Except {
		return false
	}
	s.given[g] = true
	return true
}
