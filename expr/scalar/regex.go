package scalar

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// regexFlags are the options of a PostgreSQL regular expression.
type regexFlags struct {
	fold     bool // i
	dotLine  bool // n, p: . and [^…] stop at newline
	anchors  bool // n, w: ^ and $ match at lines
	expanded bool // x
	literal  bool // q
	ere      bool // e, b: no escapes of the advanced kind
	global   bool // g, for the functions that take it
}

// Regex is a compiled regular expression with the flag g of its call.
type Regex struct {
	*regexp.Regexp
	Global bool
	// empty: the pattern matches the empty text. context: it looks at what stands
	// before a match (^, \A, \m and so on).
	empty, context bool
}

// FindFrom returns up to limit matches (below 0: all) with their groups, in a
// search that begins at byte skip. As in PostgreSQL an empty match may follow
// right behind another match.
func (re *Regex) FindFrom(s string, skip, limit int) [][]int {
	switch {
	case re.context && skip > 0:
		var kept [][]int
		for _, loc := range re.FindAllStringSubmatchIndex(s, -1) {
			if loc[0] >= skip && (limit < 0 || len(kept) < limit) {
				kept = append(kept, loc)
			}
		}
		return kept
	case re.context || !re.empty && skip == 0:
		return re.FindAllStringSubmatchIndex(s, limit)
	}
	var locs [][]int
	for pos := skip; pos <= len(s) && (limit < 0 || len(locs) < limit); {
		loc := re.FindStringSubmatchIndex(s[pos:])
		if loc == nil {
			break
		}
		for k := range loc {
			if loc[k] >= 0 {
				loc[k] += pos
			}
		}
		locs = append(locs, loc)
		if pos = loc[1]; loc[0] == loc[1] {
			_, w := utf8.DecodeRuneInString(s[pos:])
			pos += max(w, 1)
		}
	}
	return locs
}

func badRegex(format string, args ...any) error {
	return sqlerr.New(sqlerr.InvalidRegularExpression, "invalid regular expression: "+format, args...)
}

// unsupportedRegex is for what a linear-time matcher cannot do.
func unsupportedRegex(what string) error {
	return sqlerr.New(sqlerr.InvalidRegularExpression, "invalid regular expression: %s not supported", what).
		WithDetail("Regular expressions run in linear time, which rules out back references and lookaround.")
}

// CompileRegex compiles a pattern with the options of the string flags. global
// tells whether g is one of them.
func CompileRegex(pattern, flags string, global bool) (*Regex, error) {
	var f regexFlags
	if err := f.read(flags, global); err != nil {
		return nil, err
	}
	return compile(pattern, f)
}

