package lint

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// exceptions are the lines of exceptions.txt: rule, place, and the greatest
// number that is let through there.
type exceptions struct {
	most map[string]int
	used map[string]bool
}

func readExceptions(t *testing.T) *exceptions {
	t.Helper()
	text, err := os.ReadFile("exceptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	e := &exceptions{most: map[string]int{}, used: map[string]bool{}}
	for n, line := range strings.Split(string(text), "\n") {
		line, reason, _ := strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 || strings.TrimSpace(reason) == "" {
			t.Fatalf("exceptions.txt:%d: write RULE PLACE NUMBER # REASON", n+1)
		}
		most, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatalf("exceptions.txt:%d: %v", n+1, err)
		}
		key := f[0] + " " + f[1]
		if _, twice := e.most[key]; twice {
			t.Fatalf("exceptions.txt:%d: %s is there twice", n+1, key)
		}
		e.most[key] = most
	}
	return e
}

// finding is something that breaks a rule: at place, with a number above limit.
type finding struct {
	rule, place string
	n, limit    int
	where       string // file:line, to be shown
}

// settle reports the findings that no exception covers, and the exceptions of
// these rules that cover nothing.
func settle(t *testing.T, rules []string, found []finding) {
	t.Helper()
	e := readExceptions(t)
	for _, f := range found {
		key := f.rule + " " + f.place
		most, excepted := e.most[key]
		e.used[key] = true
		switch {
		case !excepted:
			t.Errorf("%s: %s: %d, at most %d", f.where, f.rule, f.n, f.limit)
		case f.n > most:
			t.Errorf("%s: %s: %d, by exceptions.txt at most %d", f.where, f.rule, f.n, most)
		}
	}
	var stale []string
	for key := range e.most {
		for _, r := range rules {
			if strings.HasPrefix(key, r+" ") && !e.used[key] {
				stale = append(stale, key)
			}
		}
	}
	sort.Strings(stale)
	for _, key := range stale {
		t.Errorf("exceptions.txt: %q is not needed any more: take it out", key)
	}
}

// counts makes one finding of all places of a file that break a rule which
// allows none.
func counts(rule, path string, lines []int) []finding {
	if len(lines) == 0 {
		return nil
	}
	return []finding{{rule, path, len(lines), 0, fmt.Sprintf("%s:%d", path, lines[0])}}
}
