package scalar

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// AppendEncode is PostgreSQL's encode(): base64 in lines of 76 characters, hex,
// or escape.
func AppendEncode(dst, data []byte, format string) ([]byte, error) {
	switch string(AppendLower(nil, format)) {
	case "hex":
		return hex.AppendEncode(dst, data), nil
	case "base64":
		const line = 57 // bytes that make 76 characters
		for len(data) > line {
			dst = append(base64.StdEncoding.AppendEncode(dst, data[:line]), '\n')
			data = data[line:]
		}
		return base64.StdEncoding.AppendEncode(dst, data), nil
	case "escape":
		for _, c := range data {
			switch {
			case c == 0 || c >= utf8.RuneSelf:
				dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
			case c == '\\':
				dst = append(dst, '\\', '\\')
			default:
				dst = append(dst, c)
			}
		}
		return dst, nil
	}
	return dst, unknownEncoding(format)
}

func unknownEncoding(format string) error {
	return sqlerr.New(sqlerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", format)
}

// AppendDecode is PostgreSQL's decode().
func AppendDecode(dst []byte, s, format string) ([]byte, error) {
	switch string(AppendLower(nil, format)) {
	case "hex":
		return appendHexDecoded(dst, s)
	case "base64":
		return appendBase64Decoded(dst, s)
	case "escape":
		return appendUnescaped(dst, s)
	}
	return dst, unknownEncoding(format)
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func hexValue(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

func appendHexDecoded(dst []byte, s string) ([]byte, error) {
	for i := 0; i < len(s); {
		if isBlank(s[i]) {
			i++
			continue
		}
		hi, ok := hexValue(s[i])
		if !ok {
			return dst, badHexDigit(s[i:])
		}
		if i++; i == len(s) {
			return dst, sqlerr.New(sqlerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		lo, ok := hexValue(s[i])
		if !ok {
			return dst, badHexDigit(s[i:])
		}
		i++
		dst = append(dst, hi<<4|lo)
	}
	return dst, nil
}

func badHexDigit(s string) error {
	r, _ := utf8.DecodeRuneInString(s)
	return sqlerr.New(sqlerr.InvalidParameterValue, "invalid hexadecimal digit: \"%c\"", r)
}

func appendBase64Decoded(dst []byte, s string) ([]byte, error) {
	clean := make([]byte, 0, len(s))
	end := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isBlank(c):
			continue
		case c == '=':
			if len(clean)&3 < 2 && !end {
				return dst, sqlerr.New(sqlerr.InvalidParameterValue, "unexpected \"=\" while decoding base64 sequence")
			}
			end = true
			continue
		case isLetter(c) || c >= '0' && c <= '9' || c == '+' || c == '/':
			clean = append(clean, c)
		default:
			r, _ := utf8.DecodeRuneInString(s[i:])
			return dst, sqlerr.New(sqlerr.InvalidParameterValue,
				"invalid symbol \"%c\" found while decoding base64 sequence", r)
		}
	}
	if n := len(clean) & 3; n == 1 || n != 0 && !end {
		return dst, sqlerr.New(sqlerr.InvalidParameterValue, "invalid base64 end sequence").
			WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.")
	}
	out, err := base64.RawStdEncoding.AppendDecode(dst, clean)
	if err != nil {
		return dst, sqlerr.New(sqlerr.InvalidParameterValue, "invalid base64 end sequence")
	}
	return out, nil
}

func appendUnescaped(dst []byte, s string) ([]byte, error) {
	octal := func(c byte) bool { return c >= '0' && c <= '7' }
	for i := 0; i < len(s); i++ {
		switch rest := s[i+1:]; {
		case s[i] != '\\':
			dst = append(dst, s[i])
		case rest != "" && rest[0] == '\\':
			dst = append(dst, '\\')
			i++
		case len(rest) >= 3 && rest[0] >= '0' && rest[0] <= '3' && octal(rest[1]) && octal(rest[2]):
			dst = append(dst, (rest[0]-'0')<<6|(rest[1]-'0')<<3|rest[2]-'0')
			i += 3
		default:
			return dst, sqlerr.New(sqlerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return dst, nil
}

// CheckUTF8 is the 22021 of bytes that are no text, or hold a zero byte.
func CheckUTF8(b []byte) error {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return sqlerr.New(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00")
	}
	if utf8.Valid(b) {
		return nil
	}
	for len(b) > 0 {
		r, w := utf8.DecodeRune(b)
		if r == utf8.RuneError && w == 1 {
			break
		}
		b = b[w:]
	}
	return sqlerr.New(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x%02x", b[0])
}
