package stream

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/sql/types"
)

// testCase is one case of a file.
type testCase struct {
	name    string
	line    int
	options map[string]string
	rels    []*relation
	setup   []string
	ops     map[string]opRef
	sql     string
	// postgres is the query for PostgreSQL, if it is not translated; noPostgres: there
	// is none that gives the same.
	postgres   string
	noPostgres bool
	closes     []string // the columns that end windows, if not those of the usual names
	columns    []column
	key        []int
	hasKey     bool
	modes      []string
	refusal    []refusal
	epochs     []*epoch
}

// opRef is the nth operator of a kind in the plan, counted from 1.
type opRef struct {
	kind string
	n    int
}

type column struct {
	name string
	typ  types.Type
	text string // the type as the file spells it
}

type relation struct {
	name       string
	table      bool
	appendOnly bool
	cols       []column
	watermark  string
	delay      string
	declared   bool
	splits     []string
	key        string
	with       []string // more options of the source, as SQL
	bounded    bool
	defs       []string // computed columns, as SQL
}

// refusal is an error that CREATE must give in a mode.
type refusal struct{ mode, code, word string }

// epoch is what comes in one epoch, in one or several reads.
type epoch struct {
	n, line  int
	before   string // "", restart or crash
	clock    float64
	hasClock bool
	polls    bool
	steps    []*step
	finished bool
}

// step is what comes at once, with what is expected of it.
type step struct {
	line   int
	last   int // the line of its last row
	rows   []change
	want   map[string]*output // by mode
	counts []count
	marks  []mark
	kept   []kept
}

type change struct {
	rel, split string
	del        bool
	values     []string
}

// output is what a mode gives: rows of values, each as one text.
type output struct {
	plus, minus []string
	choose      int
	choice      []string
}

// count is a figure of operators: late, partial, dups, nulltime or state.
type count struct {
	line int
	what string
	n    int64
	op   string
	mode string
}

type mark struct {
	line          int
	micros        int64
	none          bool // there is none, or it is not above 0
	source, split string
}

type kept struct {
	source string
	values []string
	micros int64
}

var (
	allModes  = []string{"append", "update", "complete", "changelog"}
	countWord = []string{"late", "partial", "dups", "nulltime", "state"}
	// figureWords begin the lines that stand after an epoch's output.
	figureWords = append([]string{"wm", "kept", "finished"}, countWord...)
)

// parser reads one file.
type parser struct {
	line  int
	cases []*testCase
	c     *testCase
	e     *epoch
	s     *step
	// before is what the next epoch begins with.
	before string
}

// parseFile reads the cases of a file.
func parseFile(path string) ([]*testCase, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseCases(path, string(text))
}

func parseCases(path, text string) ([]*testCase, error) {
	p := &parser{}
	for i, l := range strings.Split(text, "\n") {
		p.line = i + 1
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(l, " ")
		if err := p.statement(word, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, p.line, err)
		}
	}
	if len(p.cases) == 0 {
		return nil, fmt.Errorf("%s has no case", path)
	}
	for _, c := range p.cases {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: case %s: %w", path, c.line, c.name, err)
		}
	}
	return p.cases, nil
}

func (c *testCase) check() error {
	switch {
	case c.sql == "":
		return fmt.Errorf("there is no query")
	case len(c.modes) == 0 && len(c.refusal) == 0:
		return fmt.Errorf("neither a mode nor a refusal is stated")
	case len(c.modes) > 0 && len(c.epochs) == 0:
		return fmt.Errorf("there is no epoch")
	}
	return nil
}

func (p *parser) statement(word, rest string) error {
	switch word {
	case "title", "note":
		return nil
	case "case":
		p.c = &testCase{name: rest, line: p.line, options: map[string]string{}, ops: map[string]opRef{}}
		p.cases, p.e, p.s, p.before = append(p.cases, p.c), nil, nil, ""
		return nil
	}
	if p.c == nil {
		return fmt.Errorf("%s stands before the first case", word)
	}
	f, err := fields(rest)
	if err != nil {
		return err
	}
	switch word {
	case "epoch", "poll", "restart", "crash":
		return p.begin(word, f)
	}
	if p.e == nil {
		return p.head(word, rest, f)
	}
	return p.inEpoch(word, f)
}

