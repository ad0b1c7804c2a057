package scalar

import (
	"strings"
	"unicode/utf8"
)

// dateKey is a field of a date format.
type dateKey uint8

// The fields of to_char and to_timestamp.
const (
	keyLiteral dateKey = iota
	keyAD
	keyADDots
	keyAM
	keyAMDots
	keyCC
	keyDay
	keyDDD
	keyDD
	keyDy
	keyD
	keyFF
	keyFX
	keyHH24
	keyHH12
	keyIDDD
	keyID
	keyIW
	keyIYYY
	keyIYY
	keyIY
	keyI
	keyJ
	keyMI
	keyMM
	keyMonth
	keyMon
	keyMS
	keyOF
	keyQ
	keyRM
	keySSSS
	keySS
	keyTZH
	keyTZM
	keyTZ
	keyUS
	keyWW
	keyW
	keyYCommaYYY
	keyYYYY
	keyYYY
	keyYY
	keyY
)

// letterCase is how a name is written.
type letterCase uint8

const (
	upperCase letterCase = iota
	capital
	lowerCase
)

// dateWords are the spellings of the fields in upper case, longer ones first
// where one begins another.
var dateWords = []struct {
	word string
	key  dateKey
}{
	{"A.D.", keyADDots}, {"A.M.", keyAMDots}, {"AD", keyAD}, {"AM", keyAM}, {"B.C.", keyADDots}, {"BC", keyAD},
	{"CC", keyCC}, {"DAY", keyDay}, {"DDD", keyDDD}, {"DD", keyDD}, {"DY", keyDy}, {"D", keyD},
	{"FF1", keyFF}, {"FF2", keyFF}, {"FF3", keyFF}, {"FF4", keyFF}, {"FF5", keyFF}, {"FF6", keyFF}, {"FX", keyFX},
	{"HH24", keyHH24}, {"HH12", keyHH12}, {"HH", keyHH12}, {"IDDD", keyIDDD}, {"ID", keyID}, {"IW", keyIW},
	{"IYYY", keyIYYY}, {"IYY", keyIYY}, {"IY", keyIY}, {"I", keyI}, {"J", keyJ}, {"MI", keyMI}, {"MM", keyMM},
	{"MONTH", keyMonth}, {"MON", keyMon}, {"MS", keyMS}, {"OF", keyOF}, {"P.M.", keyAMDots}, {"PM", keyAM},
	{"Q", keyQ}, {"RM", keyRM}, {"SSSSS", keySSSS}, {"SSSS", keySSSS}, {"SS", keySS}, {"TZH", keyTZH},
	{"TZM", keyTZM}, {"TZ", keyTZ}, {"US", keyUS}, {"WW", keyWW}, {"W", keyW}, {"Y,YYY", keyYCommaYYY},
	{"YYYY", keyYYYY}, {"YYY", keyYYY}, {"YY", keyYY}, {"Y", keyY},
}

// dateNode is a field or a literal of a date format.
type dateNode struct {
	key  dateKey
	text string // the field as it is written, or the literal
	cas  letterCase
	fill bool // FM: no padding
	th   string
	n    int // digits of FFn
	// quoted literals are text; others may be separators.
	quoted bool
}

// isDigits tells whether a field is made of digits.
func (n dateNode) isDigits() bool {
	switch n.key {
	case keyLiteral, keyAD, keyADDots, keyAM, keyAMDots, keyDay, keyDy, keyMonth, keyMon, keyRM, keyFX, keyOF,
		keyTZ, keyTZH:
		return false
	}
	return true
}

// DateFormat is a parsed format of dates and times.
type DateFormat struct {
	nodes []dateNode
	fixed bool // FX
}

// ParseDateFormat reads a format. What is no field is a literal.
func ParseDateFormat(s string) *DateFormat {
	f := &DateFormat{}
	for len(s) > 0 {
		if strings.HasPrefix(s, `\"`) {
			f.literal(`"`, true)
			s = s[2:]
			continue
		}
		if s[0] == '"' {
			s = f.quoted(s[1:])
			continue
		}
		var n dateNode
		rest := s
		for {
			if cut, ok := cutFold(rest, "FM"); ok {
				n.fill, rest = true, cut
			} else if cut, ok := cutFold(rest, "TM"); ok {
				rest = cut
			} else {
				break
			}
		}
		width := matchField(rest, &n)
		if width == 0 {
			if len(rest) < len(s) { // a modifier of nothing
				s = rest
				continue
			}
			_, w := utf8.DecodeRuneInString(s)
			f.literal(s[:w], false)
			s = s[w:]
			continue
		}
		rest = rest[width:]
		if len(rest) >= 2 && (rest[:2] == "TH" || rest[:2] == "th") {
			n.th, rest = rest[:2], rest[2:]
		}
		s = rest
		if n.key == keyFX {
			f.fixed = true
			continue
		}
		f.nodes = append(f.nodes, n)
	}
	return f
}

func cutFold(s, prefix string) (string, bool) {
	if strings.HasPrefix(s, prefix) || strings.HasPrefix(s, strings.ToLower(prefix)) {
		return s[len(prefix):], true
	}
	return s, false
}

func (f *DateFormat) literal(s string, quoted bool) {
	f.nodes = append(f.nodes, dateNode{key: keyLiteral, text: s, quoted: quoted})
}

func (f *DateFormat) quoted(s string) string {
	for len(s) > 0 && s[0] != '"' {
		if s[0] == '\\' && len(s) > 1 {
			s = s[1:]
		}
		_, w := utf8.DecodeRuneInString(s)
		f.literal(s[:w], true)
		s = s[w:]
	}
	return strings.TrimPrefix(s, `"`)
}

// matchField recognises the field at the start of s: all in upper case, all in
// lower case or, for names, with a capital.
func matchField(s string, n *dateNode) int {
	for _, w := range dateWords {
		if len(s) < len(w.word) {
			continue
		}
		head := s[:len(w.word)]
		switch {
		case head == w.word:
			n.cas = upperCase
		case head == strings.ToLower(w.word):
			n.cas = lowerCase
		case (w.key == keyDay || w.key == keyDy || w.key == keyMonth || w.key == keyMon) &&
			head == w.word[:1]+strings.ToLower(w.word[1:]):
			n.cas = capital
		default:
			continue
		}
		n.key, n.text = w.key, head
		if w.key == keyFF {
			n.n = int(head[2] - '0')
		}
		return len(w.word)
	}
	return 0
}

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September",
	"October", "November", "December"}

var dayNames = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

var romanMonths = [...]string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}

func inCase(s string, c letterCase) string {
	switch c {
	case upperCase:
		return strings.ToUpper(s)
	case lowerCase:
		return strings.ToLower(s)
	}
	return s
}

// ordinal is the English ending of a number given by its digits.
func ordinal(digits, th string) string {
	end := "th"
	if n := len(digits); n > 0 && !(n > 1 && digits[n-2] == '1') {
		switch digits[n-1] {
		case '1':
			end = "st"
		case '2':
			end = "nd"
		case '3':
			end = "rd"
		}
	}
	if th == "TH" {
		return strings.ToUpper(end)
	}
	return end
}
