package aggregate

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sumDecimal is sum and avg of numeric. The result has the largest scale among
// the rows there are now, so where rows can be taken back, those of each scale
// are counted; NaN and the infinities are counted apart for the same reason.
type sumDecimal struct {
	avg, retract bool
	g            []decimalState
	scales       []scaleCounts // retract only
}

type scaleCounts [decimal.MaxScale + 1]uint32

type decimalState struct {
	sum             decimal.Decimal
	n               int64 // finite values
	nan, pinf, ninf int64
	overflow        int64 // additions that did not fit: the sum is lost
	maxScale        int64
}

func (a *sumDecimal) Grow(n int) {
	a.g = grow(a.g, n)
	if a.retract {
		a.scales = grow(a.scales, n)
	}
}

func (a *sumDecimal) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		i := row(rows, k)
		if !v.IsNull(i) {
			a.add(g, v.Dec[i], sign(ops, i))
		}
	}
}

func (a *sumDecimal) add(g int32, d decimal.Decimal, sign int64) {
	s := &a.g[g]
	switch d.Special() {
	case decimal.SpecialNaN:
		s.nan += sign
		return
	case decimal.SpecialInf:
		s.pinf += sign
		return
	case decimal.SpecialNegInf:
		s.ninf += sign
		return
	}
	s.n += sign
	s.maxScale = max(s.maxScale, int64(d.Scale()))
	if a.retract {
		a.scales[g][d.Scale()] += uint32(sign)
	}
	if sign < 0 {
		d = d.Neg()
	}
	sum, err := s.sum.Add(d)
	if err != nil {
		s.overflow++
		return
	}
	s.sum = sum
}

func (a *sumDecimal) Merge(id int32, src []byte) ([]byte, error) {
	s := &a.g[id]
	if len(src) < 16 {
		return nil, errState
	}
	sum, err := s.sum.Add(decimal.FromBytes([16]byte(src[:16])))
	if err != nil {
		s.overflow++
	} else {
		s.sum = sum
	}
	src = src[16:]
	var scale, used int64
	for _, p := range []*int64{&s.n, &s.nan, &s.pinf, &s.ninf, &s.overflow, &scale, &used} {
		x, k := binary.Varint(src)
		if k <= 0 {
			return nil, errState
		}
		*p += x
		src = src[k:]
	}
	s.maxScale = max(s.maxScale, scale)
	for ; used > 0; used-- {
		if len(src) < 2 || src[0] > decimal.MaxScale || !a.retract {
			return nil, errState
		}
		n, k := binary.Uvarint(src[1:])
		if k <= 0 {
			return nil, errState
		}
		a.scales[id][src[0]] += uint32(n)
		src = src[1+k:]
	}
	return src, nil
}

func (a *sumDecimal) Append(dst []byte, id int32) []byte {
	s := &a.g[id]
	b := s.sum.Bytes()
	dst = append(dst, b[:]...)
	used := int64(0)
	var scales scaleCounts
	if a.retract {
		scales = a.scales[id]
	}
	for _, n := range scales {
		if n != 0 {
			used++
		}
	}
	for _, x := range []int64{s.n, s.nan, s.pinf, s.ninf, s.overflow, s.maxScale, used} {
		dst = binary.AppendVarint(dst, x)
	}
	for sc, n := range scales {
		if n != 0 {
			dst = binary.AppendUvarint(append(dst, byte(sc)), uint64(n))
		}
	}
	return dst
}

func (a *sumDecimal) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		s := &a.g[g]
		switch {
		case s.n+s.nan+s.pinf+s.ninf == 0:
			out.AppendNull()
		case s.nan > 0 || s.pinf > 0 && s.ninf > 0:
			out.AppendDecimal(decimal.NaN)
		case s.pinf > 0:
			out.AppendDecimal(decimal.Inf)
		case s.ninf > 0:
			out.AppendDecimal(decimal.NegInf)
		case s.overflow > 0:
			fail(k, sqlerr.New(sqlerr.NumericValueOutOfRange, "numeric value has more than %d digits", decimal.MaxDigits))
			out.AppendNull()
		default:
			d, err := s.sum.Round(a.scale(g))
			if err == nil && a.avg {
				d, err = d.Div(decimal.FromInt64(s.n))
			}
			appendDecimal(out, k, d, err, fail)
		}
	}
}

// scale returns the largest scale among the group's rows.
func (a *sumDecimal) scale(g int32) int {
	if !a.retract {
		return int(a.g[g].maxScale)
	}
	sc := decimal.MaxScale
	for sc > 0 && a.scales[g][sc] == 0 {
		sc--
	}
	return sc
}

func (a *sumDecimal) Reset() { a.g, a.scales = a.g[:0], a.scales[:0] }
