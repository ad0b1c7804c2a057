package stream

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// addition is a line that is put after another one.
type addition struct {
	after int
	text  string
}

// withoutOutput blanks the lines that say what modes give.
func withoutOutput(text []byte) []byte {
	lines := strings.Split(string(text), "\n")
	for i, l := range lines {
		if word, _, _ := strings.Cut(strings.TrimSpace(l), " "); isMode(strings.Split(word, ",")...) == nil {
			lines[i] = "\x00"
		}
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "\x00" })
	return []byte(strings.Join(lines, "\n"))
}

// writeAdded writes a file with lines added.
func writeAdded(t *testing.T, path, text string, added []addition) {
	var out []string
	for i, l := range strings.Split(text, "\n") {
		out = append(out, l)
		for _, a := range added {
			if a.after == i+1 {
				out = append(out, a.text)
			}
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(out, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// derived returns the output lines of a case's epochs and reads, as PostgreSQL's
// answers give them.
func (o *oracle) derived() []addition {
	var out []addition
	for _, ep := range o.c.epochs {
		for _, s := range ep.steps {
			rows, final := o.take(ep, s)
			for _, l := range append(o.lines(rows, final), o.figures(s)...) {
				out = append(out, addition{s.last, l})
			}
			o.earlier, o.final = rows, final
		}
	}
	return out
}

// figures are the lines that are missing of a step's watermark and late rows.
func (o *oracle) figures(s *step) []string {
	var out []string
	if len(o.marks.high) == 0 {
		return nil
	}
	if len(s.marks) == 0 {
		wm := "0"
		if o.marks.query > math.MinInt64 {
			wm = seconds(o.marks.query)
		}
		out = append(out, "wm "+wm)
	}
	if !slices.ContainsFunc(s.counts, func(c count) bool { return c.what == "late" }) {
		out = append(out, "late 0")
	}
	return out
}

// lines are an epoch's output lines: rows that go before rows that come, each with
// the modes that give it.
func (o *oracle) lines(rows, final []string) []string {
	gone, come := minus(o.earlier, rows), minus(rows, o.earlier)
	modes := map[string][]string{}
	var order []string
	note := func(sign, row, mode string) {
		l := sign + " " + fielded(row)
		if modes[l] == nil {
			order = append(order, l)
		}
		modes[l] = append(modes[l], mode)
	}
	for _, row := range gone {
		for _, m := range o.c.modes {
			replaced := o.c.hasKey && slices.ContainsFunc(come, func(r string) bool { return o.c.keyOf(r) == o.c.keyOf(row) })
			if m == "changelog" || m == "update" && !replaced {
				note("-", row, m)
			}
		}
	}
	seen := map[string]int{}
	for _, row := range rows {
		seen[row]++
		for _, m := range o.c.modes {
			isNew := count1(come, row) >= seen[row]
			if m == "complete" || m == "append" && count1(minus(final, o.final), row) >= seen[row] ||
				(m == "update" || m == "changelog") && isNew {
				note("+", row, m)
			}
		}
	}
	var out []string
	for _, l := range order {
		out = append(out, grouped(l, modes[l])...)
	}
	return out
}

// grouped writes a line as often as its modes need it.
func grouped(line string, modes []string) []string {
	var out []string
	for len(modes) > 0 {
		var once, rest []string
		for _, m := range modes {
			if slices.Contains(once, m) {
				rest = append(rest, m)
			} else {
				once = append(once, m)
			}
		}
		out = append(out, strings.Join(once, ",")+" "+line)
		modes = rest
	}
	return out
}

func count1(rows []string, row string) int {
	n := 0
	for _, r := range rows {
		if r == row {
			n++
		}
	}
	return n
}

// minus is a less b, as multisets, in the order of a.
func minus(a, b []string) []string {
	n := map[string]int{}
	for _, r := range b {
		n[r]++
	}
	var out []string
	for _, r := range a {
		if n[r]--; n[r] < 0 {
			out = append(out, r)
		}
	}
	return out
}

// fielded writes a row as a file has it.
func fielded(row string) string {
	f := strings.Split(row, sep)
	for i, s := range f {
		text, is := strings.CutPrefix(s, "=")
		if f[i] = text; is && (text == "" || text == "NULL" || strings.ContainsAny(text, " '\"")) {
			f[i] = "'" + text + "'"
		}
	}
	return strings.Join(f, " ")
}
