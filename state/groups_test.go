package state

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
)

func TestGroupsAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string][]arrowbatch.Shape{
		"int16": {{Layout: arrowbatch.Int16}}, "int32": {{Layout: arrowbatch.Int32}}, "int64": {{Layout: arrowbatch.Int64}},
		"bytes": {{Layout: arrowbatch.Bytes}}, "none": {},
		"two": {{Layout: arrowbatch.Int64}, {Layout: arrowbatch.Bytes}}, "float": {{Layout: arrowbatch.Float64}},
	}
	for name, shapes := range kinds {
		g := NewGroups(shapes)
		for round := range 3 {
			want := map[string]int32{}
			for range 20 {
				b := randomKeys(r, shapes, 500)
				var sel []int32
				if r.IntN(2) == 0 {
					for i := range b.Len {
						if r.IntN(3) > 0 {
							sel = append(sel, int32(i))
						}
					}
				}
				n := b.Len
				if sel != nil {
					n = len(sel)
				}
				ids := make([]int32, n)
				g.Lookup(b.Cols, sel, ids)
				for k, id := range ids {
					i := k
					if sel != nil {
						i = int(sel[k])
					}
					key := []byte{}
					for _, c := range b.Cols {
						key = c.AppendKey(key, i)
					}
					if w, ok := want[string(key)]; ok && w != id {
						t.Fatalf("%s: key %x has groups %d and %d", name, key, w, id)
					}
					want[string(key)] = id
					if got := g.AppendKey(nil, id); !bytes.Equal(got, key) {
						t.Fatalf("%s: group %d has key %x, want %x", name, id, got, key)
					}
					again, rest, err := g.AddKey(key)
					if err != nil || again != id || len(rest) != 0 {
						t.Fatalf("%s: AddKey gave %d, %v", name, again, err)
					}
				}
			}
			if g.Len() != len(want) {
				t.Fatalf("%s round %d: %d groups, want %d", name, round, g.Len(), len(want))
			}
			checkColumns(t, name, g, shapes)
			g.Reset()
		}
	}
}

func checkColumns(t *testing.T, name string, g *Groups, shapes []arrowbatch.Shape) {
	ids := make([]int32, g.Len())
	for i := range ids {
		ids[i] = int32(i)
	}
	out := arrowbatch.NewLike(shapes)
	if err := g.AppendColumns(out.Cols, ids); err != nil {
		t.Fatal(err)
	}
	for i := range ids {
		key := []byte{}
		for _, c := range out.Cols {
			key = c.AppendKey(key, i)
		}
		if !bytes.Equal(key, g.AppendKey(nil, int32(i))) {
			t.Fatalf("%s: column row %d has another key", name, i)
		}
	}
}

func randomKeys(r *rand.Rand, shapes []arrowbatch.Shape, n int) *arrowbatch.Batch {
	b := arrowbatch.NewLike(shapes)
	for range n {
		for _, c := range b.Cols {
			if r.IntN(20) == 0 {
				c.AppendNull()
				continue
			}
			x := r.IntN(3000) - 1500
			switch c.Layout {
			case arrowbatch.Int16:
				c.AppendInt16(int16(x))
			case arrowbatch.Int32:
				c.AppendInt32(int32(x))
			case arrowbatch.Int64:
				c.AppendInt64(int64(x) << 33)
			case arrowbatch.Float64:
				c.AppendFloat64(float64(x))
			case arrowbatch.Bytes:
				c.AppendString(fmt.Sprintf("k\x00%d", x))
			}
		}
		b.Len++
	}
	return b
}

func BenchmarkGroupsInt(b *testing.B) {
	g := NewGroups([]arrowbatch.Shape{{Layout: arrowbatch.Int64}})
	v := arrowbatch.NewFlat(arrowbatch.Int64, 65536)
	for i := range v.I64 {
		v.I64[i] = int64(rand.IntN(10000)) * 977
	}
	ids := make([]int32, 65536)
	b.ReportAllocs()
	for b.Loop() {
		g.Lookup([]*arrowbatch.Vec{v}, nil, ids)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/65536, "ns/row")
}