func (f *regexFlags) read(flags string, global bool) error {
	for _, c := range flags {
		switch c {
		case 'i':
			f.fold = true
		case 'c':
			f.fold = false
		case 'n', 'm':
			f.dotLine, f.anchors = true, true
		case 'p':
			f.dotLine, f.anchors = true, false
		case 'w':
			f.dotLine, f.anchors = false, true
		case 's':
			f.dotLine, f.anchors = false, false
		case 'x':
			f.expanded = true
		case 't':
			f.expanded = false
		case 'q':
			f.literal = true
		case 'e', 'b':
			f.ere = true
		case 'g':
			if !global {
				return sqlerr.New(sqlerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", c)
			}
			f.global = true
		default:
			return sqlerr.New(sqlerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", c)
		}
	}
	return nil
}

func compile(pattern string, f regexFlags) (*Regex, error) {
	switch {
	case strings.HasPrefix(pattern, "***="):
		pattern, f.literal = pattern[4:], true
	case strings.HasPrefix(pattern, "***:"):
		pattern = pattern[4:]
	case strings.HasPrefix(pattern, "***"):
		return nil, badRegex("invalid regexp (reg version 0.8)")
	}
	if !f.literal && strings.HasPrefix(pattern, "(?") && len(pattern) > 2 && isLetter(pattern[2]) {
		end := strings.IndexByte(pattern, ')')
		if end < 0 {
			return nil, badRegex("parentheses () not balanced")
		}
		for _, c := range pattern[2:end] {
			if !strings.ContainsRune("bceimnpqstwx", c) {
				return nil, badRegex("invalid embedded option")
			}
		}
		if err := f.read(pattern[2:end], false); err != nil {
			return nil, err
		}
		pattern = pattern[end+1:]
	}
	t := regexTranslator{src: pattern, f: f}
	if f.literal {
		t.out.WriteString(regexp.QuoteMeta(pattern))
	} else if err := t.run(); err != nil {
		return nil, err
	}
	opts := "s"
	if f.dotLine {
		opts = ""
	}
	if f.anchors {
		opts += "m"
	}
	if f.fold {
		opts += "i"
	}
	if opts != "" {
		opts = "(?" + opts + ")"
	}
	re, err := regexp.Compile(opts + t.out.String())
	if err != nil {
		return nil, badRegex("%s", regexFault(err))
	}
	if !t.lazy {
		re.Longest()
	}
	return &Regex{Regexp: re, Global: f.global, empty: re.MatchString(""), context: t.context}, nil
}

// regexFault puts the matcher's complaint in PostgreSQL's words.
func regexFault(err error) string {
	msg := err.Error()
	for _, m := range [...][2]string{
		{"missing closing )", "parentheses () not balanced"},
		{"unexpected )", "parentheses () not balanced"},
		{"missing closing ]", "brackets [] not balanced"},
		{"missing argument to repetition", "quantifier operand invalid"},
		{"invalid nested repetition", "quantifier operand invalid"},
		{"invalid repeat count", "invalid repetition count(s)"},
		{"invalid character class range", "invalid character range"},
		{"trailing backslash", "invalid escape \\ sequence"},
	} {
		if strings.Contains(msg, m[0]) {
			return m[1]
		}
	}
	return strings.TrimPrefix(msg, "error parsing regexp: ")
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isWordByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '_' }

// regexTranslator turns PostgreSQL's advanced regular expressions into RE2's.
type regexTranslator struct {
	src  string
	i    int
	f    regexFlags
	out  strings.Builder
	lazy bool // there is a quantifier that takes as little as it can
	// context: something looks at what stands before a match.
	context bool
	atom    bool // something stands before, that a quantifier may follow
}

func (t *regexTranslator) run() error {
	for t.i < len(t.src) {
		c := t.src[t.i]
		t.i++
		var err error
		switch c {
		case '\\':
			err = t.escape()
		case '[':
			err = t.bracket()
		case '{':
			err = t.brace()
		case '(':
			err = t.group()
		case '*', '+', '?':
			err = t.quantifier(string(c))
		case '|':
			t.out.WriteByte(c)
			t.atom = false
		case '^', '$':
			t.out.WriteByte(c)
			t.atom = false
			t.context = t.context || c == '^'
		case ' ', '\t', '\n', '\r', '\f', '\v', '#':
			err = t.blank(c)
		default:
			t.out.WriteByte(c)
			t.atom = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// blank is white space and comments, which the option x ignores.
func (t *regexTranslator) blank(c byte) error {
	if !t.f.expanded {
		t.out.WriteByte(c)
		t.atom = true
		return nil
	}
	if c == '#' {
		for t.i < len(t.src) && t.src[t.i] != '\n' {
			t.i++
		}
	}
	return nil
}

func (t *regexTranslator) quantifier(q string) error {
	if !t.atom {
		return badRegex("quantifier operand invalid")
	}
	t.out.WriteString(q)
	if t.i < len(t.src) && t.src[t.i] == '?' && !t.f.ere {
		t.out.WriteByte('?')
		t.i++
		t.lazy = true
	}
	t.atom = false
	return nil
}

// brace is {m}, {m,}, {m,n}; without a digit behind it { is a plain character.
func (t *regexTranslator) brace() error {
	if t.i == len(t.src) || t.src[t.i] < '0' || t.src[t.i] > '9' {
		t.out.WriteString(`\{`)
		t.atom = true
		return nil
	}
	end := strings.IndexByte(t.src[t.i:], '}')
	if end < 0 {
		return badRegex("braces {} not balanced")
	}
	body := t.src[t.i : t.i+end]
	lo, hi, two := strings.Cut(body, ",")
	m, err := strconv.Atoi(lo)
	n := m
	if err == nil && two && hi != "" {
		n, err = strconv.Atoi(hi)
	}
	if err != nil || m > 255 || n > 255 || n < m {
		return badRegex("invalid repetition count(s)")
	}
	t.i += end + 1
	return t.quantifier("{" + body + "}")
}

func (t *regexTranslator) group() error {
	t.atom = true
	rest := t.src[t.i:]
	switch {
	case !strings.HasPrefix(rest, "?"):
		t.out.WriteByte('(')
		t.atom = false
		return nil
	case strings.HasPrefix(rest, "?:"):
		t.i += 2
		t.out.WriteString("(?:")
		t.atom = false
		return nil
	case strings.HasPrefix(rest, "?#"):
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return badRegex("parentheses () not balanced")
		}
		t.i += end + 1
		return nil
	case strings.HasPrefix(rest, "?="), strings.HasPrefix(rest, "?!"), strings.HasPrefix(rest, "?<"):
		return unsupportedRegex("lookaround")
	}
	return badRegex("quantifier operand invalid")
}

// classes are the shorthands that stand for sets, as they are inside brackets.
var classes = map[byte]string{'d': `0-9`, 'w': `\p{L}\p{M}\p{Nd}_`, 's': `\t\n\v\f\r `}

func (t *regexTranslator) escape() error {
	if t.i == len(t.src) {
		return badRegex(`invalid escape \ sequence`)
	}
	c := t.src[t.i]
	t.i++
	if t.f.ere {
		t.out.WriteString(regexp.QuoteMeta(string(rune(c))))
		t.atom = true
		return nil
	}
	t.atom = true
	switch c {
	case 'd', 'w', 's':
		t.out.WriteString("[" + classes[c] + "]")
		return nil
	case 'D', 'W', 'S':
		t.out.WriteString("[^" + classes[c|0x20] + "]")
		return nil
	case 'A':
		t.context = true
		t.out.WriteString(`\A`)
		return nil
	case 'Z':
		t.out.WriteString(`\z`)
		return nil
	case 'y':
		t.context = true
		t.out.WriteString(`\b`)
		return nil
	case 'Y':
		t.context = true
		t.out.WriteString(`\B`)
		return nil
	case 'm':
		if !t.wordFollows() {
			return unsupportedRegex(`\m before anything but a word character`)
		}
		t.context = true
		t.out.WriteString(`\b`)
		return nil
	case 'M':
		if !t.wordPrecedes() {
			return unsupportedRegex(`\M behind anything but a word character`)
		}
		t.context = true
		t.out.WriteString(`\b`)
		return nil
	}
	if c >= '1' && c <= '9' {
		return unsupportedRegex("back references")
	}
	r, err := t.charEscape(c)
	if err != nil {
		return err
	}
	t.out.WriteString(regexp.QuoteMeta(string(r)))
	return nil
}

// wordFollows tells whether the next atom is a word character for certain.
func (t *regexTranslator) wordFollows() bool {
	rest := strings.TrimLeft(t.src[t.i:], "(")
	rest = strings.TrimPrefix(rest, "?:")
	if rest == "" {
		return false
	}
	if rest[0] == '\\' {
		return len(rest) > 1 && (rest[1] == 'w' || rest[1] == 'd')
	}
	if rest[0] == '[' {
		end := strings.IndexByte(rest, ']')
		body := rest[1:max(end, 1)]
		other := func(r rune) bool { return r != '-' && (r > 127 || !isWordByte(byte(r))) }
		return end > 1 && body[0] != '^' && strings.IndexFunc(body, other) < 0
	}
	return isWordByte(rest[0])
}

// wordPrecedes tells whether the atom before \M ends in a word character.
func (t *regexTranslator) wordPrecedes() bool {
	before := strings.TrimRight(t.src[:t.i-2], ")*+?")
	if before == "" {
		return false
	}
	n := len(before)
	if n > 1 && before[n-2] == '\\' {
		return before[n-1] == 'w' || before[n-1] == 'd'
	}
	return isWordByte(before[n-1])
}

// charEscape reads the escape of one character; c is what follows the backslash.
func (t *regexTranslator) charEscape(c byte) (rune, error) {
	hex := func(n int) (rune, error) {
		if t.i+n > len(t.src) {
			return 0, badRegex(`invalid escape \ sequence`)
		}
		x, err := strconv.ParseUint(t.src[t.i:t.i+n], 16, 32)
		if err != nil {
			return 0, badRegex(`invalid escape \ sequence`)
		}
		t.i += n
		return rune(x), nil
	}
	switch c {
	case 'a':
		return 7, nil
	case 'b':
		return '\b', nil
	case 'B':
		return '\\', nil
	case 'e':
		return 27, nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case 'u':
		return hex(4)
	case 'U':
		return hex(8)
	case 'x':
		n := 0
		for t.i+n < len(t.src) && strings.IndexByte("0123456789abcdefABCDEF", t.src[t.i+n]) >= 0 && n < 8 {
			n++
		}
		return hex(max(n, 1))
	case 'c':
		if t.i == len(t.src) {
			return 0, badRegex(`invalid escape \ sequence`)
		}
		t.i++
		return rune(t.src[t.i-1] & 31), nil
	case '0':
		return 0, nil
	}
	if isLetter(c) {
		return 0, badRegex(`invalid escape \ sequence`)
	}
	t.i--
	r, w := utf8.DecodeRuneInString(t.src[t.i:])
	t.i += w
	return r, nil
}

// posixClasses are the named classes, by Unicode as PostgreSQL has them.
var posixClasses = map[string]string{"alpha": `\p{L}`, "digit": `0-9`, "alnum": `\p{L}\p{Nd}`, "upper": `\p{Lu}`,
	"lower": `\p{Ll}`, "space": `\s\v`, "blank": ` \t`, "punct": `\p{P}\p{S}`, "print": `\p{L}\p{M}\p{N}\p{P}\p{S} `,
	"graph": `\p{L}\p{M}\p{N}\p{P}\p{S}`, "cntrl": `\x00-\x1f\x7f`, "xdigit": `0-9A-Fa-f`, "word": `\p{L}\p{M}\p{Nd}_`}

func (t *regexTranslator) bracket() error {
	t.atom = true
	rest := t.src[t.i:]
	for _, edge := range [...]string{"[:<:]]", "[:>:]]"} {
		if strings.HasPrefix(rest, edge) {
			t.i += len(edge)
			t.context = true
			t.out.WriteString(`\b`)
			return nil
		}
	}
	t.out.WriteByte('[')
	if t.i < len(t.src) && t.src[t.i] == '^' {
		t.out.WriteByte('^')
		t.i++
		if t.f.dotLine {
			t.out.WriteString(`\n`)
		}
	}
	for first := true; ; first = false {
		if t.i >= len(t.src) {
			return badRegex("brackets [] not balanced")
		}
		c := t.src[t.i]
		rest := t.src[t.i:]
		switch {
		case c == ']' && !first:
			t.i++
			t.out.WriteByte(']')
			return nil
		case strings.HasPrefix(rest, "[:"):
			name, _, ok := strings.Cut(rest[2:], ":]")
			if !ok || posixClasses[name] == "" {
				return badRegex("invalid character class")
			}
			t.out.WriteString(posixClasses[name])
			t.i += len(name) + 4
		case strings.HasPrefix(rest, "[=") || strings.HasPrefix(rest, "[."):
			name, _, ok := strings.Cut(rest[2:], rest[1:2]+"]")
			if !ok || utf8.RuneCountInString(name) != 1 {
				return badRegex("invalid collating element")
			}
			t.out.WriteString(regexp.QuoteMeta(name))
			t.i += len(name) + 4
		case c == '\\' && !t.f.ere:
			if err := t.bracketEscape(); err != nil {
				return err
			}
		case c == '-':
			t.i++
			if first || t.i < len(t.src) && t.src[t.i] == ']' {
				t.out.WriteString(`\-`)
			} else {
				t.out.WriteByte('-')
			}
		default:
			r, w := utf8.DecodeRuneInString(rest)
			t.i += w
			t.out.WriteString(bracketChar(r))
		}
	}
}

func bracketChar(r rune) string {
	if strings.ContainsRune(`[]\^-&~`, r) {
		return `\` + string(r)
	}
	return string(r)
}

func (t *regexTranslator) bracketEscape() error {
	t.i++
	if t.i == len(t.src) {
		return badRegex(`invalid escape \ sequence`)
	}
	c := t.src[t.i]
	t.i++
	if set, ok := classes[c]; ok {
		t.out.WriteString(set)
		return nil
	}
	if strings.IndexByte("DWSAZmMyY", c) >= 0 {
		return badRegex(`invalid escape \ sequence`)
	}
	r, err := t.charEscape(c)
	if err == nil {
		t.out.WriteString(bracketChar(r))
	}
	return err
}
