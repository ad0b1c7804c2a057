package scalar

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// maxText is the longest text that a function may make.
const maxText = 1 << 28

// ErrTooLong is for results past maxText.
var ErrTooLong = sqlerr.New(sqlerr.ProgramLimitExceeded, "requested length too large")

// Len returns the number of characters.
func Len(s string) int { return utf8.RuneCountInString(s) }

// IsASCII tells whether s has bytes below 0x80 only.
func IsASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Offset returns the byte offset of character n, len(s) past the end.
func Offset(s string, n int) int {
	if n <= 0 {
		return 0
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return i
}

// Substring returns count characters from character start, which is counted from
// 1 and may lie before the text; has tells whether there is a count.
func Substring(s string, start, count int64, has bool) (string, error) {
	from, to, err := span(start, count, has)
	if err != nil {
		return "", err
	}
	if from >= int64(len(s)) || to <= from {
		return "", nil
	}
	lo := Offset(s, int(from))
	if to >= int64(len(s)) {
		return s[lo:], nil
	}
	return s[lo : lo+Offset(s[lo:], int(to-from))], nil
}

// SubBytes is Substring of bytes.
func SubBytes(s string, start, count int64, has bool) (string, error) {
	from, to, err := span(start, count, has)
	if err != nil {
		return "", err
	}
	to = min(to, int64(len(s)))
	if from >= to {
		return "", nil
	}
	return s[from:to], nil
}

// span turns SQL's start and count into a range from 0.
func span(start, count int64, has bool) (from, to int64, err error) {
	to = 1<<62 - 1
	if has {
		if count < 0 {
			return 0, 0, sqlerr.New(sqlerr.SubstringError, "negative substring length not allowed")
		}
		to = start - 1 + count
	}
	return max(start-1, 0), to, nil
}

// Position returns the character position of sub in s, from 1; 0: not there.
func Position(s, sub string) int {
	i := strings.Index(s, sub)
	if i < 0 {
		return 0
	}
	return Len(s[:i]) + 1
}

// Left returns the first n characters, or all but the last -n.
func Left(s string, n int64) string {
	if n < 0 {
		n = max(int64(Len(s))+n, 0)
	}
	if n >= int64(len(s)) {
		return s
	}
	return s[:Offset(s, int(n))]
}

// Right returns the last n characters, or all but the first -n.
func Right(s string, n int64) string {
	if n == math.MinInt32 {
		return s // whose negative PostgreSQL cannot write
	}
	if n < 0 {
		n = -n
	} else {
		n = max(int64(Len(s))-n, 0)
	}
	if n >= int64(len(s)) {
		return ""
	}
	return s[Offset(s, int(n)):]
}

// AppendInitcap appends s with the first letter of each word in upper case and
// the rest in lower case.
func AppendInitcap(dst []byte, s string) []byte {
	word := false
	for _, r := range s {
		if word {
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		} else {
			dst = utf8.AppendRune(dst, unicode.ToUpper(r))
		}
		word = unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	return dst
}

// AppendUpper appends s in upper case, letter by letter.
func AppendUpper(dst []byte, s string) []byte {
	start := len(dst)
	dst = append(dst, s...)
	b := dst[start:]
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return mapRunes(dst[:start+i], s[i:], unicode.ToUpper)
		}
		if c-'a' < 26 {
			b[i] = c - 32
		}
	}
	return dst
}

// AppendLower appends s in lower case.
func AppendLower(dst []byte, s string) []byte {
	start := len(dst)
	dst = append(dst, s...)
	b := dst[start:]
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return mapRunes(dst[:start+i], s[i:], unicode.ToLower)
		}
		if c-'A' < 26 {
			b[i] = c + 32
		}
	}
	return dst
}

func mapRunes(dst []byte, s string, f func(rune) rune) []byte {
	for _, r := range s {
		dst = utf8.AppendRune(dst, f(r))
	}
	return dst
}

