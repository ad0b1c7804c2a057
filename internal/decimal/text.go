package decimal

import (
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Parse reads a number as PostgreSQL's numeric input does: blanks around it, a
// sign, digits with a point, an exponent, or NaN, Infinity and inf in any case.
// 22P02 for what is no number, 22003 for one that is too long.
func Parse(s string) (Decimal, error) { return parse(s) }

// ParseBytes is Parse for bytes; it keeps none of them.
func ParseBytes(b []byte) (Decimal, error) { return parse(b) }

func invalid[S string | []byte](s S) error {
	return sqlerr.New(sqlerr.InvalidTextRepresentation, `invalid input syntax for type numeric: "%s"`, string(s))
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func parse[S string | []byte](s S) (Decimal, error) {
	i, n := 0, len(s)
	for i < n && isSpace(s[i]) {
		i++
	}
	for n > i && isSpace(s[n-1]) {
		n--
	}
	neg, signed := false, false
	if i < n && (s[i] == '-' || s[i] == '+') {
		neg, signed = s[i] == '-', true
		i++
	}
	if i < n && s[i] != '.' && (s[i] < '0' || s[i] > '9') {
		return parseSpecial(s, i, n, neg, signed)
	}
	var m mantissa
	i = scanDigits(s, i, n, &m)
	if i < n && s[i] == '.' {
		whole := m.seen
		i = scanDigits(s, i+1, n, &m)
		m.frac = m.seen - whole
	}
	if m.seen == 0 {
		return Decimal{}, invalid(s)
	}
	if i < n && (s[i] == 'e' || s[i] == 'E') {
		exp, j, ok := scanExponent(s, i+1, n)
		if !ok {
			return Decimal{}, invalid(s)
		}
		i = j
		if exp > 1<<30 || exp < -1<<30 {
			return Decimal{}, sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
		}
		m.frac -= exp
	}
	if i != n {
		return Decimal{}, invalid(s)
	}
	return m.decimal(neg)
}

// mantissa gathers the digits of a number.
type mantissa struct {
	c    u128
	seen int // digits read, leading zeros included
	frac int // digits after the point
	over bool
}

func scanDigits[S string | []byte](s S, i, n int, m *mantissa) int {
	start := i
	lo := m.c.lo
	if m.c.hi == 0 {
		for i < n && lo < 1e18 {
			d := s[i] - '0'
			if d > 9 {
				break
			}
			lo = lo*10 + uint64(d)
			i++
		}
		m.c.lo = lo
	}
	for i < n {
		d := s[i] - '0'
		if d > 9 {
			break
		}
		c, ok := m.c.mul(u128{0, 10})
		c, carry := c.add(u128{0, uint64(d)})
		if !ok || carry {
			m.over = true
		}
		m.c = c
		i++
	}
	m.seen += i - start
	return i
}

func scanExponent[S string | []byte](s S, i, n int) (exp, next int, ok bool) {
	neg := false
	if i < n && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	start := i
	for i < n && s[i] >= '0' && s[i] <= '9' {
		if exp < 1<<40 {
			exp = exp*10 + int(s[i]-'0')
		}
		i++
	}
	if neg {
		exp = -exp
	}
	return exp, i, i > start
}

func (m *mantissa) decimal(neg bool) (Decimal, error) {
	if m.over {
		return Decimal{}, tooLong()
	}
	if m.frac >= 0 {
		return checked(neg, m.c, m.frac)
	}
	if m.c.isZero() {
		return Zero, nil
	}
	// PostgreSQL's own bound comes first: 131072 digits before the point.
	if -m.frac > 131072 {
		return Decimal{}, sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
	}
	c, ok := upscale(m.c, -m.frac)
	if !ok {
		return Decimal{}, tooLong()
	}
	return checked(neg, c, 0)
}

func parseSpecial[S string | []byte](s S, i, n int, neg, signed bool) (Decimal, error) {
	var w [9]byte
	if n-i > len(w) {
		return Decimal{}, invalid(s)
	}
	for j := i; j < n; j++ {
		w[j-i] = s[j] | 0x20
	}
	switch string(w[:n-i]) {
	case "nan":
		if !signed {
			return NaN, nil
		}
	case "infinity", "inf":
		if neg {
			return NegInf, nil
		}
		return Inf, nil
	}
	return Decimal{}, invalid(s)
}

// String returns d as PostgreSQL prints it.
func (d Decimal) String() string {
	var buf [64]byte
	return string(d.AppendText(buf[:0]))
}

// AppendText appends d as PostgreSQL prints it: all digits of its scale, never
// an exponent.
func (d Decimal) AppendText(dst []byte) []byte {
	switch d.mark() {
	case markNaN:
		return append(dst, "NaN"...)
	case markPos:
		return append(dst, "Infinity"...)
	case markNeg:
		return append(dst, "-Infinity"...)
	}
	neg, c := d.abs()
	if neg {
		dst = append(dst, '-')
	}
	scale := d.mark()
	if scale == 0 && c.hi == 0 {
		return strconv.AppendUint(dst, c.lo, 10)
	}
	// All digits, at least one before the point.
	var buf [MaxScale + 2]byte
	i := len(buf)
	left := scale
	for left > 0 || !c.isZero() || i == len(buf)-scale {
		if c.hi != 0 {
			q, r := c.div64(1e18)
			i, left = putDigits(buf[:], i, left, r, 18)
			c = q
			continue
		}
		i--
		buf[i] = '0' + byte(c.lo%10)
		c.lo /= 10
		left--
	}
	whole := len(buf) - scale
	dst = append(dst, buf[i:whole]...)
	if scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, buf[whole:]...)
	}
	return dst
}

// putDigits writes n digits of x before buf[i].
func putDigits(buf []byte, i, left int, x uint64, n int) (int, int) {
	for range n {
		i--
		buf[i] = '0' + byte(x%10)
		x /= 10
	}
	return i, left - n
}
