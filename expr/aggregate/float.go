package aggregate

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sumFloat is sum and avg of real and double precision over input without
// deletes: values are added in the order of arrival, as PostgreSQL does, so the
// last digits depend on it there and here. Special values are told from overflow
// by counting them.
type sumFloat struct {
	avg bool
	g   []floatState
}

type floatState struct {
	sum             float64
	n               int64
	nan, pinf, ninf int64
}

// Grow begins sums with -0, which leaves every value added to it as it is: the sum
// of -0 alone is -0. PostgreSQL's avg begins with 0.
func (a *sumFloat) Grow(n int) {
	from := len(a.g)
	a.g = grow(a.g, n)
	for i := from; i < len(a.g) && !a.avg; i++ {
		a.g[i].sum = math.Copysign(0, -1)
	}
}

func floatAt(v *arrowbatch.Vec, i int) float64 {
	if v.Layout == arrowbatch.Float32 {
		return float64(v.F32[i])
	}
	return v.F64[i]
}

func (s *floatState) special(x float64, sign int64) bool {
	switch {
	case x != x:
		s.nan += sign
	case math.IsInf(x, 1):
		s.pinf += sign
	case math.IsInf(x, -1):
		s.ninf += sign
	default:
		return false
	}
	return true
}

func (a *sumFloat) Update(ids, rows []int32, args []*arrowbatch.Vec, _ []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		i := row(rows, k)
		if v.IsNull(i) {
			continue
		}
		s, x := &a.g[g], floatAt(v, i)
		s.n++
		if !s.special(x, 1) {
			s.sum += x
		}
	}
}

func (s *floatState) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.sum))
	for _, x := range []int64{s.n, s.nan, s.pinf, s.ninf} {
		dst = binary.AppendVarint(dst, x)
	}
	return dst
}

func (s *floatState) merge(src []byte) ([]byte, error) {
	if len(src) < 8 {
		return nil, errState
	}
	s.sum += math.Float64frombits(binary.LittleEndian.Uint64(src))
	src = src[8:]
	for _, p := range []*int64{&s.n, &s.nan, &s.pinf, &s.ninf} {
		x, k := binary.Varint(src)
		if k <= 0 {
			return nil, errState
		}
		*p += x
		src = src[k:]
	}
	return src, nil
}

func (a *sumFloat) Merge(id int32, src []byte) ([]byte, error) { return a.g[id].merge(src) }

func (a *sumFloat) Append(dst []byte, id int32) []byte { return a.g[id].append(dst) }

// result returns the sum given the finite values' sum; ok is false on overflow.
func (s *floatState) result(finite float64) (x float64, ok bool) {
	switch {
	case s.nan > 0 || s.pinf > 0 && s.ninf > 0:
		return math.NaN(), true
	case s.pinf > 0:
		return math.Inf(1), true
	case s.ninf > 0:
		return math.Inf(-1), true
	}
	return finite, !math.IsInf(finite, 0)
}

func (s *floatState) appendResult(out *arrowbatch.Vec, k int, finite float64, avg bool, fail func(int, *sqlerr.Error)) {
	if s.n == 0 {
		out.AppendNull()
		return
	}
	x, ok := s.result(finite)
	if avg {
		x /= float64(s.n)
	}
	if out.Layout == arrowbatch.Float32 {
		y := float32(x)
		if ok && (!math.IsInf(float64(y), 0) || math.IsInf(x, 0)) {
			out.AppendFloat32(y)
			return
		}
		ok = false
	}
	if !ok {
		fail(k, sqlerr.New(sqlerr.NumericValueOutOfRange, "value out of range: overflow"))
		out.AppendNull()
		return
	}
	out.AppendFloat64(x)
}

func (a *sumFloat) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		a.g[g].appendResult(out, k, a.g[g].sum, a.avg, fail)
	}
}

func (a *sumFloat) Reset() { a.g = a.g[:0] }

// exactFloat is sum and avg of floating-point values over input with deletes.
// Adding and subtracting floats does not undo itself, so the sum is kept exactly,
// as a fixed-point number wide enough for every double (Kulisch's accumulator):
// what is taken back leaves no trace, and the order does not matter.
type exactFloat struct {
	avg bool
	g   []exactState
}

// limbs of 32 bits: 2098 bits from 2^-1074 to 2^1024, and room for carries.
const limbs = 68

type exactState struct {
	floatState
	limb [limbs]int64 // value = sum of limb[i] * 2^(32i-1074)
	adds int32        // since the limbs were last carried
}

func (a *exactFloat) Grow(n int) { a.g = grow(a.g, n) }

func (a *exactFloat) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		i := row(rows, k)
		if v.IsNull(i) {
			continue
		}
		s, x, sg := &a.g[g], floatAt(v, i), sign(ops, i)
		s.n += sg
		if !s.special(x, sg) {
			s.add(x, sg)
		}
	}
}

func (s *exactState) add(x float64, sign int64) {
	u := math.Float64bits(x)
	m := u & (1<<52 - 1)
	e := int(u >> 52 & 0x7FF)
	if e != 0 {
		m |= 1 << 52
		e--
	}
	if u>>63 != 0 {
		sign = -sign
	}
	at, by := e>>5, uint(e&31)
	// 53 bits moved by up to 31 span three limbs.
	lo, hi := m<<by, m>>(64-by)
	s.limb[at] += sign * int64(lo&0xFFFFFFFF)
	s.limb[at+1] += sign * int64(lo>>32)
	s.limb[at+2] += sign * int64(hi)
	if s.adds++; s.adds == math.MaxInt32 {
		s.carry()
	}
}

// carry brings all limbs but the last into 0 … 2^32-1.
func (s *exactState) carry() {
	for i := range limbs - 1 {
		s.limb[i+1] += s.limb[i] >> 32
		s.limb[i] &= 0xFFFFFFFF
	}
	s.adds = 0
}

// value returns the sum rounded to nearest even; infinite on overflow.
func (s *exactState) value() float64 {
	s.carry()
	x := new(big.Int)
	for i := limbs - 1; i >= 0; i-- {
		x.Lsh(x, 32)
		x.Add(x, big.NewInt(s.limb[i]))
	}
	if x.Sign() == 0 {
		return 0
	}
	f := new(big.Float).SetInt(x)
	f.SetMantExp(f, -1074)
	y, _ := f.Float64()
	return y
}

func (a *exactFloat) Merge(id int32, src []byte) ([]byte, error) {
	s := &a.g[id]
	src, err := s.merge(src)
	if err != nil || len(src) < 2 {
		return nil, errState
	}
	lo, n := int(src[0]), int(src[1])
	if src = src[2:]; lo+n > limbs || len(src) < 8*n {
		return nil, errState
	}
	s.carry()
	for i := range n {
		s.limb[lo+i] += int64(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return src[8*n:], nil
}

func (a *exactFloat) Append(dst []byte, id int32) []byte {
	s := &a.g[id]
	s.carry()
	dst = s.append(dst)
	lo, hi := 0, limbs
	for lo < hi && s.limb[lo] == 0 {
		lo++
	}
	for hi > lo && s.limb[hi-1] == 0 {
		hi--
	}
	dst = append(dst, byte(lo), byte(hi-lo))
	for _, x := range s.limb[lo:hi] {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
	}
	return dst
}

func (a *exactFloat) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		a.g[g].appendResult(out, k, a.g[g].value(), a.avg, fail)
	}
}

func (a *exactFloat) Reset() { a.g = a.g[:0] }