// AppendPad appends s filled to n characters with fill, or cut to them.
func AppendPad(dst []byte, s string, n int64, fill string, left bool) ([]byte, error) {
	if n <= 0 {
		return dst, nil
	}
	have := int64(Len(s))
	if have >= n {
		return append(dst, s[:Offset(s, int(n))]...), nil
	}
	if fill == "" {
		return append(dst, s...), nil
	}
	if n > maxText {
		return dst, ErrTooLong
	}
	if !left {
		dst = append(dst, s...)
	}
	need := int(n - have)
	width := Len(fill)
	for ; need >= width; need -= width {
		dst = append(dst, fill...)
	}
	dst = append(dst, fill[:Offset(fill, need)]...)
	if left {
		dst = append(dst, s...)
	}
	return dst, nil
}

// AppendTranslate appends s with each character of from replaced by the one at
// its place in to, or dropped.
func AppendTranslate(dst []byte, s, from, to string) []byte {
	for _, r := range s {
		i := strings.IndexRune(from, r)
		if i < 0 {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		k := Len(from[:i])
		if at := Offset(to, k); at < len(to) {
			c, _ := utf8.DecodeRuneInString(to[at:])
			dst = utf8.AppendRune(dst, c)
		}
	}
	return dst
}

// AppendReverse appends the characters of s from last to first.
func AppendReverse(dst []byte, s string) []byte {
	for len(s) > 0 {
		_, w := utf8.DecodeLastRuneInString(s)
		dst = append(dst, s[len(s)-w:]...)
		s = s[:len(s)-w]
	}
	return dst
}

// SplitPart returns field n of s, from 1, or from the end if negative.
func SplitPart(s, sep string, n int64) (string, error) {
	if n == 0 {
		return "", sqlerr.New(sqlerr.InvalidParameterValue, "field position must not be zero")
	}
	if sep == "" {
		if n == 1 || n == -1 {
			return s, nil
		}
		return "", nil
	}
	if n < 0 {
		for ; n < -1; n++ {
			i := strings.LastIndex(s, sep)
			if i < 0 {
				return "", nil
			}
			s = s[:i]
		}
		if i := strings.LastIndex(s, sep); i >= 0 {
			return s[i+len(sep):], nil
		}
		return s, nil
	}
	for ; n > 1; n-- {
		i := strings.Index(s, sep)
		if i < 0 {
			return "", nil
		}
		s = s[i+len(sep):]
	}
	if i := strings.Index(s, sep); i >= 0 {
		return s[:i], nil
	}
	return s, nil
}

// TrimSet drops the characters of set from the ends of s.
func TrimSet(s, set string, left, right bool) string {
	if left {
		s = strings.TrimLeft(s, set)
	}
	if right {
		s = strings.TrimRight(s, set)
	}
	return s
}

// reserved are the words that quote_ident quotes although they look plain:
// PostgreSQL's keywords that are not unreserved.
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`all analyse analyze and any array as asc asymmetric authorization between bigint
		binary bit boolean both case cast char character check coalesce collate collation column concurrently
		constraint create cross current_catalog current_date current_role current_schema current_time
		current_timestamp current_user dec decimal default deferrable desc distinct do else end except exists
		extract false fetch float for foreign freeze from full grant greatest group grouping having ilike in
		initially inner inout int integer intersect interval into is isnull join lateral leading least left like
		limit localtime localtimestamp national natural nchar none normalize not notnull null nullif numeric offset
		on only or order out outer overlaps overlay placing position precision primary real references returning
		right row select session_user setof similar smallint some substring symmetric table tablesample then time
		timestamp to trailing treat trim true union unique user using values varchar variadic verbose when where
		window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
		xmlserialize xmltable`) {
		m[w] = true
	}
	return m
}()

// AppendIdent appends a name, in double quotes unless it reads back without.
func AppendIdent(dst []byte, s string) []byte {
	plain := s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] == '_') && !reserved[s]
	for i := 0; plain && i < len(s); i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
	}
	if plain {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

// AppendLiteral appends a quoted string literal.
func AppendLiteral(dst []byte, s string) []byte {
	if strings.Contains(s, `\`) {
		dst = append(dst, 'E')
	}
	dst = append(dst, '\'')
	for i := 0; i < len(s); i++ {
		if s[i] == '\'' || s[i] == '\\' {
			dst = append(dst, s[i])
		}
		dst = append(dst, s[i])
	}
	return append(dst, '\'')
}
