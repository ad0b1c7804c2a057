package scalar

import (
	"strings"

	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// ParseIdent splits a qualified name into its parts, quotes removed and bare
// words in lower case. With strict set nothing may follow the name.
func ParseIdent(s string, strict bool) ([]string, error) {
	bad := func(detail string) error {
		e := sqlerr.New(sqlerr.InvalidParameterValue, "string is not a valid identifier: \"%s\"", strings.Clone(s))
		e.Detail = detail
		return e
	}
	var parts []string
	rest := strings.TrimLeft(s, " \t\n\r\f")
	for {
		switch {
		case rest != "" && rest[0] == '"':
			var b strings.Builder
			i := 1
			for ; ; i++ {
				if i >= len(rest) {
					return nil, bad("String has unclosed double quotes.")
				}
				if rest[i] == '"' {
					if i+1 < len(rest) && rest[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(rest[i])
			}
			if b.Len() == 0 {
				return nil, bad("Quoted identifier must not be empty.")
			}
			parts = append(parts, b.String())
			rest = rest[i+1:]
		case rest != "" && (isLetter(rest[0]) || rest[0] == '_' || rest[0] >= 128):
			i := 1
			for i < len(rest) && (isWordByte(rest[i]) || rest[i] == '$' || rest[i] >= 128) {
				i++
			}
			parts = append(parts, string(AppendLower(nil, rest[:i])))
			rest = rest[i:]
		case len(parts) > 0:
			return nil, bad("No valid identifier after \".\".")
		default:
			return nil, bad("")
		}
		rest = strings.TrimLeft(rest, " \t\n\r\f")
		if rest == "" {
			return parts, nil
		}
		if rest[0] != '.' {
			if strict {
				return nil, bad("")
			}
			return parts, nil
		}
		rest = strings.TrimLeft(rest[1:], " \t\n\r\f")
	}
}

// sizeUnits are the units of pg_size_pretty, each 1024 times the one before.
var sizeUnits = [...]string{"bytes", "kB", "MB", "GB", "TB", "PB"}

// PrettySize is pg_size_pretty: a unit is left when ten thousand of it are
// reached, and the count is rounded half away from zero.
func PrettySize(d decimal.Decimal) string {
	if d.Special() != decimal.Finite {
		return d.String()
	}
	limit := decimal.FromInt64(10240)
	if d.Abs().Cmp(limit) < 0 {
		return d.String() + " " + sizeUnits[0]
	}
	// Half units are kept until the end, so that rounding happens once.
	d, _ = d.Trunc(0)
	half, err := d.QuoInt(decimal.FromInt64(512))
	limit = decimal.FromInt64(20480 - 1)
	k := 1
	for ; err == nil && k < len(sizeUnits)-1 && half.Abs().Cmp(limit) >= 0; k++ {
		half, err = half.QuoInt(decimal.FromInt64(1024))
	}
	if err != nil {
		return d.String() + " " + sizeUnits[0]
	}
	one := decimal.FromInt64(int64(half.Sign()))
	if sum, err := half.Add(one); err == nil {
		half = sum
	}
	n, _ := half.QuoInt(decimal.FromInt64(2))
	return n.String() + " " + sizeUnits[k]
}
