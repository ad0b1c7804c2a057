package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"unicode"

	"github.com/streamsql/streamsql/catalog"
)

// errorCodes lists the SQLSTATEs of package sqlerr with their names as words.
func errorCodes(root string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal/sqlerr/code.go"), nil, 0)
	if err != nil {
		return "", err
	}
	var rows [][]string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING && len(lit.Value) == 7 {
			rows = append(rows, []string{strings.Trim(lit.Value, `"`), words(v.Names[0].Name)})
		}
		return true
	})
	if len(rows) < 50 {
		return "", fmt.Errorf("only %d codes found", len(rows))
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i][0] < rows[j][0] })
	return table([]string{"SQLSTATE", "condition"}, rows), nil
}

// words writes a name in words: InvalidJSON is «invalid JSON».
func words(name string) string {
	var b strings.Builder
	r := []rune(name)
	for i, c := range r {
		acronym := unicode.IsUpper(c) && (i+1 == len(r) || unicode.IsUpper(r[i+1]))
		if unicode.IsUpper(c) && i > 0 && (unicode.IsLower(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte(' ')
		}
		if acronym {
			b.WriteRune(c)
		} else {
			b.WriteRune(unicode.ToLower(c))
		}
	}
	return b.String()
}

// packageDoc is the comment of a package, as doc.go has it.
type packageDoc struct{ dir, text string }

func packageDocs(root string) ([]packageDoc, error) {
	var out []packageDoc
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || d.Name() != "doc.go" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil || f.Doc == nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		out = append(out, packageDoc{filepath.ToSlash(rel), f.Doc.Text()})
		return err
	})
	sort.Slice(out, func(i, j int) bool { return out[i].dir < out[j].dir })
	return out, err
}

// invariant is the beginning of one in a package's comment: «A1  …» or «1.  …».
var invariant = regexp.MustCompile(`^\s+([A-Z]?[0-9]+)\.?\s+(\S.*)$`)

// invariants collects those of all packages.
func invariants(root string) (string, error) {
	docs, err := packageDocs(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, d := range docs {
		_, rest, ok := strings.Cut(d.text, "\nInvariants:\n")
		if !ok {
			continue
		}
		var rows [][]string
		for _, line := range strings.Split(rest, "\n") {
			m := invariant.FindStringSubmatch(line)
			switch {
			case m != nil:
				rows = append(rows, []string{m[1], m[2]})
			case strings.TrimSpace(line) == "":
			case len(rows) > 0 && strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
				rows[len(rows)-1][1] += " " + strings.TrimSpace(line)
			case len(rows) > 0:
				goto done // the comment goes on with something else
			}
		}
	done:
		if len(rows) == 0 {
			return "", fmt.Errorf("%s: the comment says «Invariants:» and has none", d.dir)
		}
		fmt.Fprintf(&b, "### %s\n\n%s\nChecked by %s.\n\n", d.dir, table([]string{"", "invariant"}, rows),
			checkedBy(root, d.dir))
	}
	return b.String(), nil
}

// checkedBy tells which tests look at a package.
func checkedBy(root, dir string) string {
	who := "the tests in " + dir
	for {
		own, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err == nil && len(own) > 0 {
			break
		}
		if dir = filepath.Dir(dir); dir == "." {
			return "tests/slt, tests/e2e and tests/docs, through the whole program"
		}
		who = "the tests in " + dir
	}
	if dir == "arrowbatch" {
		who += "; in a build with the tag invariants a released buffer is poisoned, and one released twice panics"
	}
	return who
}

// packages lists the packages with the first sentence of their comment.
func packages(root string) (string, error) {
	docs, err := packageDocs(root)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, d := range docs {
		text := strings.Join(strings.Fields(d.text), " ")
		if i := strings.Index(text, ". "); i >= 0 {
			text = text[:i+1]
		}
		for _, lead := range []string{"Package ", "Command "} {
			text = strings.TrimPrefix(text, lead)
		}
		_, text, _ = strings.Cut(text, " ")
		rows = append(rows, []string{code(d.dir), text})
	}
	return table([]string{"package", "what it does"}, rows), nil
}

// relations lists the system relations of schema streamsql.
func relations() string {
	var rows [][]string
	names, columns := catalog.OwnRelations()
	for _, n := range names {
		rows = append(rows, []string{code(n), strings.Join(columns[n], ", ")})
	}
	return table([]string{"relation", "columns"}, rows)
}
