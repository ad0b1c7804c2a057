package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/session"
)

// parts are the generated parts by name; root is the module's folder.
var parts = map[string]func(root string) (string, error){
	"functions":   func(string) (string, error) { return functions(), nil },
	"operators":   func(string) (string, error) { return operators(), nil },
	"aggregates":  func(string) (string, error) { return aggregates(), nil },
	"settings":    func(string) (string, error) { return settings(true), nil },
	"pg-settings": func(string) (string, error) { return settings(false), nil },
	"errors":      errorCodes,
	"invariants":  invariants,
	"relations":   func(string) (string, error) { return relations(), nil },
	"packages":    packages,
}

// Pages are the files under docs that have generated parts.
func Pages(root string) ([]string, error) {
	var out []string
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			if strings.Contains(string(text), beginMark) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

const (
	beginMark = "<!-- begin generated: "
	endMark   = "<!-- end generated -->"
)

// Apply returns a page's text with its generated parts made anew.
func Apply(root, text string) (string, error) {
	var out strings.Builder
	for {
		i := strings.Index(text, beginMark)
		if i < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		name, rest, ok := strings.Cut(text[i+len(beginMark):], " -->\n")
		k := strings.Index(rest, endMark)
		if !ok || k < 0 || strings.Contains(rest[:k], beginMark) {
			return "", fmt.Errorf("the part that begins by %q does not end", text[i:i+len(beginMark)+10])
		}
		part := parts[name]
		if part == nil {
			return "", fmt.Errorf("there is no part %q", name)
		}
		body, err := part(root)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s%s%s -->\n%s\n", text[:i], beginMark, name, strings.TrimRight(body, "\n"))
		out.WriteString(endMark)
		text = rest[k+len(endMark):]
	}
}

// table writes a table of Markdown.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + cell(c) + " ")
		}
		b.WriteString("|\n")
	}
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// cell keeps a text from ending its cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string { return "`" + s + "`" }

func args(f *expr.Function) string {
	a := slices.Clone(f.Args)
	if f.Variadic && len(a) > 0 {
		a[len(a)-1] = "VARIADIC " + a[len(a)-1]
	}
	return strings.Join(a, ", ")
}

func functions() string {
	var rows [][]string
	for _, f := range expr.Functions() {
		if !f.Operator {
			rows = append(rows, []string{code(f.Name + "(" + args(&f) + ")"), f.Result, f.Description})
		}
	}
	return table([]string{"function", "result", "what it returns"}, rows)
}

// operators puts the overloads of an operator into one line.
func operators() string {
	by := map[string][]string{}
	var names []string
	for _, f := range expr.Functions() {
		if !f.Operator {
			continue
		}
		if by[f.Name] == nil {
			names = append(names, f.Name)
		}
		sig := strings.Join(f.Args, " "+f.Name+" ")
		if len(f.Args) == 1 {
			sig = f.Name + " " + f.Args[0]
		}
		by[f.Name] = append(by[f.Name], sig+" → "+f.Result)
	}
	var rows [][]string
	for _, n := range names {
		rows = append(rows, []string{code(n), strings.Join(by[n], "; ")})
	}
	return table([]string{"operator", "operands and result"}, rows)
}

func aggregates() string {
	var names []string
	for _, n := range aggregate.Names() {
		names = append(names, code(n))
	}
	return strings.Join(names, ", ") + ".\n"
}

func settings(own bool) string {
	var rows [][]string
	for _, p := range session.Parameters() {
		if p.Own != own {
			continue
		}
		def := ""
		if p.Default != "" {
			def = code(p.Default)
		}
		if p.Fixed {
			def += " (cannot be set)"
		}
		rows = append(rows, []string{code(p.Name), def, p.Description})
	}
	sort.SliceStable(rows, func(i, j int) bool { return strings.ToLower(rows[i][0]) < strings.ToLower(rows[j][0]) })
	return table([]string{"setting", "default", "what it does"}, rows)
}
