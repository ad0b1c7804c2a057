package types

import (
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// nameLen is the longest name in bytes.
const nameLen = 63

// parseString adds a row of a text type.
func parseString(t Type, s string, v *arrowbatch.Vec) error {
	if t.ID == Char {
		appendChar(v, s)
		return nil
	}
	if err := checkUTF8(s); err != nil {
		return err
	}
	switch t.ID {
	case Name:
		s = TruncName(s)
	case Varchar, Bpchar:
		if t.Mod > 0 {
			fit, pad, err := FitString(t, s, false)
			if err != nil {
				return err
			}
			v.Data = append(v.Data, fit...)
			for range pad {
				v.Data = append(v.Data, ' ')
			}
			v.EndBytes()
			return nil
		}
	}
	v.AppendString(s)
	return nil
}

// appendChar adds a row of "char": the first byte of s or the one that \ooo
// names, no byte for a zero one.
func appendChar(v *arrowbatch.Vec, s string) {
	if len(s) == 4 && s[0] == '\\' && isOctal(s[1]) && isOctal(s[2]) && isOctal(s[3]) {
		v.AppendBytes(oneByte((s[1]-'0')<<6 | (s[2]-'0')<<3 | (s[3] - '0')))
		return
	}
	v.AppendString(s[:min(len(s), 1)])
}

func oneByte(c byte) []byte {
	if c == 0 {
		return nil
	}
	return []byte{c}
}

// appendCharText appends a "char", a byte above ASCII as \ooo.
func appendCharText(dst, b []byte) []byte {
	if len(b) == 1 && b[0] >= utf8.RuneSelf {
		c := b[0]
		return append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
	}
	return append(dst, b...)
}

// TruncName cuts a name to 63 bytes at the end of a character.
func TruncName(s string) string {
	if len(s) <= nameLen {
		return s
	}
	n := nameLen
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// FitString fits s into varchar(n) or char(n): the part of it that stays and the
// number of blanks to add behind it. Blanks past the length are cut; other
// characters past it are an error, 22001, or cut too in an explicit cast.
func FitString(t Type, s string, explicit bool) (fit string, pad int, err error) {
	n := int(t.Mod)
	if n <= 0 {
		return s, 0, nil
	}
	end, chars := cutChars(s, n)
	if end < len(s) && !explicit && strings.TrimRight(s[end:], " ") != "" {
		return "", 0, sqlerr.New(sqlerr.StringRightTruncation, "value too long for type %s", t)
	}
	if t.ID == Bpchar {
		pad = n - chars
	}
	return s[:end], pad, nil
}

// cutChars returns the length in bytes of the first n characters of s and how
// many there are.
func cutChars(s string, n int) (end, chars int) {
	if len(s) <= n {
		return len(s), utf8.RuneCountInString(s)
	}
	for end < len(s) && chars < n {
		if s[end] < utf8.RuneSelf {
			end++
		} else {
			_, w := utf8.DecodeRuneInString(s[end:])
			end += w
		}
		chars++
	}
	return end, chars
}
