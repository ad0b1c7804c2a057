package scalar

import (
	"strings"

	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// numWriter puts a number through a format. It follows PostgreSQL's own writer
// state by state, for its blanks and signs obey no shorter rule.
type numWriter struct {
	f       *NumberFormat
	dst     []byte
	num     string // digits, with a point
	pos     int    // next character of num
	sign    byte
	signed  bool // the sign is written, or needs not be
	post    bool // S stands behind
	bracket bool
	pre     int // blanks before the number
	cur     int // fields done
	count   int
	last    int // last digit that counts where FM drops zeros, -1: none
	inside  bool
}

func (f *NumberFormat) appendDigits(dst []byte, s string) []byte {
	w := numWriter{f: f, dst: dst, sign: '+', num: s, last: -1, post: f.postSign, bracket: f.brackets}
	if s[0] == '-' {
		w.sign, w.num = '-', s[1:]
	}
	pre := f.pre + f.multi
	whole := strings.IndexByte(w.num, '.')
	if whole < 0 {
		whole = len(w.num)
	}
	if whole < pre {
		w.pre = pre - whole
	} else if whole > pre {
		w.num = strings.Repeat("#", pre) + "." + strings.Repeat("#", f.post)
	}
	if f.plus || f.minus {
		w.signed = !f.plus || f.minus
	} else {
		if w.sign != '-' && f.fill {
			w.bracket = false
		}
		w.signed = w.sign == '+' && f.fill && !f.signed
		if f.signed && !w.post && pre == f.signAt {
			w.post = true
		}
	}
	w.count = f.post + pre - 1
	if point := strings.IndexByte(w.num, '.'); f.fill && f.point && point >= 0 {
		w.last = point
		for i := point + 1; i < len(w.num); i++ {
			if w.num[i] != '0' {
				w.last = i
			}
		}
		if f.zeroEnd > w.pre {
			w.last = max(w.last, min(len(w.num)-1, f.zeroEnd-w.pre))
		}
	}
	if !w.signed && w.pre == 0 {
		w.count++
	}
	for _, n := range f.nodes {
		w.node(n)
	}
	return w.dst
}

func (w *numWriter) char() byte {
	if w.pos < len(w.num) {
		return w.num[w.pos]
	}
	return 0
}

func (w *numWriter) lastIsPoint() bool { return w.last >= 0 && w.num[w.last] == '.' }

// hiddenZero tells whether the next digit is the 0 before the point that 9 hides.
func (w *numWriter) hiddenZero() bool {
	return !w.f.zero && w.pos == 0 && w.char() == '0' && w.f.post != 0
}

func (w *numWriter) node(n numNode) {
	blank := func(c byte, show bool) {
		if show {
			w.dst = append(w.dst, c)
		} else if !w.f.fill {
			w.dst = append(w.dst, ' ')
		}
	}
	switch n.key {
	case num9, num0, numPoint:
		w.digit(n.key)
	case numComma:
		blank(',', w.inside)
	case numCurrency:
		if n.text == "L" {
			w.dst = append(w.dst, ' ')
		}
	case numMI:
		blank('-', w.sign == '-')
	case numPL:
		blank('+', w.sign == '+')
	case numSG:
		w.dst = append(w.dst, w.sign)
	case numTH:
		if w.num[0] != '#' && w.sign != '-' && !w.f.point {
			th := "TH"
			if n.lower {
				th = "th"
			}
			w.dst = append(w.dst, ordinal(w.num, th)...)
		}
	case numLiteral:
		w.dst = append(w.dst, n.text...)
	}
}

func (w *numWriter) writeSign() {
	f := w.f
	switch {
	case f.signed:
		if !w.post {
			w.dst = append(w.dst, w.sign)
			w.signed = true
		}
	case w.bracket:
		w.dst = append(w.dst, map[byte]byte{'+': ' ', '-': '<'}[w.sign])
		w.signed = true
	case w.sign == '+':
		if !f.fill {
			w.dst = append(w.dst, ' ')
		}
		w.signed = true
	default:
		w.dst = append(w.dst, '-')
		w.signed = true
	}
}

func (w *numWriter) digit(key numKey) {
	f := w.f
	w.inside = false
	if !w.signed && (w.cur >= w.pre || f.zero && f.zeroStart == w.cur) && (!w.hiddenZero() || w.lastIsPoint()) {
		w.writeSign()
	}
	switch {
	case w.cur < w.pre && (f.zeroStart > w.cur || !f.zero):
		if !f.fill {
			w.dst = append(w.dst, ' ')
		}
	case w.cur < w.pre:
		w.dst = append(w.dst, '0')
		w.inside = true
	default:
		w.numberChar(key)
		if w.pos < len(w.num) {
			w.pos++
		}
	}
	end := w.count
	if w.pre > 0 {
		end++
	}
	if f.point {
		end++
	}
	if w.last >= 0 && w.last == w.pos {
		end = w.cur
	}
	if w.cur+1 == end {
		if w.signed && w.bracket {
			w.dst = append(w.dst, map[byte]byte{'+': ' ', '-': '>'}[w.sign])
		} else if f.signed && w.post {
			w.dst = append(w.dst, w.sign)
		}
	}
	w.cur++
}

func (w *numWriter) numberChar(key numKey) {
	switch c := w.char(); {
	case c == '.':
		w.dst = append(w.dst, '.')
	case w.last >= 0 && w.pos > w.last && key != num0:
	case w.hiddenZero():
		if !w.f.fill {
			w.dst = append(w.dst, ' ')
		} else if w.lastIsPoint() {
			w.dst = append(w.dst, '0')
		}
	case c != 0:
		w.dst = append(w.dst, c)
		w.inside = true
	}
}

// numReader collects the number that to_number reads.
type numReader struct {
	f         *NumberFormat
	s         string
	num       []byte
	neg       bool
	point     bool
	pre, post int
}

// Number is to_number: the number that a text holds by a format.
func (f *NumberFormat) Number(s string) (decimal.Decimal, error) {
	if f.roman {
		return decimal.Decimal{}, sqlerr.Unsupported("\"RN\" not supported for input")
	}
	if f.expo {
		return decimal.Decimal{}, sqlerr.Unsupported("\"EEEE\" not supported for input")
	}
	r := numReader{f: f, s: s}
	for _, n := range f.nodes {
		if r.s == "" {
			break
		}
		r.node(n)
	}
	if r.s != "" && (r.s[0] == '-' || r.s[0] == '>') && (f.signed || f.minus || f.brackets) {
		r.neg = true
	}
	if len(r.num) == 0 || string(r.num) == "." {
		return decimal.Decimal{}, sqlerr.New(sqlerr.InvalidTextRepresentation,
			"invalid input syntax for type numeric: \"%s\"", " ")
	}
	d, err := decimal.ParseBytes(r.num)
	if err != nil {
		return d, err
	}
	if r.neg {
		d = d.Neg()
	}
	if d, err = d.Fits(f.pre+f.multi+r.post, r.post); err != nil || f.multi == 0 {
		return d, err
	}
	shift, err := Power(decimal.FromInt64(10), decimal.FromInt64(int64(-f.multi)))
	if err != nil {
		return d, err
	}
	return d.Mul(shift)
}

func (r *numReader) sign() {
	if r.s == "" {
		return
	}
	switch r.s[0] {
	case '-', '<':
		r.neg = true
		r.s = r.s[1:]
	case '+':
		r.s = r.s[1:]
	}
}

func (r *numReader) node(n numNode) {
	switch n.key {
	case num9, num0, numPoint:
		r.digit()
	case numComma:
		if r.s[0] == ',' {
			r.s = r.s[1:]
		}
	case numS:
		r.sign()
	case numMI, numSG, numPL:
		if isData(r.s[0]) {
			r.sign()
		} else {
			r.s = r.s[1:]
		}
	case numPR, numE, numV, numB:
	case numTH:
		r.s = r.s[min(2, len(r.s)):]
	default:
		r.s = r.s[min(len(n.text), len(r.s)):]
	}
}

// digit is a field of a digit or the point: it takes a character, whatever it is.
func (r *numReader) digit() {
	r.s = strings.TrimPrefix(r.s, " ")
	if r.pre+r.post == 0 {
		r.sign()
	}
	if r.s == "" {
		return
	}
	digit := false
	switch c := r.s[0]; {
	case c >= '0' && c <= '9':
		if r.point && r.post >= r.f.post {
			break
		}
		r.num, digit = append(r.num, c), true
		if r.point {
			r.post++
		} else {
			r.pre++
		}
	case c == '.' && r.f.point && !r.point:
		r.num = append(r.num, c)
		r.point = true
	}
	r.s = r.s[1:]
	// A sign behind the number may come sooner than the format says.
	if digit && r.f.signed && r.s != "" && (r.s[0] == '-' || r.s[0] == '+') {
		r.sign()
	}
}

// isData tells whether a character may belong to a number.
func isData(c byte) bool { return c >= '0' && c <= '9' || c == '.' || c == ',' || c == '-' || c == '+' }
