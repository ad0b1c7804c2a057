package session

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the server must know every zone on a machine that has no database of them

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// checkDateStyle takes the ISO output style with any order of input.
func checkDateStyle(value string) (string, *sqlerr.Error) {
	order := "MDY"
	for _, w := range strings.Split(value, ",") {
		switch w := strings.ToLower(strings.TrimSpace(w)); w {
		case "iso", "":
		case "mdy", "us", "noneuro", "noneuropean":
			order = "MDY"
		case "dmy", "euro", "european":
			order = "DMY"
		case "ymd":
			order = "YMD"
		case "sql", "postgres", "german":
			return "", sqlerr.Unsupported("output style %s of parameter \"DateStyle\" is not supported", w).
				WithHint("Dates are printed in ISO style.")
		default:
			return "", invalid("DateStyle", value).WithDetail("Unrecognized key word: %q.", w)
		}
	}
	return "ISO, " + order, nil
}

func dateOrder(style string) types.DateOrder {
	switch {
	case strings.HasSuffix(style, "DMY"):
		return types.DMY
	case strings.HasSuffix(style, "YMD"):
		return types.YMD
	}
	return types.MDY
}

// checkEncoding takes the names of UTF-8; everything inside is UTF-8.
func checkEncoding(value string) (string, *sqlerr.Error) {
	switch strings.NewReplacer("-", "", "_", "", "'", "", " ", "").Replace(strings.ToLower(value)) {
	case "utf8", "unicode":
		return "UTF8", nil
	case "sqlascii", "latin1", "iso88591", "win1252", "euc_jp", "sjis", "gbk", "big5", "eucjp", "euckr", "koi8r":
		return "", sqlerr.Unsupported("conversion between %s and UTF8 is not supported", strings.ToUpper(value)).
			WithHint("Set client_encoding to UTF8.")
	}
	return "", invalid("client_encoding", value)
}

func checkSearchPath(value string) (string, *sqlerr.Error) {
	if _, ok := splitList(value); !ok {
		return "", invalid("search_path", value).WithDetail("List syntax is invalid.")
	}
	return value, nil
}

// splitList cuts a list of identifiers, folding those without quotes.
func splitList(s string) ([]string, bool) {
	var out []string
	s = strings.TrimSpace(s)
	for s != "" {
		var part string
		if s[0] == '"' {
			end := strings.IndexByte(s[1:], '"')
			if end < 0 {
				return nil, false
			}
			part, s = s[1:end+1], strings.TrimSpace(s[end+2:])
		} else {
			i := strings.IndexByte(s, ',')
			if i < 0 {
				i = len(s)
			}
			part, s = strings.ToLower(strings.TrimSpace(s[:i])), s[i:]
		}
		out = append(out, part)
		if s == "" {
			break
		}
		if s[0] != ',' {
			return nil, false
		}
		if s = strings.TrimSpace(s[1:]); s == "" {
			return nil, false
		}
	}
	return out, true
}

// only takes one of PostgreSQL's values and tells the others from nonsense.
func only(name, allowed string, enum []string) func(string) (string, *sqlerr.Error) {
	return func(value string) (string, *sqlerr.Error) {
		if strings.EqualFold(value, allowed) {
			return allowed, nil
		}
		for _, e := range enum {
			if strings.EqualFold(value, e) {
				return "", sqlerr.Unsupported("value %q of parameter %q is not supported", value, name).
					WithHint("The only value is %s.", allowed)
			}
		}
		return "", invalid(name, value)
	}
}

func onlyOn(value string) (string, *sqlerr.Error) {
	b, ok := parseBool(value)
	switch {
	case !ok:
		return "", sqlerr.New(sqlerr.InvalidParameterValue,
			"parameter \"standard_conforming_strings\" requires a Boolean value")
	case !b:
		return "", sqlerr.Unsupported("backslashes in ordinary strings cannot be made escapes").
			WithHint("Write such strings as E'...'.")
	}
	return "on", nil
}

// checkPrintable replaces what is not printable ASCII by ?, as PostgreSQL does
// with application_name, and cuts it at 63 bytes.
func checkPrintable(value string) (string, *sqlerr.Error) {
	b := []byte(value)
	for i, c := range b {
		if c < 32 || c > 126 {
			b[i] = '?'
		}
	}
	return string(b[:min(len(b), 63)]), nil
}

func checkTimeZone(value string) (string, *sqlerr.Error) {
	_, name, ok := loadZone(value)
	if !ok {
		return "", invalid("TimeZone", value)
	}
	return name, nil
}

// loadZone reads a zone's name («Europe/Berlin», any case), an offset in hours
// east («-5», «5.5», «+05:30» in a string: POSIX, west) or a POSIX
// specification («EST5», «<+03>-3»), and returns it with the name that SHOW
// prints.
func loadZone(value string) (*time.Location, string, bool) {
	v := strings.TrimSpace(value)
	if v == "" || strings.EqualFold(v, "local") {
		return nil, "", false
	}
	if iv, ok := strings.CutPrefix(strings.ToLower(v), "interval "); ok {
		v = strings.Trim(iv, "' ")
	}
	if h, err := strconv.ParseFloat(v, 64); err == nil && h >= -168 && h <= 168 {
		secs := int(h * 3600)
		return time.FixedZone(offsetName(secs), secs), offsetName(secs), true
	}
	if strings.EqualFold(v, "utc") || strings.EqualFold(v, "zulu") {
		return time.UTC, strings.ToUpper(v), true
	}
	for _, name := range []string{v, zoneCase(v), strings.ToUpper(v)} {
		if loc, err := time.LoadLocation(name); err == nil && name != "Local" && !strings.HasPrefix(name, ".") {
			return loc, name, true
		}
	}
	if secs, ok := posixOffset(v); ok {
		return time.FixedZone(strings.ToUpper(v), secs), strings.ToUpper(v), true
	}
	return nil, "", false
}

// offsetName is the name that PostgreSQL gives to a zone set by an offset:
// POSIX, so the sign is that of west.
func offsetName(secs int) string {
	sign, inv, abs := "+", "-", secs
	if secs < 0 {
		sign, inv, abs = "-", "+", -secs
	}
	h := two(abs / 3600)
	if m := abs / 60 % 60; m != 0 {
		h += ":" + two(m)
	}
	return "<" + sign + h + ">" + inv + h
}

func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// zoneCase writes a zone's name in the database's spelling: America/New_York.
func zoneCase(s string) string {
	b := []byte(strings.ToLower(s))
	start := true
	for i, c := range b {
		if start && c >= 'a' && c <= 'z' {
			b[i] = c - 32
		}
		start = c == '/' || c == '_' || c == '-'
	}
	return string(b)
}

// posixOffset reads «name offset» of POSIX TZ, without daylight saving rules;
// the offset counts west. Returns seconds east.
func posixOffset(s string) (int, bool) {
	switch {
	case strings.HasPrefix(s, "<"):
		i := strings.IndexByte(s, '>')
		if i < 0 {
			return 0, false
		}
		s = s[i+1:]
	default:
		i := 0
		for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z') {
			i++
		}
		if i != 0 && i < 3 {
			return 0, false
		}
		s = s[i:]
	}
	sign := -1
	switch {
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	case strings.HasPrefix(s, "-"):
		s, sign = s[1:], 1
	}
	secs := 0
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || i == 0 && n > 24 || i > 0 && n > 59 {
			return 0, false
		}
		secs += n * [...]int{3600, 60, 1}[i]
	}
	return sign * secs, true
}
