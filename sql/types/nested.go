package types

import (
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
)

// appendArray appends row i of a List column as an array of elem.
func appendArray(dst []byte, elem Type, v *arrowbatch.Vec, i int, env *Env) []byte {
	lo, hi := v.ListAt(i)
	kid := v.Kids[0]
	dst = append(dst, '{')
	for k := lo; k < hi; k++ {
		if k > lo {
			dst = append(dst, ',')
		}
		if kid.IsNull(k) {
			dst = append(dst, "NULL"...)
			continue
		}
		start := len(dst)
		dst = AppendText(dst, elem, kid, k, env)
		if elem.ID != Array && quotesInArray(dst[start:]) {
			dst = quoteTail(dst, start, '\\')
		}
	}
	return append(dst, '}')
}

func quotesInArray(b []byte) bool {
	if len(b) == 0 || len(b) == 4 && strings.EqualFold(string(b), "null") {
		return true
	}
	for _, c := range b {
		switch c {
		case '"', '\\', '{', '}', ',':
			return true
		}
		if isSpace(c) {
			return true
		}
	}
	return false
}

// quoteTail puts dst[start:] in double quotes; a quote inside is led by esc, a
// backslash doubled.
func quoteTail(dst []byte, start int, esc byte) []byte {
	extra := 2
	for _, c := range dst[start:] {
		if c == '"' || c == '\\' {
			extra++
		}
	}
	from := len(dst) - 1
	for range extra {
		dst = append(dst, 0)
	}
	to := len(dst) - 1
	dst[to] = '"'
	to--
	for ; from >= start; from-- {
		c := dst[from]
		dst[to] = c
		to--
		switch c {
		case '"':
			dst[to] = esc
			to--
		case '\\':
			dst[to] = '\\'
			to--
		}
	}
	dst[to] = '"'
	return dst
}

// appendRecord appends row i of a Struct column in PostgreSQL's form of a row.
func appendRecord(dst []byte, fields []Field, v *arrowbatch.Vec, i int, env *Env) []byte {
	dst = append(dst, '(')
	for k, kid := range v.Kids {
		if k > 0 {
			dst = append(dst, ',')
		}
		if kid.IsNull(i) {
			continue
		}
		start := len(dst)
		dst = AppendText(dst, fields[k].Type, kid, i, env)
		if quotesInRecord(dst[start:]) {
			dst = quoteTail(dst, start, '"')
		}
	}
	return append(dst, ')')
}

func quotesInRecord(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	for _, c := range b {
		switch c {
		case '"', '\\', '(', ')', ',':
			return true
		}
		if isSpace(c) {
			return true
		}
	}
	return false
}
