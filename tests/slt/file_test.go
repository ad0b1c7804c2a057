package slt

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// block is a statement of a file with what it expects.
type block struct {
	line     int
	lead     []string // comment lines before it
	kind     string   // sql, ordered, own
	sql      string
	expected string
}

func readFile(t *testing.T, path string) (blocks []block, tail []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lead []string
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		switch l := lines[i]; {
		case l == "" || strings.HasPrefix(l, "#"):
			lead = append(lead, l)
			continue
		case l != "sql" && l != "ordered" && l != "own":
			t.Fatalf("%s:%d: a block begins with sql, ordered or own", path, i+1)
		}
		b := block{line: i + 1, lead: lead, kind: lines[i]}
		lead = nil
		var query, want []string
		for i++; i < len(lines) && lines[i] != "----"; i++ {
			query = append(query, lines[i])
		}
		for i++; i < len(lines) && lines[i] != ""; i++ {
			want = append(want, lines[i])
		}
		b.sql, b.expected = strings.Join(query, "\n"), strings.Join(want, "\n")
		blocks = append(blocks, b)
		i--
	}
	return blocks, lead
}

func writeFile(t *testing.T, path string, blocks []block, tail []string) {
	t.Helper()
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	for _, b := range blocks {
		for _, l := range b.lead {
			fmt.Fprintln(w, l)
		}
		fmt.Fprintf(w, "%s\n%s\n----\n", b.kind, b.sql)
		if b.expected != "" {
			fmt.Fprintln(w, b.expected)
		}
	}
	for _, l := range tail {
		fmt.Fprintln(w, l)
	}
	w.Flush()
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
