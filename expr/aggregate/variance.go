package aggregate

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// varKind says which of the four functions a variance aggregate is.
type varKind struct{ sample, root bool }

func varianceOf(name string) varKind {
	switch name {
	case "stddev", "stddev_samp":
		return varKind{true, true}
	case "stddev_pop":
		return varKind{false, true}
	case "variance", "var_samp":
		return varKind{true, false}
	}
	return varKind{}
}

// varDecimal is variance and standard deviation of exact numbers: count, sum and
// sum of squares, which can be taken back.
type varDecimal struct {
	varKind
	g []varState
}

type varState struct {
	n, nan, overflow int64
	sum, sq          decimal.Decimal
}

func (a *varDecimal) Grow(n int) { a.g = grow(a.g, n) }

func (a *varDecimal) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		i := row(rows, k)
		if v.IsNull(i) {
			continue
		}
		s, d, sg := &a.g[g], v.Dec[i], sign(ops, i)
		s.n += sg
		if d.Special() != decimal.Finite {
			s.nan += sg
			continue
		}
		q, err := d.Mul(d)
		if err == nil && sg < 0 {
			d, q = d.Neg(), q.Neg()
		}
		if err == nil {
			err = s.add(d, q)
		}
		if err != nil {
			s.overflow++
		}
	}
}

func (s *varState) add(d, q decimal.Decimal) error {
	sum, err := s.sum.Add(d)
	if err != nil {
		return err
	}
	sq, err := s.sq.Add(q)
	if err != nil {
		return err
	}
	s.sum, s.sq = sum, sq
	return nil
}

func (a *varDecimal) Merge(id int32, src []byte) ([]byte, error) {
	s := &a.g[id]
	if len(src) < 32 {
		return nil, errState
	}
	if s.add(decimal.FromBytes([16]byte(src[:16])), decimal.FromBytes([16]byte(src[16:32]))) != nil {
		s.overflow++
	}
	src = src[32:]
	for _, p := range []*int64{&s.n, &s.nan, &s.overflow} {
		x, k := binary.Varint(src)
		if k <= 0 {
			return nil, errState
		}
		*p += x
		src = src[k:]
	}
	return src, nil
}

func (a *varDecimal) Append(dst []byte, id int32) []byte {
	s := &a.g[id]
	sum, sq := s.sum.Bytes(), s.sq.Bytes()
	dst = append(append(dst, sum[:]...), sq[:]...)
	for _, x := range []int64{s.n, s.nan, s.overflow} {
		dst = binary.AppendVarint(dst, x)
	}
	return dst
}

func (a *varDecimal) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		s := &a.g[g]
		switch {
		case s.n == 0 || a.sample && s.n == 1:
			out.AppendNull()
		case s.nan > 0:
			out.AppendDecimal(decimal.NaN)
		case s.overflow > 0:
			fail(k, sqlerr.New(sqlerr.NumericValueOutOfRange, "numeric value has more than %d digits", decimal.MaxDigits))
			out.AppendNull()
		default:
			d, err := a.value(s)
			appendDecimal(out, k, d, err, fail)
		}
	}
}

// value is (n·Σx² − (Σx)²) / (n·n or n·(n−1)), PostgreSQL's numeric formula.
func (a *varDecimal) value(s *varState) (decimal.Decimal, error) {
	n := decimal.FromInt64(s.n)
	num, err := n.Mul(s.sq)
	if err != nil {
		return num, err
	}
	sq, err := s.sum.Mul(s.sum)
	if err != nil {
		return num, err
	}
	if num, err = num.Sub(sq); err != nil {
		return num, err
	}
	if num.Sign() <= 0 {
		return decimal.Zero, nil
	}
	m := s.n
	if a.sample {
		m--
	}
	den, err := n.Mul(decimal.FromInt64(m))
	if err != nil {
		return num, err
	}
	if num, err = num.Div(den); err != nil || !a.root {
		return num, err
	}
	return sqrtDecimal(num)
}

func (a *varDecimal) Reset() { a.g = a.g[:0] }

// varFloat is variance and standard deviation of floating-point numbers by the
// method of Youngs and Cramer, as PostgreSQL computes it. Rows cannot be taken
// back.
type varFloat struct {
	varKind
	g []youngsCramer
}

type youngsCramer struct{ n, sx, sxx float64 }

func (a *varFloat) Grow(n int) { a.g = grow(a.g, n) }

func (a *varFloat) Update(ids, rows []int32, args []*arrowbatch.Vec, _ []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		if i := row(rows, k); !v.IsNull(i) {
			a.g[g].add(v.F64[i])
		}
	}
}

func (s *youngsCramer) add(x float64) {
	s.n++
	s.sx += x
	if s.n > 1 {
		t := x*s.n - s.sx
		s.sxx += t * t / (s.n * (s.n - 1))
	} else if math.IsInf(x, 0) || x != x {
		s.sxx = math.NaN()
	}
}

func (a *varFloat) Merge(id int32, src []byte) ([]byte, error) {
	if len(src) < 24 {
		return nil, errState
	}
	f := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])) }
	o, s := youngsCramer{f(0), f(1), f(2)}, &a.g[id]
	switch {
	case s.n == 0:
		*s = o
	case o.n > 0:
		t := s.sx/s.n - o.sx/o.n
		*s = youngsCramer{s.n + o.n, s.sx + o.sx, s.sxx + o.sxx + s.n*o.n*t*t/(s.n+o.n)}
	}
	return src[24:], nil
}

func (a *varFloat) Append(dst []byte, id int32) []byte {
	for _, x := range []float64{a.g[id].n, a.g[id].sx, a.g[id].sxx} {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

func (a *varFloat) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		s := a.g[g]
		m := s.n
		if a.sample {
			m--
		}
		if s.n == 0 || m <= 0 {
			out.AppendNull()
			continue
		}
		x := s.sxx / m
		if a.root {
			x = math.Sqrt(x)
		}
		if math.IsInf(x, 0) && !math.IsInf(s.sx, 0) {
			fail(k, sqlerr.New(sqlerr.NumericValueOutOfRange, "value out of range: overflow"))
			out.AppendNull()
			continue
		}
		out.AppendFloat64(x)
	}
}

func (a *varFloat) Reset() { a.g = a.g[:0] }

// sqrtDecimal is the square root of a variance; like PostgreSQL's it has the
// variance's scale.
func sqrtDecimal(d decimal.Decimal) (decimal.Decimal, error) {
	neg, digits, scale := d.Digits()
	if neg || len(digits) == 0 {
		return decimal.Zero, nil
	}
	x, _ := new(big.Int).SetString(string(digits), 10)
	// One digit more than wanted decides the rounding.
	x.Mul(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale+2)), nil))
	x.Sqrt(x)
	r, err := decimal.Parse(x.String())
	if err != nil {
		return decimal.Zero, err
	}
	neg, digits, _ = r.Digits()
	if r, err = decimal.FromDigits(neg, digits, scale+1); err != nil {
		return decimal.Zero, err
	}
	return r.Round(scale)
}
