package sql

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// seeds returns the texts of the test files.
func seeds(f *testing.F) []string {
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
		stmts, err := Parse(text)
		if err != nil {
			e := sqlerr.From(err)
			if e.Code == sqlerr.InternalError || e.Pos < 1 || e.Pos > len(text)+1 {
				t.Fatalf("%s %v at %d", e.Code, err, e.Pos)
			}
			return
		}
		for _, s := range stmts {
			if span := s.Extent(); span.Start < 0 || span.Start >= span.End || span.End > len(text) {
				t.Fatalf("span %v of %q", span, text)
			}
			if msg := checkIdentity(s); msg != "" {
				t.Fatal(msg)
			}
		}
	})
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
