package stream

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// micros reads seconds with at most six decimals.
func micros(s string) (int64, error) {
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if len(frac) > 6 {
		return 0, fmt.Errorf("%q has too many decimals", s)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of seconds", s)
	}
	if strings.HasPrefix(s, "-") {
		n = -n
	}
	return n, nil
}

// seconds is the text of a time.
func seconds(us int64) string {
	switch us {
	case math.MaxInt64:
		return "infinity"
	case math.MinInt64:
		return "-infinity"
	}
	sign := ""
	if us < 0 {
		sign, us = "-", -us
	}
	s := strconv.FormatInt(us/1e6, 10)
	if f := us % 1e6; f != 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%06d", f), "0")
	}
	return sign + s
}

// unquoted is the text of a field, and whether it is NULL.
func unquoted(f string) (text string, null bool) {
	if strings.HasPrefix(f, "'") {
		return f[1:], false
	}
	return f, f == "NULL"
}

// appendValue adds a field to a column of type t.
func appendValue(t types.Type, f string, v *arrowbatch.Vec) error {
	text, null := unquoted(f)
	if null {
		v.AppendNull()
		return nil
	}
	if t.IsTimestamp() && !strings.HasSuffix(text, "infinity") {
		us, err := micros(text)
		v.AppendInt64(us)
		return err
	}
	return types.ParseString(t, text, v, nil)
}

// sqlValue is a field as a literal.
func sqlValue(c column, f string) (string, error) {
	v := arrowbatch.NewVec(c.typ.Shape(), 0)
	defer v.Release()
	if err := appendValue(c.typ, f, v); err != nil {
		return "", err
	}
	if v.IsNull(0) {
		return "NULL", nil
	}
	text := string(types.AppendText(nil, c.typ, v, 0, nil))
	return "'" + strings.ReplaceAll(text, "'", "''") + "'::" + c.text, nil
}

// sep stands between the values of a row that is held as one text.
const sep = "\x1f"

// expectedRow is the text of a row that a file states.
func expectedRow(cols []column, f []string) (string, error) {
	if len(f) != len(cols) {
		return "", fmt.Errorf("the result has %d columns, not %d", len(cols), len(f))
	}
	out := make([]string, len(f))
	for i, s := range f {
		text, null := unquoted(s)
		switch {
		case null:
			out[i] = "NULL"
			continue
		case cols[i].typ.IsTimestamp() && !strings.HasSuffix(text, "infinity"):
			us, err := micros(text)
			if err != nil {
				return "", err
			}
			text = seconds(us)
		}
		out[i] = "=" + text
	}
	return strings.Join(out, sep), nil
}

// shownRow is the text of row i of a batch, as expectedRow writes it.
func shownRow(ts []types.Type, b *arrowbatch.Batch, i int) string {
	out := make([]string, len(ts))
	for k, t := range ts {
		v := b.Cols[k]
		switch {
		case v.IsNull(i):
			out[k] = "NULL"
		case t.IsTimestamp():
			out[k] = "=" + seconds(v.I64[i])
		default:
			out[k] = "=" + string(types.AppendText(nil, t, v, i, nil))
		}
	}
	return strings.Join(out, sep)
}

// readable is a row's text for messages.
func readable(row string) string {
	f := strings.Split(row, sep)
	for i := range f {
		f[i] = strings.TrimPrefix(f[i], "=")
		if strings.Contains(f[i], " ") || f[i] == "" {
			f[i] = "'" + f[i] + "'"
		}
	}
	return strings.Join(f, " ")
}
