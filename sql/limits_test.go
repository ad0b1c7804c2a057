package sql

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestDepth holds that texts of any nesting end in a tree or in 54001.
func TestDepth(t *testing.T) {
	const n = 100000
	rep := strings.Repeat
	tooDeep := map[string]string{
		"parentheses":  "SELECT " + rep("(", n) + "1" + rep(")", n),
		"open":         "SELECT " + rep("(", n),
		"brackets":     "SELECT a" + rep("[a", n) + rep("]", n),
		"subqueries":   rep("SELECT (", n) + "1" + rep(")", n),
		"from":         "SELECT 1 FROM " + rep("(SELECT 1 FROM ", n) + "t" + rep(")", n),
		"joins":        "SELECT 1 FROM " + rep("(", n) + "t",
		"calls":        "SELECT " + rep("f(", n) + rep(")", n),
		"case":         "SELECT " + rep("CASE WHEN ", n) + "1",
		"not":          "SELECT " + rep("NOT ", n) + "a",
		"minus":        "SELECT " + rep("- ", n) + "1",
		"prefix":       "SELECT " + rep("@ ", n) + "1",
		"sum":          "SELECT 1" + rep(" + 1", n),
		"casts":        "SELECT 1" + rep("::int", n),
		"subscripts":   "SELECT a" + rep("[1]", n),
		"concat":       "SELECT a" + rep(" || a", n),
		"is":           "SELECT a" + rep(" IS NULL", n),
		"unions":       "SELECT 1" + rep(" UNION SELECT 1", n),
		"join chain":   "SELECT 1 FROM t" + rep(" CROSS JOIN t", n),
		"join right":   "SELECT 1 FROM t" + rep(" JOIN t", n) + rep(" ON a", n),
		"and":          "SELECT a" + rep(" AND a", n),
		"arrays":       "SELECT ARRAY" + rep("[", n),
		"grouping":     "SELECT 1 GROUP BY " + rep("GROUPING SETS (", n),
		"with":         rep("WITH a AS (", n),
		"explain":      rep("EXPLAIN ", n) + "SELECT 1",
		"prepare":      rep("PREPARE p AS ", n) + "SELECT 1",
		"struct":       "SELECT a::" + rep("struct<a ", n),
		"option lists": "CREATE TABLE t (a int) WITH (a = " + rep("(", n),
		"copy":         rep("COPY (", n),
	}
	for name, text := range tooDeep {
		_, err := Parse(text)
		if code := sqlerr.CodeOf(err); code != sqlerr.StatementTooComplex {
			t.Errorf("%s: %s %.100v", name, code, err)
		}
	}
	for name, text := range map[string]string{
		"parentheses": "SELECT " + rep("(", 900) + "1" + rep(")", 900),
		"sum":         "SELECT 1" + rep(" + 1", 4000),
		"and":         "SELECT a" + rep(" AND a", 50000),
		"or":          "SELECT a = 1" + rep(" OR a = 1 AND b IN (1) + 1", 20000),
		"unions":      "SELECT 1" + rep(" UNION SELECT 1", 4000),
		"joins":       "SELECT 1 FROM t" + rep(" CROSS JOIN t", 4000),
		"subqueries":  rep("SELECT (", 900) + "SELECT 1" + rep(")", 900),
		"not":         "SELECT " + rep("NOT ", 900) + "a",
	} {
		stmts, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		switch name {
		case "and", "or", "joins", "unions", "sum": // written without more parentheses
			if msg := checkIdentity(stmts[0]); msg != "" {
				t.Errorf("%s: %.200s", name, msg)
			}
		}
	}
}

// TestWide parses long flat texts.
func TestWide(t *testing.T) {
	const n = 100000
	list := strings.Repeat("1, ", n) + "1"
	q, err := ParseQuery("SELECT a IN (" + list + ") FROM t")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(q.Body.(*Select).Targets[0].X.(*In).List); got != n+1 {
		t.Errorf("list of %d", got)
	}
	q, err = ParseQuery("VALUES (1, 'a')" + strings.Repeat(", (2, 'b')", n))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(q.Body.(*Values).Rows); got != n+1 {
		t.Errorf("%d rows", got)
	}
	stmts, err := Parse(strings.Repeat("SELECT 1;", 1000))
	if err != nil || len(stmts) != 1000 {
		t.Errorf("%d statements, %v", len(stmts), err)
	}
}

// TestParallel parses in many goroutines at once, valid and invalid texts mixed.
func TestParallel(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				text := fmt.Sprintf("SELECT a%d + %d FROM t WHERE b IN (SELECT %d)", g, i, i)
				q, err := ParseQuery(text)
				if err != nil {
					t.Error(err)
					return
				}
				if got := FormatQuery(q); got != text {
					t.Errorf("got %s\nwant %s", got, text)
				}
				if _, err := ParseQuery(text + " 5 FROM"); err == nil {
					t.Error("no error")
				}
			}
		})
	}
	wg.Wait()
}

// TestParseEntries checks the other entry points of the package.
func TestParseEntries(t *testing.T) {
	if x, err := ParseExpr("a + 1"); err != nil || FormatExpr(x) != "a + 1" {
		t.Errorf("%v %v", x, err)
	}
	for _, text := range []string{"", "a,", "a b", "1 +"} {
		if _, err := ParseExpr(text); sqlerr.CodeOf(err) != sqlerr.SyntaxError {
			t.Errorf("ParseExpr(%q): %v", text, err)
		}
	}
	if _, err := ParseQuery("INSERT INTO t VALUES (1)"); sqlerr.CodeOf(err) != sqlerr.SyntaxError {
		t.Error(err)
	}
	if s, err := ParseOne("BEGIN;"); err != nil || FormatStatement(s) != "BEGIN" {
		t.Errorf("%v %v", s, err)
	}
	for _, text := range []string{"", "BEGIN; COMMIT"} {
		if _, err := ParseOne(text); sqlerr.CodeOf(err) != sqlerr.SyntaxError {
			t.Errorf("ParseOne(%q): %v", text, err)
		}
	}
	for s, want := range map[string]string{
		"abc": "abc", "a1_b": "a1_b", "": `""`, "A": `"A"`, "a b": `"a b"`, `a"b`: `"a""b"`, "select": `"select"`,
		"left": `"left"`, "integer": `"integer"`, "stream": "stream", "1a": `"1a"`, "é": `"é"`,
	} {
		if got := QuoteIdent(s); got != want {
			t.Errorf("QuoteIdent(%q) = %s, want %s", s, got, want)
		}
	}
	if got := FormatName(QualifiedName{Schema: Name{Text: "My"}, Name: Name{Text: "t"}}); got != `"My".t` {
		t.Error(got)
	}
}

// TestOptionText checks the texts of option values.
func TestOptionText(t *testing.T) {
	s, err := ParseOne(`CREATE TABLE t (a int) WITH (a = 'x', b = 5, c = -1.5, d = true, e = FALSE, f = all,
		g = "Q", h = INTERVAL '5' MINUTE, i = INTERVAL '1 day', j = (1, 2))`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"x", "5", "-1.5", "true", "false", "all", "Q", "5 minute", "1 day", "(none)"}
	for i, o := range s.(*CreateTable).Options {
		got, ok := o.Text()
		if !ok {
			got = "(none)"
		}
		if got != want[i] {
			t.Errorf("%s: %q, want %q", o.Name.Text, got, want[i])
		}
	}
	if _, ok := (&Option{}).Text(); ok {
		t.Error("an option without value has a text")
	}
}
