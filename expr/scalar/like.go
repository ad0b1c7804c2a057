package scalar

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// likeKind is the shape of a pattern that has a fast way.
type likeKind uint8

const (
	likeGeneral likeKind = iota
	likeExact
	likePrefix
	likeSuffix
	likeContains
)

// LikePattern is a compiled LIKE pattern.
type LikePattern struct {
	kind    likeKind
	lit     []byte // the literal part of the fast shapes
	pattern []byte
}

// errEscapeEnd is the error of a pattern that ends in its escape character.
var errEscapeEnd = sqlerr.New(sqlerr.InvalidEscapeSequence, "LIKE pattern must not end with escape character")

// CompileLike reads a pattern with backslash as its escape character. It cannot
// fail: as in PostgreSQL a backslash at the end is an error only where it is met.
func CompileLike(p string) *LikePattern {
	l := &LikePattern{pattern: []byte(p)}
	body := strings.TrimPrefix(p, "%")
	lead := len(body) < len(p)
	trail := strings.HasSuffix(body, "%") && !strings.HasSuffix(body, `\%`)
	if trail {
		body = body[:len(body)-1]
	}
	var lit []byte
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case '%', '_':
			return l
		case '\\':
			i++
			if i == len(body) {
				return l
			}
			lit = append(lit, body[i])
		default:
			lit = append(lit, c)
		}
	}
	l.lit = lit
	switch {
	case lead && trail:
		l.kind = likeContains
	case lead:
		l.kind = likeSuffix
	case trail:
		l.kind = likePrefix
	default:
		l.kind = likeExact
	}
	if p == "%" {
		l.kind = likePrefix
	}
	return l
}

// Match tells whether s matches.
func (l *LikePattern) Match(s []byte) (bool, error) {
	switch l.kind {
	case likeExact:
		return bytes.Equal(s, l.lit), nil
	case likePrefix:
		return bytes.HasPrefix(s, l.lit), nil
	case likeSuffix:
		return bytes.HasSuffix(s, l.lit), nil
	case likeContains:
		return bytes.Contains(s, l.lit), nil
	}
	return likeMatch(s, l.pattern)
}

// MatchColumn matches the n values that off divides data into, and sets their bits
// in out, inverted if negate is set. It tells whether the pattern has a shape for
// which that is a plain loop; if not, nothing is done.
func (l *LikePattern) MatchColumn(out []uint64, off []int32, data []byte, negate bool) bool {
	var hit func(s, lit []byte) bool
	switch l.kind {
	case likePrefix:
		hit = bytes.HasPrefix
	case likeSuffix:
		hit = bytes.HasSuffix
	case likeContains:
		hit = bytes.Contains
	default:
		return false
	}
	flip := uint64(0)
	if negate {
		flip = ^uint64(0)
	}
	lit, short := l.lit, int32(len(l.lit))
	n := len(off) - 1
	for w, i := 0, 0; i < n; w++ {
		var m uint64
		for k := range min(64, n-i) {
			lo, hi := off[i+k], off[i+k+1]
			if hi-lo >= short && hit(data[lo:hi], lit) {
				m |= 1 << (uint(k) & 63)
			}
		}
		out[w] = m ^ flip
		i += 64
	}
	return true
}

// likeMatch walks text and pattern together and, at a mismatch, goes back to the
// last % only: earlier ones cannot help.
func likeMatch(s, p []byte) (bool, error) {
	i, j := 0, 0
	backS, backP := -1, -1
	for i < len(s) || j < len(p) {
		if j < len(p) {
			switch c := p[j]; {
			case c == '%':
				j++
				backS, backP = i, j
				continue
			case c == '_' && i < len(s):
				_, w := utf8.DecodeRune(s[i:])
				i += w
				j++
				continue
			case c == '\\':
				if j+1 == len(p) {
					if i < len(s) {
						return false, errEscapeEnd
					}
				} else if i < len(s) && s[i] == p[j+1] {
					i++
					j += 2
					continue
				}
			case i < len(s) && s[i] == c:
				i++
				j++
				continue
			}
		}
		if backS < 0 || backS >= len(s) {
			return false, nil
		}
		_, w := utf8.DecodeRune(s[backS:])
		backS += w
		i, j = backS, backP
	}
	return true, nil
}

// LikeEscape rewrites a pattern whose escape character is esc into one with a
// backslash.
func LikeEscape(dst []byte, p, esc string) ([]byte, error) {
	if Len(esc) > 1 {
		return dst, sqlerr.New(sqlerr.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	if esc == `\` {
		return append(dst, p...), nil
	}
	for i := 0; i < len(p); {
		if esc != "" && strings.HasPrefix(p[i:], esc) {
			i += len(esc)
			dst = append(dst, '\\')
			if i < len(p) {
				_, w := utf8.DecodeRuneInString(p[i:])
				dst = append(dst, p[i:i+w]...)
				i += w
			}
			continue
		}
		if p[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, p[i])
		i++
	}
	return dst, nil
}
