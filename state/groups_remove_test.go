package state

import (
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
)

// TestGroupsRemove removes and adds at random and compares with a map: a removed key
// has a new number when it comes again, every other one keeps its own.
func TestGroupsRemove(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, shapes := range map[string][]arrowbatch.Shape{
		"int32": {{Layout: arrowbatch.Int32}}, "bytes": {{Layout: arrowbatch.Bytes}},
		"two": {{Layout: arrowbatch.Int64}, {Layout: arrowbatch.Bytes}},
	} {
		g := NewGroups(shapes)
		for round := range 2 {
			want, seen := map[string]int32{}, map[int32]bool{}
			for range 60 {
				b := randomKeys(r, shapes, 200)
				ids := make([]int32, b.Len)
				g.Lookup(b.Cols, nil, ids)
				for i, id := range ids {
					var key []byte
					for _, c := range b.Cols {
						key = c.AppendKey(key, i)
					}
					have, ok := want[string(key)]
					if ok && have != id || !ok && seen[id] {
						t.Fatalf("%s, round %d: %x has number %d, then %d", name, round, key, have, id)
					}
					want[string(key)], seen[id] = id, true
				}
				for key, id := range want {
					if r.IntN(3) > 0 {
						g.Remove(id)
						g.Remove(id) // twice is once
						delete(want, key)
					}
				}
				b.Release()
			}
			g.Reset()
		}
	}
}
