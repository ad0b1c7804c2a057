package arrowbatch

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/decimal"
)

// The readable form of a batch, for tests: a line per row, + or - for its op and
// the values behind it, apart by blanks.
//
//	+ 1 a 2.50
//	- 2 "two words" NULL
//
// Values print by their layout: times as the numbers they are, bytes as text, in
// quotes where they are empty or have blanks or signs, lists in [ ], structs in ( ).

// Pretty returns b's readable form.
func Pretty(b *Batch) string {
	return string(PrettyWith(b, func(dst []byte, col, i int) []byte { return b.Cols[col].appendPretty(dst, i) }))
}

// PrettyWith returns b's readable form with values that are not NULL written by
// value.
func PrettyWith(b *Batch, value func(dst []byte, col, i int) []byte) []byte {
	var dst []byte
	for i := range b.Len {
		if b.OpAt(i) == Delete {
			dst = append(dst, '-')
		} else {
			dst = append(dst, '+')
		}
		for k, c := range b.Cols {
			dst = append(dst, ' ')
			if c.IsNull(i) {
				dst = append(dst, "NULL"...)
			} else {
				dst = value(dst, k, i)
			}
		}
		dst = append(dst, '\n')
	}
	return dst
}

func (v *Vec) appendPretty(dst []byte, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "NULL"...)
	}
	switch v.Layout {
	case Bool:
		return strconv.AppendBool(dst, v.Bits.Get(i))
	case Int16:
		return strconv.AppendInt(dst, int64(v.I16[i]), 10)
	case Int32:
		return strconv.AppendInt(dst, int64(v.I32[i]), 10)
	case Int64:
		return strconv.AppendInt(dst, v.I64[i], 10)
	case Float32:
		return strconv.AppendFloat(dst, float64(v.F32[i]), 'g', -1, 32)
	case Float64:
		return strconv.AppendFloat(dst, v.F64[i], 'g', -1, 64)
	case Decimal:
		return v.Dec[i].AppendText(dst)
	case Interval:
		x := v.Ivl[i]
		return fmt.Appendf(dst, "%dmon%dd%dus", x.Months, x.Days, x.Micros)
	case UUID:
		return hex.AppendEncode(dst, v.U128[i][:])
	case Bytes:
		return AppendWord(dst, v.BytesAt(i))
	case List:
		lo, hi := v.ListAt(i)
		dst = append(dst, '[')
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ' ')
			}
			dst = v.Kids[0].appendPretty(dst, k)
		}
		return append(dst, ']')
	}
	dst = append(dst, '(')
	for k, kid := range v.Kids {
		if k > 0 {
			dst = append(dst, ' ')
		}
		dst = kid.appendPretty(dst, i)
	}
	return append(dst, ')')
}

// AppendWord appends text as one word of the readable form, in quotes where it
// needs them.
func AppendWord(dst, b []byte) []byte {
	plain := len(b) > 0 && string(b) != "NULL"
	for _, r := range string(b) {
		if r == utf8.RuneError || strings.ContainsRune(`"[]()`, r) || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			plain = false
			break
		}
	}
	if plain {
		return append(dst, b...)
	}
	return strconv.AppendQuote(dst, string(b))
}

// Word is a word of the readable form: what stands in quotes is no NULL and no
// bracket.
type Word struct {
	Text   string
	Quoted bool
}

// IsNull tells whether the word stands for NULL.
func (w Word) IsNull() bool { return !w.Quoted && w.Text == "NULL" }

// words cuts a line; brackets are words of their own where nested is set.
func words(line string, nested bool) (ws []Word, err error) {
	for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
		switch c := line[0]; {
		case c == '"':
			q, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("open quote in %q", line)
			}
			text, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			ws, line = append(ws, Word{text, true}), line[len(q):]
		case nested && strings.IndexByte("[]()", c) >= 0:
			ws, line = append(ws, Word{Text: line[:1]}), line[1:]
		default:
			stop := " \t"
			if nested {
				stop += "[]()"
			}
			end := strings.IndexAny(line, stop)
			if end < 0 {
				end = len(line)
			}
			ws, line = append(ws, Word{Text: line[:end]}), line[end:]
		}
	}
	return ws, nil
}