// fields splits a line at blanks outside single quotes. A quoted field keeps its
// opening quote, so that 'NULL' is not NULL.
func fields(s string) ([]string, error) {
	var out []string
	for i := 0; i < len(s); {
		if s[i] == ' ' {
			i++
			continue
		}
		if s[i] != '\'' {
			j := strings.IndexByte(s[i:]+" ", ' ') + i
			out = append(out, s[i:j])
			i = j
			continue
		}
		j := strings.IndexByte(s[i+1:], '\'')
		if j < 0 {
			return nil, fmt.Errorf("a quote is not closed")
		}
		out = append(out, s[i:i+1+j])
		i += j + 2
	}
	return out, nil
}

func (p *parser) begin(word string, f []string) error {
	switch word {
	case "restart", "crash":
		p.before = word
		return nil
	case "poll":
		if p.e == nil {
			return fmt.Errorf("poll stands outside an epoch")
		}
		if p.e.polls {
			p.s = &step{last: p.line}
			p.e.steps = append(p.e.steps, p.s)
		}
		p.e.polls, p.s.line = true, p.line
		return nil
	}
	n, err := strconv.Atoi(strings.Join(f, " "))
	if err != nil || n != len(p.c.epochs)+1 {
		return fmt.Errorf("the next epoch is %d", len(p.c.epochs)+1)
	}
	p.s = &step{line: p.line, last: p.line}
	p.e = &epoch{n: n, line: p.line, before: p.before, steps: []*step{p.s}}
	p.c.epochs, p.before = append(p.c.epochs, p.e), ""
	return nil
}

func (p *parser) head(word, rest string, f []string) error {
	switch word {
	case "set":
		name, value, _ := strings.Cut(rest, " ")
		p.c.options[name] = value
	case "source", "table":
		return p.relation(word == "table", f)
	case "setup":
		p.c.setup = append(p.c.setup, rest)
	case "op":
		if len(f) != 3 {
			return fmt.Errorf("write op NAME KIND N")
		}
		n, err := strconv.Atoi(f[2])
		if err != nil {
			return err
		}
		p.c.ops[f[0]] = opRef{f[1], n}
	case "sql":
		p.c.sql += rest + "\n"
	case "postgres":
		if len(f) > 0 && f[0] == "none" {
			p.c.noPostgres = true
			return nil
		}
		p.c.postgres += rest + "\n"
	case "closes":
		p.c.closes = f
	case "columns":
		cols, err := columns(f)
		p.c.columns = cols
		return err
	case "key":
		p.c.hasKey = true
		for _, name := range f {
			i := slices.IndexFunc(p.c.columns, func(c column) bool { return c.name == name })
			if i < 0 {
				return fmt.Errorf("key column %s is not a column", name)
			}
			p.c.key = append(p.c.key, i)
		}
	case "modes":
		p.c.modes = f
		return isMode(f...)
	case "error":
		if len(f) != 3 {
			return fmt.Errorf("write error MODE SQLSTATE WORD")
		}
		p.c.refusal = append(p.c.refusal, refusal{f[0], f[1], f[2]})
		return isMode(f[0])
	default:
		return fmt.Errorf("what is %q?", word)
	}
	return nil
}

func isMode(words ...string) error {
	for _, w := range words {
		if !slices.Contains(allModes, w) {
			return fmt.Errorf("%q is no output mode", w)
		}
	}
	return nil
}

func columns(f []string) ([]column, error) {
	var out []column
	for _, s := range f {
		name, text, _ := strings.Cut(s, ":")
		text = strings.ReplaceAll(text, "_", " ")
		t, ok := types.Parse(text)
		if !ok {
			return nil, fmt.Errorf("%q is no NAME:TYPE", s)
		}
		out = append(out, column{name, t, text})
	}
	return out, nil
}

func (p *parser) relation(table bool, f []string) error {
	if len(f) == 0 {
		return fmt.Errorf("a relation has a name")
	}
	r := &relation{name: f[0], table: table}
	for _, s := range f[1:] {
		name, value, option := strings.Cut(s, "=")
		switch {
		case s == "declared":
			r.declared = true
		case s == "append_only":
			r.appendOnly = true
		case s[0] == '\'':
			r.defs = append(r.defs, s[1:])
		case s == "bounded":
			r.bounded = true
			r.with = append(r.with, "bounded = 'true'")
		case !option:
			c, err := columns([]string{s})
			if err != nil {
				return err
			}
			r.cols = append(r.cols, c...)
		case name == "watermark":
			r.watermark = value
		case name == "delay":
			r.delay = value
		case name == "splits":
			r.splits = strings.Split(value, ",")
		case name == "key":
			r.key = value
		case name == "idle":
			if value != "off" {
				value += " s"
			}
			r.with = append(r.with, "idle_timeout = '"+value+"'")
		case name == "over_splits":
			r.with = append(r.with, "watermark_splits = '"+value+"'")
		default:
			return fmt.Errorf("what is %q?", s)
		}
	}
	if len(r.splits) == 0 {
		r.splits = []string{"all"}
	}
	p.c.rels = append(p.c.rels, r)
	return nil
}

