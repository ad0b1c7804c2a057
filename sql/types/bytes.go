package types

import (
	"encoding/hex"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const hexDigits = "0123456789abcdef"

// AppendUUID appends a uuid in its canonical form.
func AppendUUID(dst []byte, u *[16]byte) []byte {
	for i, b := range u {
		switch i {
		case 4, 6, 8, 10:
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}

// unhex returns the value of a hexadecimal digit, 255 for another byte.
func unhex(c byte) byte {
	switch {
	case c-'0' <= 9:
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 255
}

// ParseUUID reads 32 hexadecimal digits with a hyphen after any group of four,
// in braces or not.
func ParseUUID(s string) (u [16]byte, err error) {
	in := s
	braces := in != "" && in[0] == '{'
	if braces {
		in = in[1:]
	}
	for i := range u {
		if len(in) < 2 || unhex(in[0])|unhex(in[1]) == 255 {
			return u, badSyntax(TUUID, s)
		}
		u[i] = unhex(in[0])<<4 | unhex(in[1])
		in = in[2:]
		if i&1 == 1 && i < 15 && in != "" && in[0] == '-' {
			in = in[1:]
		}
	}
	if braces {
		if in != "}" {
			return u, badSyntax(TUUID, s)
		}
		in = ""
	}
	if in != "" {
		return u, badSyntax(TUUID, s)
	}
	return u, nil
}

// AppendBytea appends bytes as \x and hexadecimal digits, or in the escape
// format where env asks for it.
func AppendBytea(dst, b []byte, env *Env) []byte {
	if env == nil || !env.EscapeBytea {
		return hex.AppendEncode(append(dst, `\x`...), b)
	}
	for _, c := range b {
		switch {
		case c == '\\':
			dst = append(dst, `\\`...)
		case c < 0x20 || c > 0x7e:
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// parseBytea adds a row of bytes given in the hex or the escape format.
func parseBytea(s string, v *arrowbatch.Vec) error {
	start := len(v.Data)
	var err error
	if strings.HasPrefix(s, `\x`) {
		v.Data, err = appendHexBytes(v.Data, s[2:])
	} else {
		v.Data, err = appendEscaped(v.Data, s)
	}
	if err != nil {
		v.Data = v.Data[:start]
		return err
	}
	v.EndBytes()
	return nil
}

func appendHexBytes(dst []byte, s string) ([]byte, error) {
	for i := 0; i < len(s); {
		switch s[i] {
		case ' ', '\n', '\t', '\r':
			i++
			continue
		}
		hi := unhex(s[i])
		if hi == 255 {
			return dst, badHex(s[i:])
		}
		if i+1 == len(s) {
			return dst, sqlerr.New(sqlerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		lo := unhex(s[i+1])
		if lo == 255 {
			return dst, badHex(s[i+1:])
		}
		dst = append(dst, hi<<4|lo)
		i += 2
	}
	return dst, nil
}

func badHex(s string) error {
	for _, r := range s {
		return sqlerr.New(sqlerr.InvalidParameterValue, `invalid hexadecimal digit: "%c"`, r)
	}
	return nil
}

func appendEscaped(dst []byte, s string) ([]byte, error) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			continue
		}
		rest := s[i+1:]
		switch {
		case rest != "" && rest[0] == '\\':
			dst = append(dst, '\\')
			i++
		case len(rest) >= 3 && rest[0] >= '0' && rest[0] <= '3' && isOctal(rest[1]) && isOctal(rest[2]):
			dst = append(dst, (rest[0]-'0')<<6|(rest[1]-'0')<<3|(rest[2]-'0'))
			i += 3
		default:
			return dst, sqlerr.New(sqlerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return dst, nil
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }
