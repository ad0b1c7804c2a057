package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxFileLines     = 600
	maxFunctionLines = 70
	maxLineLength    = 120
	maxMethods       = 6
)

func TestFileLength(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		if n := strings.Count(s.text, "\n"); n > maxFileLines {
			found = append(found, finding{"file-lines", s.path, n, maxFileLines, s.path})
		}
	}
	settle(t, []string{"file-lines"}, found)
}

// TestFunctionLength looks at code only: a table in a test may be long.
func TestFunctionLength(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if n := s.lines(fn); n > maxFunctionLines {
					found = append(found, finding{"function-lines", s.path + ":" + functionName(fn), n, maxFunctionLines,
						fmt.Sprintf("%s:%d", s.path, s.line(fn))})
				}
			}
		}
	}
	settle(t, []string{"function-lines"}, found)
}

// functionName is the function's name, with its receiver's type before it.
func functionName(fn *ast.FuncDecl) string {
	name := fn.Name.Name
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return name
	}
	x := fn.Recv.List[0].Type
	for {
		switch v := x.(type) {
		case *ast.StarExpr:
			x = v.X
		case *ast.IndexExpr:
			x = v.X
		case *ast.IndexListExpr:
			x = v.X
		case *ast.Ident:
			return v.Name + "." + name
		default:
			return name
		}
	}
}

// TestLineLength lets a test's texts be as long as they are.
func TestLineLength(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		texts := map[int]bool{}
		if s.test {
			texts = s.textLines()
		}
		var long []int
		for n, line := range strings.Split(s.text, "\n") {
			if utf8.RuneCountInString(line) > maxLineLength && !texts[n+1] {
				long = append(long, n+1)
			}
		}
		found = append(found, counts("line-length", s.path, long)...)
	}
	settle(t, []string{"line-length"}, found)
}

// textLines are the lines on which a string literal stands.
func (s *source) textLines() map[int]bool {
	out := map[int]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			for l := s.line(lit); l < s.line(lit)+s.lines(lit); l++ {
				out[l] = true
			}
		}
		return true
	})
	return out
}

func TestInterfaceSize(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				methods := 0
				for _, m := range i.Methods.List {
					methods += len(m.Names)
				}
				if methods > maxMethods {
					found = append(found, finding{"methods", s.path + ":" + spec.Name.Name, methods, maxMethods,
						fmt.Sprintf("%s:%d", s.path, s.line(spec))})
				}
			}
			return true
		})
	}
	settle(t, []string{"methods"}, found)
}

// TestPackageComments wants a doc.go with the package's comment in every folder
// that has code.
func TestPackageComments(t *testing.T) {
	documented, code := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			code[s.dir] = true
		}
		if filepath.Base(s.path) == "doc.go" && s.file.Doc != nil {
			documented[s.dir] = true
		}
	}
	var found []finding
	for dir := range code {
		if !documented[dir] {
			found = append(found, finding{"no-doc-go", dir, 1, 0, dir})
		}
	}
	settle(t, []string{"no-doc-go"}, found)
}

// TestGoStatements: goroutines are started by package spawn, which names them and
// turns their panics into errors.
func TestGoStatements(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		if s.test || s.dir == "internal/spawn" {
			continue
		}
		var at []int
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				at = append(at, s.line(g))
			}
			return true
		})
		found = append(found, counts("go-statement", s.path, at)...)
	}
	settle(t, []string{"go-statement"}, found)
}

// TestClock: the machine's time is read in package clock alone, so that tests can
// hold it still.
func TestClock(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		if s.test || s.dir == "internal/clock" {
			continue
		}
		m := s.mentions("time")
		var at []int
		for _, name := range []string{"Now", "Since", "Until", "Sleep"} {
			at = append(at, m[name]...)
		}
		found = append(found, counts("clock", s.path, at)...)
	}
	settle(t, []string{"clock"}, found)
}

// TestPrinting: libraries return what they have to say.
func TestPrinting(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.dir, "cmd/") {
			continue
		}
		var at []int
		m := s.mentions("fmt")
		for _, name := range []string{"Print", "Printf", "Println"} {
			at = append(at, m[name]...)
		}
		for _, lines := range s.mentions("log") {
			at = append(at, lines...)
		}
		found = append(found, counts("print", s.path, at)...)
	}
	settle(t, []string{"print"}, found)
}

// TestPanics: bad input is an error. The panics that exist are exceptions with a
// reason.
func TestPanics(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		var at []int
		ast.Inspect(s.file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if f, ok := c.Fun.(*ast.Ident); ok && f.Name == "panic" {
					at = append(at, s.line(c))
				}
			}
			return true
		})
		found = append(found, counts("panic", s.path, at)...)
	}
	settle(t, []string{"panic"}, found)
}

// TestExits: only a command ends the process.
func TestExits(t *testing.T) {
	var found []finding
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.dir, "cmd/") || strings.HasPrefix(s.dir, "tests/") {
			continue
		}
		found = append(found, counts("exit", s.path, s.mentions("os")["Exit"])...)
	}
	settle(t, []string{"exit"}, found)
}

// TestUnfinished: the repository holds no notes to come back to.
func TestUnfinished(t *testing.T) {
	words := []string{"TO" + "DO", "FIX" + "ME", "X" + "XX"}
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, w := range words {
				for _, word := range strings.FieldsFunc(group.Text(), notWord) {
					if word == w {
						t.Errorf("%s:%d: a comment says %s", s.path, s.line(group), w)
					}
				}
			}
		}
	}
}

func notWord(r rune) bool {
	return r != '_' && (r < '0' || r > 'z' || r > '9' && r < 'A' || r > 'Z' && r < 'a')
}

// TestRules: every rule that exceptions.txt names is one that a test asks about.
func TestRules(t *testing.T) {
	known := map[string]bool{}
	for _, s := range []string{"file-lines", "function-lines", "line-length", "methods", "no-doc-go", "go-statement",
		"clock", "print", "panic", "exit"} {
		known[s] = true
	}
	for key := range readExceptions(t).most {
		rule, place, _ := strings.Cut(key, " ")
		if !known[rule] {
			t.Errorf("exceptions.txt: no rule is called %q", rule)
		}
		path, _, _ := strings.Cut(place, ":")
		if _, err := os.Stat(filepath.Join(root(t), path)); err != nil {
			t.Errorf("exceptions.txt: %v", err)
		}
	}
}
