package arrowbatch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/decimal"
)

// everyShape has a column of each layout, nested ones too.
var everyShape = []Shape{{Layout: Bool}, {Layout: Int16}, {Layout: Int32}, {Layout: Int64}, {Layout: Float32},
	{Layout: Float64}, {Layout: Decimal}, {Layout: Interval}, {Layout: UUID}, {Layout: Bytes},
	{Layout: List, Kids: []Shape{{Layout: Bytes}}},
	{Layout: Struct, Kids: []Shape{{Layout: Int64}, {Layout: List, Kids: []Shape{{Layout: Bool}}}}}}

func appendRandom(r *rand.Rand, v *Vec, nulls bool) {
	if nulls && r.IntN(5) == 0 {
		v.AppendNull()
		return
	}
	switch v.Layout {
	case Bool:
		v.AppendBool(r.IntN(2) == 0)
	case Int16:
		v.AppendInt16(int16(r.Uint32()))
	case Int32:
		v.AppendInt32(int32(r.Uint32()))
	case Int64:
		v.AppendInt64(int64(r.Uint64()))
	case Float32:
		v.AppendFloat32(float32(r.NormFloat64()))
	case Float64:
		v.AppendFloat64(r.NormFloat64())
	case Decimal:
		v.AppendDecimal(decimal.New(r.Int64(), r.IntN(20)))
	case Interval:
		v.AppendInterval(IntervalValue{r.Int32(), -r.Int32(), r.Int64N(1e15)})
	case UUID:
		v.AppendUUID([16]byte{byte(r.Uint32()), 15: byte(r.Uint32())})
	case Bytes:
		v.AppendString([]string{"", "a", "NULL", "two words", "é", "q\"\\", "\xff\x00", "[x]", strings.Repeat("z",
			r.IntN(40))}[r.IntN(9)])
	case List:
		for range r.IntN(4) {
			appendRandom(r, v.Kids[0], nulls)
		}
		v.EndList()
	case Struct:
		for _, k := range v.Kids {
			appendRandom(r, k, nulls)
		}
		v.EndStruct()
	}
}

func randomBatch(r *rand.Rand, shapes []Shape, n int, nulls, ops bool) *Batch {
	b := NewLike(shapes)
	for range n {
		for _, c := range b.Cols {
			appendRandom(r, c, nulls)
		}
		op := Insert
		if ops && r.IntN(3) == 0 {
			op = Delete
		}
		b.AppendOp(op)
	}
	return b
}

// lines is what a batch says, row by row: the model of the tests below.
func lines(b *Batch) []string {
	return strings.SplitAfter(Pretty(b), "\n")[:b.Len]
}

func wellFormed(t *testing.T, b *Batch) {
	t.Helper()
	if b.Ops != nil && len(b.Ops) != b.Len {
		t.Fatalf("%d ops for %d rows", len(b.Ops), b.Len)
	}
	var check func(v *Vec, n int)
	check = func(v *Vec, n int) {
		if v.N != n {
			t.Fatalf("a column of %s has %d rows, not %d", v.Layout, v.N, n)
		}
		switch v.Layout {
		case Bytes, List:
			end := len(v.Data)
			if v.Layout == List {
				end = v.Kids[0].N
				check(v.Kids[0], end)
			}
			if len(v.Off) != n+1 || v.Off[0] != 0 || int(v.Off[n]) != end {
				t.Fatalf("offsets of %s: %v for %d", v.Layout, v.Off, end)
			}
		case Struct:
			for _, k := range v.Kids {
				check(k, n)
			}
		}
	}
	for _, c := range b.Cols {
		check(c, b.Len)
	}
}

