package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fence = regexp.MustCompile("(?ms)^```.*?^```$")
	// named are words in backquotes that look like a path of ours: a folder of the
	// module, then names.
	named = regexp.MustCompile("`((?:\\.ci|[a-z]+)(?:/[A-Za-z0-9_.-]+)+)`")
	link  = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
)

// documents are the Markdown files of the module.
func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if strings.HasSuffix(d.Name(), ".md") {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDocumentedPaths: files that a page names or links to exist.
func TestDocumentedPaths(t *testing.T) {
	top := root(t)
	docs := documents(t)
	if len(docs) < 10 {
		t.Fatalf("only %d pages found", len(docs))
	}
	for _, path := range docs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			t.Fatal(err)
		}
		prose := fence.ReplaceAllString(string(text), "")
		for _, m := range named.FindAllStringSubmatch(prose, -1) {
			first, _, _ := strings.Cut(m[1], "/")
			if st, err := os.Stat(filepath.Join(top, first)); err != nil || !st.IsDir() {
				continue // not one of ours: an import path, a MIME type
			}
			if _, err := os.Stat(filepath.Join(top, m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", rel, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", rel, m[1])
			}
		}
	}
}

// TestLayersAreDocumented: docs/ARCHITECTURE.md names every family of the import
// table in its line.
func TestLayersAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs/ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, l := range strings.Split(string(text), "\n") {
		if cells := strings.Split(l, "|"); len(cells) > 3 {
			rows[strings.TrimSpace(cells[1])] = cells[2]
		}
	}
	dirs := map[string]bool{}
	for _, s := range sources(t) {
		dirs[s.dir] = true
	}
	for i, l := range layers {
		for _, f := range l.families {
			exists := false
			for d := range dirs {
				exists = exists || d == f || strings.HasPrefix(d, f+"/")
			}
			if exists && !strings.Contains(rows[string(rune('0'+i))], "`"+f+"`") {
				t.Errorf("docs/ARCHITECTURE.md: line %d does not name %s", i, f)
			}
		}
	}
}
