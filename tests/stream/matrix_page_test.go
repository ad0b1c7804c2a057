package stream

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

const matrixFile = "../../docs/sql/support-matrix.md"

const matrixHead = `# Support matrix

Every shape of query with every [trigger](triggers.md) in every [output mode](output-modes.md). The
table is made by a test, which creates each of these queries, runs it on rows that come in several
epochs and compares the result with the right one. A number says that the query is refused when it
is created, with the error below.

The micro-batch triggers, "processing_time", "available_now" and "once", and "real_time" take the
same queries%s

"s", "p" and "r" are streams, "s" and "r" with a watermark on "ts"; "t" and "u" are tables.
`

// matrixPage writes the page.
func matrixPage(t *testing.T, got [][][]cell) string {
	var b bytes.Buffer
	notes := &errorNotes{at: map[string]int{}}
	differ := false
	var rows bytes.Buffer
	group := ""
	for i, s := range shapes {
		if s.group != group {
			group = s.group
			fmt.Fprintf(&rows, "\n## %s\n\n| query | %s |\n|---|%s\n", strings.ToUpper(group[:1])+group[1:],
				strings.Join(allModes, " | "), strings.Repeat("---|", len(allModes)))
		}
		fmt.Fprintf(&rows, "| %s |", s.name)
		for k := range allModes {
			texts := make([]string, len(triggers))
			same := true
			for tr := range triggers {
				texts[tr] = notes.text(got[tr][i][k])
				same = same && texts[tr] == texts[0]
			}
			if same {
				fmt.Fprintf(&rows, " %s |", texts[0])
				continue
			}
			differ = true
			for tr, trigger := range triggers {
				texts[tr] = strings.Fields(trigger)[0] + ": " + texts[tr]
			}
			fmt.Fprintf(&rows, " %s |", strings.Join(texts, ", "))
		}
		rows.WriteString("\n")
	}
	except := "."
	if differ {
		except = ", except where a cell names triggers."
	}
	fmt.Fprintf(&b, strings.ReplaceAll(matrixHead, `"`, "`"), except)
	b.Write(rows.Bytes())
	b.WriteString("\n## Errors\n\nAll have SQLSTATE 0A000.\n\n")
	for i, n := range notes.list {
		fmt.Fprintf(&b, "%d. %s\n", i+1, n)
	}
	b.WriteString("\n## Queries\n\n")
	for _, s := range shapes {
		fmt.Fprintf(&b, "- %s, %s: `%s`\n", s.group, s.name, strings.Join(strings.Fields(s.sql), " "))
	}
	return b.String()
}

// errorNotes numbers errors.
type errorNotes struct {
	at   map[string]int
	list []string
}

func (n *errorNotes) text(c cell) string {
	if c == nil {
		return "yes"
	}
	e := fmt.Sprintf("%s. *%s*", c.Message, c.Hint)
	if n.at[e] == 0 {
		n.list = append(n.list, e)
		n.at[e] = len(n.list)
	}
	return fmt.Sprint(n.at[e])
}

// checkPage compares the page with what it must be.
func checkPage(t *testing.T, want string) {
	if *update {
		if err := os.WriteFile(matrixFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(matrixFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("%s is out of date: go test ./tests/stream -run TestMatrix -update", matrixFile)
	}
}
