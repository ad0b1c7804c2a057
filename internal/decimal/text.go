package decimal

import (
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Parse reads a number as PostgreSQL's numeric input does: blanks around it, a
// sign, digits with a point, an exponent, or NaN, Infinity and inf in any case.
// 22P02 for what is no number, 22003 for one that is too long.
func Parse(s string) (Decimal, error) {
	m, err := parse(s)
	if err != nil {
		return Decimal{}, err
	}
	return m.decimal()
}

// ParseBytes is Parse for bytes; it keeps none of them.
func ParseBytes(b []byte) (Decimal, error) {
	m, err := parse(b)
	if err != nil {
		return Decimal{}, err
	}
	return m.decimal()
}

// ParseFit reads a number for a numeric(precision, scale) column: as many digits
// as there may be, rounded. See Parse and Fits for the errors.
func ParseFit(s string, precision, scale int) (Decimal, error) {
	m, err := parse(s)
	if err != nil {
		return Decimal{}, err
	}
	if m.special != Finite || m.dropped == 0 && m.frac >= 0 && m.frac <= MaxScale && m.c.fits() {
		d, err := m.decimal()
		if err != nil {
			return d, err
		}
		return d.Fits(precision, scale)
	}
	return m.fit(precision, scale)
}

func invalid[S string | []byte](s S) error {
	return sqlerr.New(sqlerr.InvalidTextRepresentation, `invalid input syntax for type numeric: "%s"`, string(s))
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func parse[S string | []byte](s S) (m mantissa, err error) {
	i, n := 0, len(s)
	for i < n && isSpace(s[i]) {
		i++
	}
	for n > i && isSpace(s[n-1]) {
		n--
	}
	signed := false
	if i < n && (s[i] == '-' || s[i] == '+') {
		m.neg, signed = s[i] == '-', true
		i++
	}
	if i < n && s[i] != '.' && (s[i] < '0' || s[i] > '9') {
		m.special, err = parseSpecial(s, i, n, m.neg, signed)
		return m, err
	}
	i = scanDigits(s, i, n, &m)
	if i < n && s[i] == '.' {
		whole := m.seen
		i = scanDigits(s, i+1, n, &m)
		m.frac = m.seen - whole
	}
	if m.seen == 0 {
		return m, invalid(s)
	}
	if i < n && (s[i] == 'e' || s[i] == 'E') {
		exp, j, ok := scanExponent(s, i+1, n)
		if !ok {
			return m, invalid(s)
		}
		i = j
		if exp > 1<<30 || exp < -1<<30 {
			return m, overflowsFormat()
		}
		m.frac -= exp
	}
	if i != n {
		return m, invalid(s)
	}
	return m, nil
}

func overflowsFormat() error {
	return sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
}

// mantissa is a number as it was written.
type mantissa struct {
	c       u128 // the digits, at least 37 of them where there are more
	seen    int  // digits read, leading zeros included
	frac    int  // digits after the point
	dropped int  // digits behind those of c
	neg     bool
	special Special
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
		if m.c.less(pow10[37]) {
			m.c, _ = m.c.mul(u128{0, 10})
			m.c, _ = m.c.add(u128{0, uint64(d)})
		} else {
			m.dropped++
		}
		i++
	}
	m.seen += i - start
	return i
}

func scanExponent[S string | []byte](s S, i, n int) (exp, next int, ok bool) {
	for i < n && isSpace(s[i]) { // as strtol does
		i++
	}
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

// maxWhole is PostgreSQL's own bound: that many digits before the point.
const maxWhole = 131072

// decimal returns the number with every digit that was written.
func (m *mantissa) decimal() (Decimal, error) {
	switch m.special {
	case SpecialNaN:
		return NaN, nil
	case SpecialInf:
		return Inf, nil
	case SpecialNegInf:
		return NegInf, nil
	}
	if m.dropped > 0 {
		return Decimal{}, tooLong()
	}
	if m.frac >= 0 {
		return checked(m.neg, m.c, m.frac)
	}
	if m.c.isZero() {
		return Zero, nil
	}
	if -m.frac > maxWhole {
		return Decimal{}, overflowsFormat()
	}
	c, ok := upscale(m.c, -m.frac)
	if !ok {
		return Decimal{}, tooLong()
	}
	return checked(m.neg, c, 0)
}

// fit returns the number rounded to scale. Digits that were dropped lie behind
// the 37th: where they could matter the number is too long anyway.
func (m *mantissa) fit(precision, scale int) (Decimal, error) {
	have := m.frac - m.dropped
	if !m.c.isZero() && m.c.digits()-have > maxWhole {
		return Decimal{}, overflowsFormat()
	}
	// Bring the digits below the limits of a Decimal, cut; one digit behind the
	// place to round to is enough to round by.
	c, at := m.c, have
	for at > MaxScale || !c.fits() && at > scale {
		if c.isZero() {
			at = MaxScale
			break
		}
		q, r := c.div64(10)
		if at == scale+1 && r >= 5 {
			q, _ = q.add(u128{0, 1})
		}
		c, at = q, at-1
	}
	if at < 0 {
		up, ok := upscale(c, -at)
		if !ok {
			return Decimal{}, fieldOverflow(precision, scale)
		}
		c, at = up, 0
	}
	if !c.fits() {
		return Decimal{}, fieldOverflow(precision, scale)
	}
	return build(m.neg, c, at).Fits(precision, scale)
}

func parseSpecial[S string | []byte](s S, i, n int, neg, signed bool) (Special, error) {
	var w [9]byte
	if n-i > len(w) {
		return Finite, invalid(s)
	}
	for j := i; j < n; j++ {
		w[j-i] = s[j] | 0x20
	}
	switch string(w[:n-i]) {
	case "nan":
		if !signed {
			return SpecialNaN, nil
		}
	case "infinity", "inf":
		if neg {
			return SpecialNegInf, nil
		}
		return SpecialInf, nil
	}
	return Finite, invalid(s)
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
