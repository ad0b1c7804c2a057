package format

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// AppendJSONValue appends row i of v, a column of type t, as PostgreSQL's to_json
// prints it: numbers as numbers, times in ISO 8601, bytea as "\\x…", what has no
// form in JSON as a string of its text.
func AppendJSONValue(dst []byte, t types.Type, v *arrowbatch.Vec, i int, env *types.Env) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch t.ID {
	case types.Text, types.Varchar, types.Bpchar, types.Name, types.Char, types.Unknown:
		return AppendJSONString(dst, v.BytesAt(i))
	case types.Int2, types.Int4, types.Int8:
		return types.AppendText(dst, t, v, i, env)
	case types.Bool:
		if v.Bits.Get(i) {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case types.Float4, types.Float8, types.Numeric:
		at := len(dst)
		dst = types.AppendText(dst, t, v, i, env)
		if c := dst[len(dst)-1]; c-'0' <= 9 {
			return dst
		}
		return quote(dst, at) // NaN, Infinity
	case types.JSON, types.JSONB:
		return appendOneLine(dst, v.BytesAt(i))
	case types.Timestamp, types.Timestamptz:
		at := len(dst)
		dst = types.AppendText(dst, t, v, i, env)
		return quote(isoTime(dst, at, t.ID == types.Timestamptz), at)
	case types.Array:
		dst = append(dst, '[')
		lo, hi := v.ListAt(i)
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = AppendJSONValue(dst, *t.Elem, v.Kids[0], k, env)
		}
		return append(dst, ']')
	case types.Struct:
		dst = append(dst, '{')
		for k, f := range t.Fields {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendJSONString(dst, []byte(f.Name)), ':')
			dst = AppendJSONValue(dst, f.Type, v.Kids[k], i, env)
		}
		return append(dst, '}')
	}
	at := len(dst)
	dst = types.AppendText(dst, t, v, i, env)
	return quote(dst, at)
}

// quote makes a string of dst[at:].
func quote(dst []byte, at int) []byte {
	for j := at; j < len(dst); j++ {
		if c := dst[j]; c < 0x20 || c == '"' || c == '\\' {
			s := bytes.Clone(dst[at:])
			return AppendJSONString(dst[:at], s)
		}
	}
	dst = append(dst, 0, '"')
	copy(dst[at+1:], dst[at:len(dst)-2])
	dst[at] = '"'
	return dst
}

// isoTime turns PostgreSQL's time dst[at:] into ISO 8601: a T before the time,
// minutes in the zone.
func isoTime(dst []byte, at int, zone bool) []byte {
	t := bytes.IndexByte(dst[at:], ' ')
	if t < 0 {
		return dst // infinity
	}
	dst[at+t] = 'T'
	if !zone {
		return dst
	}
	z := bytes.LastIndexAny(dst[at+t:], "+-")
	if z < 0 {
		return dst
	}
	z += at + t
	if end := z + 3; end == len(dst) || dst[end] == ' ' {
		dst = append(dst, ":00"...)
		copy(dst[end+3:], dst[end:len(dst)-3])
		copy(dst[end:], ":00")
	}
	return dst
}

// appendOneLine appends a JSON text, which may be pretty-printed, in one line.
func appendOneLine(dst, s []byte) []byte {
	at := len(dst)
	dst = append(dst, s...)
	for j := at; j < len(dst); j++ {
		if dst[j] == '\n' || dst[j] == '\r' { // never within a string
			dst[j] = ' '
		}
	}
	return dst
}

// AppendJSONString appends s as a JSON string.
func AppendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			// Bytes from 0x80 on need no escape.
			m := specials(binary.LittleEndian.Uint64(s[i:]) &^ tops)
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
