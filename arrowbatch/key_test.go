package arrowbatch

import (
	"bytes"
	"math"
	"math/rand"
	"testing"

	"github.com/streamsql/streamsql/internal/decimal"
)

// sample returns a vector of awkward values of the layout, ascending in SQL's
// order with equal values next to each other, and the number of distinct ones.
func sample(t *testing.T, l Layout) (*Vec, []int) {
	v := NewFlat(l, 0)
	var class []int
	add := func(c int, f func()) { f(); class = append(class, c) }
	switch l {
	case Int64:
		for i, x := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			add(i, func() { v.AppendInt64(x) })
		}
	case Float64:
		for i, x := range []float64{math.Inf(-1), -1e300, -1, 0, 5e-324, 1, math.Inf(1), math.NaN()} {
			add(i, func() { v.AppendFloat64(x) })
			if x == 0 {
				add(i, func() { v.AppendFloat64(math.Copysign(0, -1)) })
			}
		}
	case Bytes:
		for i, x := range []string{"", "\x00", "\x00\x00", "\x00\x01", "\x01", "a", "a\x00", "a\x00b", "ab", "\xff"} {
			add(i, func() { v.AppendString(x) })
		}
	case Decimal:
		for i, xs := range [][]string{{"-Infinity"}, {"-100000000000000000000000000000000000"}, {"-12.5", "-12.500"},
			{"-12.4"}, {"-0.001"}, {"0", "0.00"}, {"0.0001"}, {"0.001"}, {"0.9"}, {"1", "1.0"}, {"9"}, {"10", "10.00"}, {"99"},
			{"100"}, {"123456789012345678901234567890"}, {"Infinity"}, {"NaN"}} {
			for _, x := range xs {
				d, err := decimal.Parse(x)
				if err != nil {
					t.Fatal(err)
				}
				add(i, func() { v.AppendDecimal(d) })
			}
		}
	case Interval:
		for i, xs := range [][]IntervalValue{{{0, -1, 0}, {0, 0, -microsPerDay}}, {{0, 0, -1}}, {{}}, {{0, 0, 1}},
			{{0, 1, 0}, {0, 0, microsPerDay}}, {{1, 0, 0}, {0, 30, 0}}, {{1, 0, 1}}} {
			for _, x := range xs {
				add(i, func() { v.AppendInterval(x) })
			}
		}
	}
	add(1000, v.AppendNull)
	return v, class
}

func TestKeysKeepOrderAndEquality(t *testing.T) {
	for _, l := range []Layout{Int64, Float64, Bytes, Decimal, Interval} {
		v, class := sample(t, l)
		for i := range class {
			for j := range class {
				got := bytes.Compare(v.AppendKey(nil, i), v.AppendKey(nil, j))
				want := 0
				if class[i] < class[j] {
					want = -1
				} else if class[i] > class[j] {
					want = 1
				}
				if got != want {
					t.Errorf("%v: keys of rows %d and %d compare %d, want %d", l, i, j, got, want)
				}
				if d := bytes.Compare(v.AppendKeyDesc(nil, i), v.AppendKeyDesc(nil, j)); d != -want {
					t.Errorf("%v: descending keys of rows %d and %d compare %d", l, i, j, d)
				}
			}
			back := NewFlat(l, 0)
			rest, err := back.DecodeKey(append(v.AppendKey(nil, i), 0x55))
			if err != nil || len(rest) != 1 {
				t.Fatalf("%v row %d: rest %d, %v", l, i, len(rest), err)
			}
			if !bytes.Equal(back.AppendKey(nil, 0), v.AppendKey(nil, i)) {
				t.Errorf("%v row %d: the decoded value has another key", l, i)
			}
		}
	}
}

func TestDecodersRefuseEveryCutAndSurviveNoise(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, l := range []Layout{Bool, Int16, Int32, Int64, Float32, Float64, Decimal, Interval, UUID, Bytes} {
		v := NewFlat(l, 1)
		if l == Bytes {
			v = NewFlat(l, 0)
			v.AppendString("a\x00b")
		}
		key, row := v.AppendKey(nil, 0), v.AppendValue(nil, 0)
		for cut := range key {
			if rest, err := NewFlat(l, 0).DecodeKey(key[:cut]); err == nil {
				t.Errorf("%v: key cut at %d accepted, rest %v", l, cut, rest)
			}
		}
		for cut := range row {
			if _, err := NewFlat(l, 0).DecodeValue(row[:cut]); err == nil {
				t.Errorf("%v: value cut at %d accepted", l, cut)
			}
		}
		for range 2000 {
			noise := make([]byte, r.Intn(24))
			r.Read(noise)
			NewFlat(l, 0).DecodeKey(noise)
			NewFlat(l, 0).DecodeValue(noise)
		}
	}
}

func TestBatchRowCodeRoundTrip(t *testing.T) {
	shape := []Shape{{Layout: Int64}, {Layout: List, Kids: []Shape{{Layout: Bytes}}},
		{Layout: Struct, Kids: []Shape{{Layout: Bool}, {Layout: Decimal}}}}
	b := NewLike(shape)
	for i := range 5 {
		if i == 3 {
			for _, c := range b.Cols {
				c.AppendNull()
			}
			b.AppendOp(Delete)
			continue
		}
		b.Cols[0].AppendInt64(int64(i))
		for j := range i {
			if j == 1 {
				b.Cols[1].Kids[0].AppendNull()
			} else {
				b.Cols[1].Kids[0].AppendString("x")
			}
		}
		b.Cols[1].EndList()
		b.Cols[2].Kids[0].AppendBool(i%2 == 0)
		b.Cols[2].Kids[1].AppendDecimal(decimal.New(int64(i), 2))
		b.Cols[2].EndStruct()
		b.AppendOp(Insert)
	}
	code := AppendBatch(nil, b)
	back, err := DecodeBatch(code, shape)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(AppendBatch(nil, back), code) || back.Len != 5 || back.OpAt(3) != Delete {
		t.Errorf("batch changed on the way: %d rows", back.Len)
	}
	for _, idx := range [][]int32{{4, 0, 2}, {3, -1, 1}, {}} {
		tk := back.Take(idx)
		if tk.Cols[1].N != len(idx) || tk.Cols[2].Kids[1].N != len(idx) {
			t.Errorf("Take(%v) gave %d list rows", idx, tk.Cols[1].N)
		}
		for j, i := range idx {
			if (i < 0 || i == 3) != tk.Cols[1].IsNull(j) {
				t.Errorf("Take(%v): row %d NULL = %v", idx, j, tk.Cols[1].IsNull(j))
			}
			if i >= 0 && !bytes.Equal(AppendRow(nil, tk.Cols, j), AppendRow(nil, back.Cols, int(i))) {
				t.Errorf("Take(%v): row %d differs", idx, j)
			}
		}
	}
}
