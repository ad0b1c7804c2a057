package scalar

import (
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// AppendHex appends the hexadecimal digits of x without leading zeros.
func AppendHex(dst []byte, x uint64) []byte {
	const digits = "0123456789abcdef"
	var buf [16]byte
	n := len(buf)
	for {
		n--
		buf[n] = digits[x&15]
		if x >>= 4; x == 0 {
			return append(dst, buf[n:]...)
		}
	}
}

// conversion is one % of a format string.
type conversion struct {
	pos      int // argument given by n$, 0: the next one
	left     bool
	width    int
	star     bool
	starPos  int // argument of *n$, 0: the next one
	hasWidth bool
	verb     byte
}

// AppendFormat is PostgreSQL's format(): %s, %I, %L and %% with n$, -, width and
// *. text appends the text of argument k, from 0; ok is false for NULL.
func AppendFormat(dst []byte, layout string, n int,
	text func(dst []byte, k int) (out []byte, ok bool)) ([]byte, error) {
	next := 0
	arg := func(pos int) (int, error) {
		if pos == 0 {
			next++
			pos = next
		} else {
			next = pos
		}
		if pos > n {
			return 0, sqlerr.New(sqlerr.InvalidParameterValue, "too few arguments for format()")
		}
		return pos - 1, nil
	}
	for i := 0; i < len(layout); {
		k := strings.IndexByte(layout[i:], '%')
		if k < 0 {
			return append(dst, layout[i:]...), nil
		}
		dst = append(dst, layout[i:i+k]...)
		i += k + 1
		if i < len(layout) && layout[i] == '%' {
			dst = append(dst, '%')
			i++
			continue
		}
		c, end, err := readConversion(layout, i)
		if err != nil {
			return dst, err
		}
		i = end
		if c.star {
			a, err := arg(c.starPos)
			if err != nil {
				return dst, err
			}
			buf, ok := text(nil, a)
			if ok {
				w, err := parseWidth(string(buf))
				if err != nil {
					return dst, err
				}
				if w < 0 {
					c.left, w = true, -w
				}
				c.width = w
			}
		}
		a, err := arg(c.pos)
		if err != nil {
			return dst, err
		}
		if dst, err = appendConverted(dst, c, a, text); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func parseWidth(s string) (int, error) {
	neg := strings.HasPrefix(s, "-")
	w := 0
	for _, c := range []byte(strings.TrimPrefix(s, "-")) {
		if c < '0' || c > '9' {
			return 0, sqlerr.New(sqlerr.InvalidTextRepresentation, "invalid input syntax for type integer: \"%s\"", s)
		}
		if w = w*10 + int(c-'0'); w > maxText {
			return 0, sqlerr.New(sqlerr.NumericValueOutOfRange, "number is out of range")
		}
	}
	if neg {
		return -w, nil
	}
	return w, nil
}

// readConversion reads what follows a %.
func readConversion(s string, i int) (c conversion, end int, err error) {
	unterminated := sqlerr.New(sqlerr.InvalidParameterValue, "unterminated format() type specifier").
		WithHint(`For a single "%%" use "%%%%".`)
	number := func() (n int, ok bool) {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			n, ok = min(n*10+int(s[i]-'0'), maxText+1), true
			i++
		}
		return n, ok
	}
	zero := sqlerr.New(sqlerr.InvalidParameterValue, "format specifies argument 0, but arguments are numbered from 1")
	n, ok := number()
	if i == len(s) {
		return c, i, unterminated
	}
	switch {
	case ok && s[i] == '$':
		if n == 0 {
			return c, i, zero
		}
		c.pos = n
		i++
		n, ok = 0, false
	case ok:
		c.width, c.hasWidth = n, true
	}
	for !c.hasWidth && i < len(s) && s[i] == '-' {
		c.left = true
		i++
	}
	if !c.hasWidth && i < len(s) && s[i] == '*' {
		i++
		c.star = true
		if n, ok = number(); ok {
			if i == len(s) {
				return c, i, unterminated
			}
			if s[i] != '$' {
				return c, i, sqlerr.New(sqlerr.InvalidParameterValue, "width argument position must be ended by \"$\"")
			}
			if n == 0 {
				return c, i, zero
			}
			c.starPos = n
			i++
		}
	} else if !c.hasWidth {
		c.width, _ = number()
	}
	if i == len(s) {
		return c, i, unterminated
	}
	if c.width > maxText {
		return c, i, sqlerr.New(sqlerr.NumericValueOutOfRange, "number is out of range")
	}
	c.verb = s[i]
	if c.verb != 's' && c.verb != 'I' && c.verb != 'L' {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return c, i, sqlerr.New(sqlerr.InvalidParameterValue, "unrecognized format() type specifier \"%c\"", r).
			WithHint(`For a single "%%" use "%%%%".`)
	}
	return c, i + 1, nil
}

func appendConverted(dst []byte, c conversion, k int, text func(dst []byte, k int) ([]byte, bool)) ([]byte, error) {
	buf, ok := text(nil, k)
	switch {
	case c.verb == 'L' && ok:
		buf = AppendLiteral(nil, string(buf))
	case c.verb == 'L':
		buf = []byte("NULL")
	case c.verb == 'I' && ok:
		buf = AppendIdent(nil, string(buf))
	case c.verb == 'I':
		return dst, sqlerr.New(sqlerr.NullValueNotAllowed, "null values cannot be formatted as an SQL identifier")
	}
	fill := max(c.width-utf8.RuneCount(buf), 0)
	if c.left {
		dst = append(dst, buf...)
	}
	for range fill {
		dst = append(dst, ' ')
	}
	if !c.left {
		dst = append(dst, buf...)
	}
	return dst, nil
}