func (c *testCase) relation(name string) *relation {
	for _, r := range c.rels {
		if r.name == name {
			return r
		}
	}
	return nil
}

func (p *parser) inEpoch(word string, f []string) error {
	if isMode(strings.Split(word, ",")...) != nil && !slices.Contains(figureWords, word) {
		p.s.last = p.line
	}
	switch word {
	case "finished":
		p.e.finished = true
		return nil
	case "end":
		return nil
	}
	if len(f) == 0 {
		return fmt.Errorf("%s says nothing", word)
	}
	switch {
	case word == "clock":
		x, err := strconv.ParseFloat(f[0], 64)
		p.e.clock, p.e.hasClock = x, true
		return err
	case word == "rows":
		return p.manyRows(f)
	case word == "in" || word == "del":
		return p.change(word == "del", f)
	case word == "wm":
		return p.mark(f)
	case slices.Contains(countWord, word):
		return p.count(word, f)
	case word == "kept":
		return p.keptRow(f)
	}
	return p.output(strings.Split(word, ","), f)
}

func (p *parser) change(del bool, f []string) error {
	name, split, _ := strings.Cut(f[0], "/")
	r := p.c.relation(name)
	if r == nil {
		return fmt.Errorf("there is no relation %q", name)
	}
	if split == "" && !r.table {
		split = r.splits[0]
	}
	if len(f)-1 != len(r.cols) {
		return fmt.Errorf("%s has %d columns", name, len(r.cols))
	}
	p.s.rows = append(p.s.rows, change{name, split, del, f[1:]})
	return nil
}

// options takes the words NAME=VALUE from the end of a line.
func options(f []string, names ...string) (rest []string, got map[string]string) {
	got = map[string]string{}
	for len(f) > 0 {
		name, value, ok := strings.Cut(f[len(f)-1], "=")
		if !ok || !slices.Contains(names, name) {
			break
		}
		got[name], f = value, f[:len(f)-1]
	}
	return f, got
}

func (p *parser) mark(f []string) error {
	f, o := options(f, "source", "split")
	m := mark{line: p.line, source: o["source"], split: o["split"]}
	if len(f) != 1 {
		return fmt.Errorf("write wm SECONDS [source=X [split=Y]]")
	}
	us, err := micros(f[0])
	m.micros, m.none = us, us == 0
	p.s.marks = append(p.s.marks, m)
	return err
}

func (p *parser) count(word string, f []string) error {
	f, o := options(f, "op", "mode")
	if len(f) != 1 {
		return fmt.Errorf("write %s NUMBER [op=X] [mode=M]", word)
	}
	n, err := strconv.ParseInt(f[0], 10, 64)
	if _, known := p.c.ops[o["op"]]; o["op"] != "" && !known {
		return fmt.Errorf("no operator is named %q", o["op"])
	}
	p.s.counts = append(p.s.counts, count{p.line, word, n, o["op"], o["mode"]})
	return err
}

func (p *parser) keptRow(f []string) error {
	f, o := options(f, "wm")
	r := p.c.relation(f[0])
	if r == nil || len(f)-1 != len(r.cols) {
		return fmt.Errorf("write kept SOURCE VALUES wm=SECONDS")
	}
	us, err := micros(o["wm"])
	p.s.kept = append(p.s.kept, kept{f[0], f[1:], us})
	return err
}

func (p *parser) output(modes, f []string) error {
	if err := isMode(modes...); err != nil {
		return err
	}
	if p.s.want == nil {
		p.s.want = map[string]*output{}
	}
	for _, m := range modes {
		if !slices.Contains(p.c.modes, m) {
			return fmt.Errorf("mode %s is not stated", m)
		}
		w := p.s.want[m]
		if w == nil {
			w = &output{}
			p.s.want[m] = w
		}
		if f[0] == "choose" {
			n, err := strconv.Atoi(f[len(f)-1])
			if w.choose = n; err != nil {
				return err
			}
			continue
		}
		row, err := expectedRow(p.c.columns, f[1:])
		if err != nil {
			return err
		}
		switch f[0] {
		case "+":
			w.plus = append(w.plus, row)
		case "-":
			w.minus = append(w.minus, row)
		case "?":
			w.choice = append(w.choice, row)
		default:
			return fmt.Errorf("what is %q?", f[0])
		}
	}
	return nil
}
