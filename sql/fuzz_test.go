package sql

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

// seeds returns the texts of the test files.
func seeds(f testing.TB) []string {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) || err != nil && strings.Contains(err.Error(), "directory") {
			continue
		}
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(data), "\n\n") {
			if text, _, ok := strings.Cut(block, "\n----\n"); ok {
				_, text, _ = strings.Cut(text, "\n")
				out = append(out, text)
			}
		}
	}
	return out
}

// FuzzParse holds that no text makes Parse panic or blame itself, that every
// error has a place in the text, and that whatever parses is written so that it
// parses to the same tree.
func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkText(t, text)
	})
}

// checkText parses a text, checks what comes out, and tells whether it parsed.
func checkText(t *testing.T, text string) bool {
	t.Helper()
	stmts, err := Parse(text)
	if err != nil {
		e := sqlerr.From(err)
		if e.Code == sqlerr.InternalError || e.Pos < 1 || e.Pos > len(text)+1 {
			t.Fatalf("%s %v at %d of\n%s", e.Code, err, e.Pos, text)
		}
		return false
	}
	for _, s := range stmts {
		if span := s.Extent(); span.Start < 0 || span.Start >= span.End || span.End > len(text) {
			t.Fatalf("span %v of %q", span, text)
		}
		if msg := checkIdentity(s); msg != "" {
			t.Fatalf("%s\n%s", text, msg)
		}
	}
	return true
}

// FuzzSubstitute holds that substitution keeps a text without variables, and
// that every offset of the new text has a place in the old one.
func FuzzSubstitute(f *testing.F) {
	f.Add("SELECT :a, :'b', x::a", "v")
	f.Add(":\"a\":a", "'")
	f.Fuzz(func(t *testing.T, text, value string) {
		if s := Substitute(text, nil); s.Text != text {
			t.Fatalf("%q became %q", text, s.Text)
		}
		s := Substitute(text, map[string]string{"a": value, "b": value})
		last := 0
		for i := range len(s.Text) + 1 {
			at := s.SourcePos(i)
			if at < last || at > len(text) {
				t.Fatalf("offset %d of %q is %d of %q", i, s.Text, at, text)
			}
			last = at
		}
		if spans, err := Split(text); err == nil {
			for _, span := range spans {
				if strings.TrimSpace(span.Of(text)) == "" {
					t.Fatalf("empty statement %v in %q", span, text)
				}
			}
		}
	})
}

// TestSplice parses texts of tokens that were mixed from the test files: they
// reach further into the grammar than random bytes do.
func TestSplice(t *testing.T) {
	var texts [][]string
	var words []string
	for _, text := range seeds(t) {
		var list []string
		for _, tok := range dialect.Lex(text) {
			if tok.Kind != dialect.Bad && tok.Kind != dialect.EOF {
				list = append(list, text[tok.Pos:tok.End])
			}
		}
		if len(list) > 0 {
			texts = append(texts, list)
			words = append(words, list...)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	parsed := 0
	for range 40000 {
		s := slices.Clone(texts[r.IntN(len(texts))])
		for range 1 + r.IntN(4) {
			at := r.IntN(len(s) + 1)
			other := texts[r.IntN(len(texts))]
			from := r.IntN(len(other))
			to := min(from+1+r.IntN(8), len(other))
			switch {
			case at < len(s) && len(s) > 1 && r.IntN(4) == 0:
				s = slices.Delete(s, at, at+1)
			case at < len(s) && r.IntN(3) == 0:
				s[at] = words[r.IntN(len(words))]
			default:
				s = slices.Insert(s, at, other[from:to]...)
			}
		}
		text := strings.Join(s, " ")
		if checkText(t, text) {
			parsed++
		}
	}
	if parsed < 1000 {
		t.Errorf("only %d texts parsed", parsed)
	}
}
