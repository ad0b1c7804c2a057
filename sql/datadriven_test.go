package sql

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestFiles runs the files of testdata. Their commands take SQL text:
//
//	parse      the statements as the formatter writes them
//	types      one type name on each line
//	names      the output column names of a SELECT
//	positions  the nodes with positions
//	split      the statements' texts
//	substitute vars as arguments (a=x), the text with them, and a map of positions
func TestFiles(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				return parseCommand(t, d.Input)
			case "types":
				return typesCommand(d.Input)
			case "names":
				return namesCommand(t, d.Input)
			case "positions":
				return positionsCommand(t, d.Input)
			case "split":
				return splitCommand(d.Input)
			case "substitute":
				return substituteCommand(d)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func parseCommand(t *testing.T, input string) string {
	stmts, err := Parse(input)
	if err != nil {
		return describeError(input, err)
	}
	if len(stmts) == 0 {
		return "(nothing)\n"
	}
	var b strings.Builder
	for _, s := range stmts {
		fmt.Fprintf(&b, "%s\n", FormatStatement(s))
		if msg := checkIdentity(s); msg != "" {
			t.Errorf("%s\n  %s", input, msg)
		}
	}
	return b.String()
}

func typesCommand(input string) string {
	var b strings.Builder
	for _, line := range strings.Split(input, "\n") {
		ty, err := ParseTypeName(line)
		if err != nil {
			b.WriteString(describeError(line, err))
			continue
		}
		fmt.Fprintf(&b, "%s\n", FormatType(ty))
	}
	return b.String()
}

func namesCommand(t *testing.T, input string) string {
	q, err := ParseQuery(input)
	if err != nil {
		t.Fatal(err)
	}
	sel, ok := q.Body.(*Select)
	if !ok {
		t.Fatalf("%T", q.Body)
	}
	var names []string
	for _, target := range sel.Targets {
		names = append(names, ColumnName(target.X))
	}
	return strings.Join(names, "\n") + "\n"
}

func positionsCommand(t *testing.T, input string) string {
	stmts, err := Parse(input)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range stmts {
		span := s.Extent()
		out = append(out, fmt.Sprintf("%d-%d %T", span.Start, span.End, s))
		positions(input, reflect.ValueOf(s), &out)
	}
	return strings.Join(out, "\n") + "\n"
}

func splitCommand(input string) string {
	spans, err := Split(input)
	if err != nil {
		return describeError(input, err)
	}
	var b strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&b, "%d-%d %q\n", s.Start, s.End, s.Of(input))
	}
	return b.String()
}

func substituteCommand(d *datadriven.TestData) string {
	vars := map[string]string{}
	for _, a := range d.CmdArgs {
		vars[a.Key] = strings.Join(a.Vals, ",")
	}
	s := Substitute(d.Input, vars)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Text)
	// where the words of the new text stood in the old one
	var words []string
	for i := range s.Text {
		if i == 0 || s.Text[i-1] == ' ' && s.Text[i] != ' ' {
			words = append(words, fmt.Sprintf("%d→%d", i, s.SourcePos(i)))
		}
	}
	words = slices.Compact(words)
	fmt.Fprintf(&b, "%s\n", strings.Join(words, " "))
	return b.String()
}
