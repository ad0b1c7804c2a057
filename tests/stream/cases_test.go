package stream

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

var listRefused = flag.Bool("list-refused", false, "write testdata/refused.txt anew")

const refusedFile = "testdata/refused.txt"

// TestMain collects garbage less often: the tests start thousands of engines, each
// with little memory.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}

func keyText(id int) string { return strconv.Itoa(id) }

// TestCases runs all cases in all ways that fit them.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := readRefused(t)
	for _, p := range paths {
		if p == refusedFile {
			continue
		}
		cases, err := parseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(p), ".txt")
		for _, c := range cases {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				runCase(t, p, name, c, list)
			})
		}
	}
	t.Cleanup(func() { list.write(t) })
}

func runCase(t *testing.T, path, name string, c *testCase, list *refusedList) {
	for i, w := range ways {
		if !w.fits(c) {
			continue
		}
		if i == 0 {
			list.check(t, name+" "+c.name, c.checkRefusals(t, path))
			if len(c.modes) == 0 {
				return
			}
		}
		t.Run(w.name, func(t *testing.T) {
			refused := c.run(t, path, w)
			if i == 0 {
				list.check(t, name+" "+c.name, refused)
			}
		})
	}
	list.left(t, name+" "+c.name)
}

// refusedList is what the engine does not do as yet, by case and mode.
type refusedList struct {
	mu   sync.Mutex
	want map[string]string
	got  map[string]string
}

// readRefused reads the list: a line has the file, the case, the mode (or error
// MODE, where another error was expected), a colon, the SQLSTATE and the message.
func readRefused(t *testing.T) *refusedList {
	l := &refusedList{want: map[string]string{}, got: map[string]string{}}
	text, err := os.ReadFile(refusedFile)
	if err != nil && !*listRefused {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		what, e, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("%s: %q", refusedFile, line)
		}
		l.want[what] = e
	}
	return l
}

// check compares what is refused with the list.
func (l *refusedList) check(t *testing.T, name string, refused map[string]error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for mode, err := range refused {
		what, e := name+" "+mode, sqlerr.From(err)
		if se, ok := codeOf(err); ok {
			e = se
		}
		text := fmt.Sprintf("%s %s", e.Code, e.Message)
		l.got[what] = text
		if !*listRefused && l.want[what] != text {
			t.Errorf("%s is refused: %s", what, text)
		}
	}
}

// left reports what the list has of a case and is refused no more.
func (l *refusedList) left(t *testing.T, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for what, e := range l.want {
		if strings.HasPrefix(what, name+" ") && l.got[what] == "" && !*listRefused {
			t.Errorf("%s is no longer refused with %s: take it from %s", what, e, refusedFile)
		}
	}
}

func (l *refusedList) write(t *testing.T) {
	if !*listRefused {
		return
	}
	var lines []string
	for what, e := range l.got {
		lines = append(lines, what+": "+e+"\n")
	}
	slices.Sort(lines)
	head := "# What the engine refuses as yet: FILE CASE MODE: SQLSTATE MESSAGE.\n"
	if err := os.WriteFile(refusedFile, []byte(head+strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkRefusals creates what must be refused.
func (c *testCase) checkRefusals(t *testing.T, file string) map[string]error {
	if len(c.refusal) == 0 {
		return nil
	}
	r := newRunner(t, c, file, ways[0])
	defer r.end()
	return r.refusals()
}
