package types

// fieldKind is what a piece of a date or time literal looks like.
type fieldKind uint8

const (
	numberField  fieldKind = iota // digits, perhaps with a point
	dateField                     // digits or letters joined by - / .
	timeField                     // digits joined by colons
	zoneField                     // a sign and digits
	stringField                   // letters
	specialField                  // a sign and letters
)

// literalField is a piece of a date, time or interval literal, in lower case.
type literalField struct {
	kind fieldKind
	text string
}

// maxFields and maxLiteral bound a literal: more is no date.
const (
	maxFields  = 25
	maxLiteral = 160
)

// scanner cuts a literal into fields.
type scanner struct {
	s   string
	i   int
	buf []byte
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isAlpha(c) || isDigit(c) }

func isPunct(c byte) bool { return c > ' ' && c < 0x7f && !isAlnum(c) }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// cur returns the byte at the cursor, 0 at the end.
func (sc *scanner) cur() byte {
	if sc.i < len(sc.s) {
		return sc.s[sc.i]
	}
	return 0
}

// take keeps the byte at the cursor and moves on.
func (sc *scanner) take() {
	sc.buf = append(sc.buf, lower(sc.s[sc.i]))
	sc.i++
}

func (sc *scanner) takeWhile(ok func(byte) bool) {
	for sc.i < len(sc.s) && ok(sc.s[sc.i]) {
		sc.take()
	}
}

// scanFields cuts s into at most maxFields fields; ok is false where s cannot be
// a date, time or interval.
func scanFields(s string, fields []literalField) (_ []literalField, ok bool) {
	sc := scanner{s: s, buf: make([]byte, 0, len(s))}
	for sc.i < len(s) {
		c := s[sc.i]
		if isSpace(c) {
			sc.i++
			continue
		}
		start := len(sc.buf)
		var kind fieldKind
		switch {
		case isDigit(c):
			kind = sc.digits()
		case c == '.':
			sc.take()
			sc.takeWhile(isDigit)
			kind = numberField
		case isAlpha(c):
			kind = sc.letters(start)
		case c == '+' || c == '-':
			if kind, ok = sc.signed(); !ok {
				return nil, false
			}
		case isPunct(c):
			sc.i++
			continue
		default:
			return nil, false
		}
		if len(fields) == maxFields || len(sc.buf) > maxLiteral {
			return nil, false
		}
		fields = append(fields, literalField{kind, view(sc.buf[start:])})
	}
	return fields, true
}

func (sc *scanner) digits() fieldKind {
	sc.takeWhile(isDigit)
	switch delim := sc.cur(); delim {
	case ':':
		sc.takeWhile(func(c byte) bool { return isDigit(c) || c == ':' || c == '.' })
		return timeField
	case '-', '/', '.':
		sc.take()
		if !isDigit(sc.cur()) {
			sc.takeWhile(func(c byte) bool { return isAlnum(c) || c == delim })
			return dateField
		}
		kind := dateField
		if delim == '.' {
			kind = numberField
		}
		sc.takeWhile(isDigit)
		if sc.cur() == delim {
			kind = dateField
			sc.takeWhile(func(c byte) bool { return isDigit(c) || c == delim })
		}
		return kind
	}
	return numberField
}

func (sc *scanner) letters(start int) fieldKind {
	sc.takeWhile(isAlpha)
	isDate := false
	switch c := sc.cur(); {
	case c == '-' || c == '/' || c == '.':
		isDate = true
	case c == '+' || isDigit(c):
		// A word that means something of its own ends here.
		_, known := dateWords[string(sc.buf[start:])]
		isDate = !known
	}
	if !isDate {
		return stringField
	}
	sc.takeWhile(func(c byte) bool {
		switch c {
		case '+', '-', '/', '_', '.', ':':
			return true
		}
		return isAlnum(c)
	})
	return dateField
}

func (sc *scanner) signed() (fieldKind, bool) {
	sc.take()
	for isSpace(sc.cur()) {
		sc.i++
	}
	switch c := sc.cur(); {
	case isDigit(c):
		sc.takeWhile(func(c byte) bool { return isDigit(c) || c == ':' || c == '.' || c == '-' })
		return zoneField, true
	case isAlpha(c):
		sc.takeWhile(isAlpha)
		return specialField, true
	}
	return 0, false
}
