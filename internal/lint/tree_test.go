package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/streamsql/streamsql"

// source is one Go file of the module.
type source struct {
	path string // from the module's root, with slashes
	dir  string // its folder; "." for the root
	test bool
	text string
	file *ast.File
	fset *token.FileSet
}

// root is the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

var loaded struct {
	once  sync.Once
	files []*source
	err   error
}

// sources parses every Go file of the module, once.
func sources(t *testing.T) []*source {
	t.Helper()
	loaded.once.Do(func() { loaded.files, loaded.err = load(root(t)) })
	if loaded.err != nil {
		t.Fatal(loaded.err)
	}
	if len(loaded.files) < 100 {
		t.Fatalf("only %d Go files found: the walk is broken", len(loaded.files))
	}
	return loaded.files
}

func load(top string) ([]*source, error) {
	var out []*source
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		hidden := strings.HasPrefix(name, ".") || name == "testdata" || name == "bin"
		if d.IsDir() && path != top && hidden {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		s := &source{path: filepath.ToSlash(rel), text: string(text), fset: token.NewFileSet(),
			test: strings.HasSuffix(name, "_test.go")}
		s.dir = filepath.ToSlash(filepath.Dir(rel))
		s.file, err = parser.ParseFile(s.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, s)
		return nil
	})
	return out, err
}

// line is the line of a node.
func (s *source) line(n ast.Node) int { return s.fset.Position(n.Pos()).Line }

// lines is how many lines a node has.
func (s *source) lines(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

// mentions are the names of a package (by its import path) that the file uses,
// with their lines.
func (s *source) mentions(path string) map[string][]int {
	name := ""
	for _, i := range s.file.Imports {
		if strings.Trim(i.Path.Value, `"`) == path {
			name = path[strings.LastIndexByte(path, '/')+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	out := map[string][]int{}
	if name == "" {
		return out
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
				out[sel.Sel.Name] = append(out[sel.Sel.Name], s.line(sel))
			}
		}
		return true
	})
	return out
}