func TestTakeSliceConcat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		n := r.IntN(200)
		b := randomBatch(r, everyShape, n, r.IntN(2) == 0, r.IntN(2) == 0)
		wellFormed(t, b)
		all := lines(b)

		idx := make([]int32, r.IntN(100))
		for i := range idx {
			if n == 0 || r.IntN(10) == 0 {
				idx[i] = -1
			} else {
				idx[i] = int32(r.IntN(n))
			}
		}
		for k, c := range b.Cols {
			got := &Batch{Cols: []*Vec{c.Take(idx)}, Len: len(idx)}
			wellFormed(t, got)
			one := &Batch{Cols: []*Vec{c}, Len: n}
			from := lines(one)
			for i, line := range lines(got) {
				want := "+ NULL\n"
				if idx[i] >= 0 {
					want = from[idx[i]]
				}
				if line != want {
					t.Fatalf("column %d, row %d: %q instead of %q", k, i, line, want)
				}
			}
			got.Release()
		}

		lo := r.IntN(n + 1)
		hi := lo + r.IntN(n-lo+1)
		s := b.Slice(lo, hi)
		wellFormed(t, s)
		if got, want := Pretty(s), strings.Join(all[lo:hi], ""); got != want {
			t.Fatalf("slice %d:%d\n got %s\nwant %s", lo, hi, got, want)
		}
		front, back := b.Slice(0, lo), b.Slice(lo, n)
		whole := Concat([]*Batch{front, back})
		wellFormed(t, whole)
		if Pretty(whole) != strings.Join(all, "") {
			t.Fatal("the parts of a batch do not make it")
		}
		copied := NewLike(everyShape)
		for i := range n {
			copied.Append(b, i)
		}
		wellFormed(t, copied)
		if Pretty(copied) != strings.Join(all, "") {
			t.Fatal("the rows of a batch do not make it")
		}
		if whole.AppendOnly() != !strings.Contains("\n"+strings.Join(all, ""), "\n-") {
			t.Fatal("AppendOnly is wrong")
		}
		for _, x := range []*Batch{b, s, whole, copied} {
			x.Release()
		}
	}
}

func TestBitmap(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		n := r.IntN(300)
		b := NewBitmap(n)
		model := make([]bool, n)
		for range n {
			i := r.IntN(n)
			model[i] = r.IntN(3) > 0
			b.Put(i, model[i])
		}
		count := 0
		var idx []int32
		for i, set := range model {
			if b.Get(i) != set {
				t.Fatalf("bit %d", i)
			}
			if set {
				count++
				idx = append(idx, int32(i))
			}
		}
		if b.Count(n) != count || b.All(n) != (count == n) || fmt.Sprint(b.AppendIndexes(nil, n)) != fmt.Sprint(idx) {
			t.Fatalf("%d of %d bits", count, n)
		}
		b.Fill(n, true)
		if !b.All(n) {
			t.Fatal("not filled")
		}
	}
}

func TestNulls(t *testing.T) {
	for _, s := range everyShape {
		v := NewVec(s, 0)
		for range 100 {
			v.AppendNull()
		}
		r := rand.New(rand.NewPCG(3, 3))
		appendRandom(r, v, false)
		v.Resize(103)
		v.SetNull(102)
		if v.Nulls() != 101 || v.IsNull(100) || v.IsNull(101) || !v.IsNull(102) || !v.IsNull(0) {
			t.Errorf("%s: %d NULLs", s.Layout, v.Nulls())
		}
		v.Resize(0)
		if v.Nulls() != 0 {
			t.Errorf("%s: NULLs are left", s.Layout)
		}
		v.Release()
	}
}

func TestSharing(t *testing.T) {
	v := NewFlat(Int64, 3)
	b := NewBatch(3, v)
	c := b.Share()
	if !v.Shared() {
		t.Error("a column of two batches is not shared")
	}
	b.Release()
	if v.Shared() || c.Cols[0].N != 3 {
		t.Error("the last owner has lost the column")
	}
	c.Release()
}

func TestPretty(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		b := randomBatch(r, everyShape, r.IntN(20), true, true)
		back, err := ParsePretty(everyShape, Pretty(b))
		if err != nil {
			t.Fatalf("%v\n%s", err, Pretty(b))
		}
		wellFormed(t, back)
		if Pretty(back) != Pretty(b) {
			t.Fatalf("got\n%swant\n%s", Pretty(back), Pretty(b))
		}
		b.Release()
		back.Release()
	}
	shapes := []Shape{{Layout: Int64}, {Layout: Bytes}}
	b, err := ParsePretty(shapes, "# a comment\n\n + 1 a\n- 2 \"two words\"\n+ NULL \"NULL\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Pretty(b), "+ 1 a\n- 2 \"two words\"\n+ NULL \"NULL\"\n"; got != want {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{"1 a", "+ 1", "+ x a", "+ 1 a b", `+ 1 "a`, "+ [ a"} {
		if _, err := ParsePretty(shapes, bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
