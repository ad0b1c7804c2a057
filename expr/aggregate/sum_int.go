package aggregate

import (
	"encoding/binary"
	"math/bits"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// i128 is a signed 128-bit sum: no number of int64 values overflows it.
type i128 struct {
	lo uint64
	hi int64
}

func (s *i128) add(x int64) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, uint64(x), 0)
	s.hi += x>>63 + int64(c)
}

func (s *i128) sub(x int64) {
	var c uint64
	s.lo, c = bits.Sub64(s.lo, uint64(x), 0)
	s.hi -= x>>63 + int64(c)
}

func (s i128) int64() (int64, bool) { return int64(s.lo), s.hi == int64(s.lo)>>63 }

func (s i128) decimal() (decimal.Decimal, error) {
	neg, hi, lo := s.hi < 0, uint64(s.hi), s.lo
	if neg {
		var b uint64
		lo, b = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, b)
	}
	return decimal.FromParts(neg, hi, lo, 0, decimal.Finite)
}

// sumInt is sum and avg of the integer types. What Result gives is decided by
// out: bigint (sum of smallint and integer) or numeric.
type sumInt struct {
	avg bool
	n   []int64 // values that are not NULL
	s   []i128
}

func (a *sumInt) Grow(n int) { a.n, a.s = grow(a.n, n), grow(a.s, n) }

func (a *sumInt) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	switch v := args[0]; v.Layout {
	case arrowbatch.Int16:
		updateSum(a, ids, rows, v, v.I16, ops)
	case arrowbatch.Int32:
		updateSum(a, ids, rows, v, v.I32, ops)
	default:
		updateSum(a, ids, rows, v, v.I64, ops)
	}
}

func updateSum[T int16 | int32 | int64](a *sumInt, ids, rows []int32, v *arrowbatch.Vec, x []T, ops []arrowbatch.Op) {
	if v.Valid == nil && ops == nil {
		for k, g := range ids {
			a.n[g]++
			a.s[g].add(int64(x[row(rows, k)]))
		}
		return
	}
	for k, g := range ids {
		i := row(rows, k)
		switch {
		case v.IsNull(i):
		case sign(ops, i) > 0:
			a.n[g]++
			a.s[g].add(int64(x[i]))
		default:
			a.n[g]--
			a.s[g].sub(int64(x[i]))
		}
	}
}

func (a *sumInt) Merge(id int32, src []byte) ([]byte, error) {
	n, k := binary.Varint(src)
	if k <= 0 || len(src) < k+16 {
		return nil, errState
	}
	a.n[id] += n
	var c uint64
	a.s[id].lo, c = bits.Add64(a.s[id].lo, binary.LittleEndian.Uint64(src[k:]), 0)
	a.s[id].hi += int64(binary.LittleEndian.Uint64(src[k+8:])) + int64(c)
	return src[k+16:], nil
}

func (a *sumInt) Append(dst []byte, id int32) []byte {
	dst = binary.AppendVarint(dst, a.n[id])
	dst = binary.LittleEndian.AppendUint64(dst, a.s[id].lo)
	return binary.LittleEndian.AppendUint64(dst, uint64(a.s[id].hi))
}

func (a *sumInt) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		if a.n[g] == 0 {
			out.AppendNull()
			continue
		}
		if out.Layout == arrowbatch.Int64 {
			x, ok := a.s[g].int64()
			if !ok {
				fail(k, sqlerr.New(sqlerr.NumericValueOutOfRange, "bigint out of range"))
				out.AppendNull()
				continue
			}
			out.AppendInt64(x)
			continue
		}
		d, err := a.s[g].decimal()
		if err == nil && a.avg {
			d, err = d.Div(decimal.FromInt64(a.n[g]))
		}
		appendDecimal(out, k, d, err, fail)
	}
}

func appendDecimal(out *arrowbatch.Vec, k int, d decimal.Decimal, err error, fail func(int, *sqlerr.Error)) {
	if err != nil {
		fail(k, sqlerr.From(err))
		out.AppendNull()
		return
	}
	out.AppendDecimal(d)
}

func (a *sumInt) Reset() { a.n, a.s = a.n[:0], a.s[:0] }

// sumInterval is sum and avg of intervals: the three parts are summed apart.
type sumInterval struct {
	avg bool
	n   []int64
	s   [][3]i128
}

func (a *sumInterval) Grow(n int) { a.n, a.s = grow(a.n, n), grow(a.s, n) }

func (a *sumInterval) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		i := row(rows, k)
		if v.IsNull(i) {
			continue
		}
		x, s := v.Ivl[i], sign(ops, i)
		a.n[g] += s
		for p, y := range [3]int64{int64(x.Months), int64(x.Days), x.Micros} {
			if s > 0 {
				a.s[g][p].add(y)
			} else {
				a.s[g][p].sub(y)
			}
		}
	}
}

func (a *sumInterval) Merge(id int32, src []byte) ([]byte, error) {
	n, k := binary.Varint(src)
	if k <= 0 || len(src) < k+48 {
		return nil, errState
	}
	a.n[id] += n
	src = src[k:]
	for p := range 3 {
		var c uint64
		s := &a.s[id][p]
		s.lo, c = bits.Add64(s.lo, binary.LittleEndian.Uint64(src[16*p:]), 0)
		s.hi += int64(binary.LittleEndian.Uint64(src[16*p+8:])) + int64(c)
	}
	return src[48:], nil
}

func (a *sumInterval) Append(dst []byte, id int32) []byte {
	dst = binary.AppendVarint(dst, a.n[id])
	for _, s := range a.s[id] {
		dst = binary.LittleEndian.AppendUint64(dst, s.lo)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.hi))
	}
	return dst
}

func (a *sumInterval) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		if a.n[g] == 0 {
			out.AppendNull()
			continue
		}
		m, ok1 := a.s[g][0].int64()
		d, ok2 := a.s[g][1].int64()
		us, ok3 := a.s[g][2].int64()
		if !ok1 || !ok2 || !ok3 || int64(int32(m)) != m || int64(int32(d)) != d {
			fail(k, sqlerr.New(sqlerr.DatetimeFieldOverflow, "interval out of range"))
			out.AppendNull()
			continue
		}
		x := arrowbatch.IntervalValue{Months: int32(m), Days: int32(d), Micros: us}
		if a.avg {
			var err error
			if x, err = types.DivInterval(x, float64(a.n[g])); err != nil {
				fail(k, sqlerr.From(err))
				out.AppendNull()
				continue
			}
		}
		out.AppendInterval(x)
	}
}

func (a *sumInterval) Reset() { a.n, a.s = a.n[:0], a.s[:0] }
