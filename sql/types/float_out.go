package types

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
)

// AppendFloat appends f as PostgreSQL prints float8 (size 64) or float4 (32).
func AppendFloat(dst []byte, f float64, size int, env *Env) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case f > math.MaxFloat64:
		return append(dst, "Infinity"...)
	case f < -math.MaxFloat64:
		return append(dst, "-Infinity"...)
	}
	if env != nil && env.RoundFloats {
		n := 15
		if size == 32 {
			n = 6
		}
		return strconv.AppendFloat(dst, f, 'g', max(n+env.ExtraFloatDigits, 1), size)
	}
	a, limit := math.Abs(f), 1e15
	if size == 32 {
		limit = 1e6
	}
	low := 1e-4
	if size == 32 {
		low = float64(float32(1e-4))
	}
	if a < limit && a >= low || a == 0 {
		if i := int64(f); float64(i) == f && (i != 0 || !math.Signbit(f)) {
			return strconv.AppendInt(dst, i, 10)
		}
		return strconv.AppendFloat(dst, f, 'f', -1, size)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, size)
	if a >= 1<<24 && (size == 32 || a >= 1<<53) && a < 1e40 {
		return openInterval(dst, start, f, size)
	}
	return dst
}

// openInterval makes a shortest number, written from start on, longer where it
// lies exactly between f and its neighbour: it reads back as f, for f is even,
// but PostgreSQL takes only what is nearer to f than to any other. That happens
// to whole numbers alone.
func openInterval(dst []byte, start int, f float64, size int) []byte {
	mant, even := uint(53), math.Float64bits(f)&1 == 0
	if size == 32 {
		mant, even = 24, math.Float32bits(float32(f))&1 == 0
	}
	if !even {
		return dst
	}
	exact, _ := big.NewFloat(f).Int(nil)
	// Twice the distance between f and its neighbours; below a power of two it
	// is half as long.
	gap := new(big.Int).Lsh(big.NewInt(1), uint(exact.BitLen())-mant)
	for digits := 0; digits < 17; digits++ {
		if digits > 0 {
			dst = strconv.AppendFloat(dst[:start], f, 'e', digits, size)
		}
		if at := bytes.IndexByte(dst[start:], 'e') - 1; digits == 0 {
			digits = max(at-1, 0)
			if f < 0 {
				digits = max(digits-1, 0)
			}
		}
		short, _, err := big.ParseFloat(string(dst[start:]), 10, 256, big.ToNearestEven)
		if err != nil {
			return dst
		}
		n, _ := short.Int(nil)
		d := n.Sub(n, exact)
		d.Abs(d).Lsh(d, 1)
		if d.Cmp(gap) < 0 && !(exact.TrailingZeroBits() == uint(exact.BitLen())-1 && d.Lsh(d, 1).Cmp(gap) == 0) {
			return dst
		}
	}
	return dst
}