// ParseLines reads the readable form and calls row with the op and the words of
// each line; blank lines and those that begin with # are skipped.
func ParseLines(text string, nested bool, row func(op Op, ws []Word) error) error {
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		op := Insert
		switch line[0] {
		case '+':
		case '-':
			op = Delete
		default:
			return fmt.Errorf("line %d: a row begins with + or -: %q", n+1, line)
		}
		ws, err := words(line[1:], nested)
		if err == nil {
			err = row(op, ws)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return nil
}

// ParsePretty reads what Pretty wrote into a batch of the given shapes.
func ParsePretty(shapes []Shape, text string) (*Batch, error) {
	b := NewLike(shapes)
	err := ParseLines(text, true, func(op Op, ws []Word) (err error) {
		for _, c := range b.Cols {
			if ws, err = c.parsePretty(ws); err != nil {
				return err
			}
		}
		if len(ws) > 0 {
			return fmt.Errorf("%d columns, and %q behind them", len(b.Cols), ws[0].Text)
		}
		b.AppendOp(op)
		return nil
	})
	return b, err
}

// parsePretty reads one value from the front of ws and returns the rest.
func (v *Vec) parsePretty(ws []Word) ([]Word, error) {
	if len(ws) == 0 {
		return nil, fmt.Errorf("a value of %s is missing", v.Layout)
	}
	w, rest := ws[0], ws[1:]
	if w.IsNull() {
		v.AppendNull()
		return rest, nil
	}
	switch v.Layout {
	case List:
		return v.parsePrettyList(w, rest)
	case Struct:
		return v.parsePrettyStruct(w, rest)
	}
	if !w.Quoted && strings.IndexAny(w.Text, "[]()") == 0 {
		return nil, fmt.Errorf("%q is no %s", w.Text, v.Layout)
	}
	return rest, v.parseWord(w.Text)
}

func (v *Vec) parsePrettyList(w Word, ws []Word) (_ []Word, err error) {
	if w.Text != "[" || w.Quoted {
		return nil, fmt.Errorf("%q begins no list", w.Text)
	}
	for len(ws) > 0 && (ws[0].Quoted || ws[0].Text != "]") {
		if ws, err = v.Kids[0].parsePretty(ws); err != nil {
			return nil, err
		}
	}
	if len(ws) == 0 {
		return nil, fmt.Errorf("a list is not closed")
	}
	v.EndList()
	return ws[1:], nil
}

func (v *Vec) parsePrettyStruct(w Word, ws []Word) (_ []Word, err error) {
	if w.Text != "(" || w.Quoted {
		return nil, fmt.Errorf("%q begins no struct", w.Text)
	}
	for _, kid := range v.Kids {
		if ws, err = kid.parsePretty(ws); err != nil {
			return nil, err
		}
	}
	if len(ws) == 0 || ws[0].Quoted || ws[0].Text != ")" {
		return nil, fmt.Errorf("a struct is not closed")
	}
	v.EndStruct()
	return ws[1:], nil
}

// parseWord reads a value of a layout without children.
func (v *Vec) parseWord(s string) error {
	switch v.Layout {
	case Bool:
		x, err := strconv.ParseBool(s)
		v.AppendBool(x)
		return err
	case Int16:
		x, err := strconv.ParseInt(s, 10, 16)
		v.AppendInt16(int16(x))
		return err
	case Int32:
		x, err := strconv.ParseInt(s, 10, 32)
		v.AppendInt32(int32(x))
		return err
	case Int64:
		x, err := strconv.ParseInt(s, 10, 64)
		v.AppendInt64(x)
		return err
	case Float32:
		x, err := strconv.ParseFloat(s, 32)
		v.AppendFloat32(float32(x))
		return err
	case Float64:
		x, err := strconv.ParseFloat(s, 64)
		v.AppendFloat64(x)
		return err
	case Decimal:
		x, err := decimal.Parse(s)
		v.AppendDecimal(x)
		return err
	case Interval:
		var x IntervalValue
		_, err := fmt.Sscanf(s, "%dmon%dd%dus", &x.Months, &x.Days, &x.Micros)
		v.AppendInterval(x)
		return err
	case UUID:
		b, err := hex.DecodeString(s)
		if err == nil && len(b) != 16 {
			err = fmt.Errorf("%q has not 32 digits", s)
		}
		if err == nil {
			v.AppendUUID([16]byte(b))
		}
		return err
	}
	v.AppendString(s)
	return nil
}
