package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the flags into docs/configuration.md")

// TestFlagsAreDocumented: docs/configuration.md has every flag as it is.
func TestFlagsAreDocumented(t *testing.T) {
	const path, begin, end = "../../docs/configuration.md", "<!-- begin flags -->\n", "<!-- end flags -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(text), begin)
	_, foot, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("the page has no place for flags")
	}
	want := head + begin + flagTables() + end + foot
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("docs/configuration.md is not current: go test ./cmd/streamsql -update")
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func flagTables() string {
	var b strings.Builder
	for _, c := range root().Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		fmt.Fprintf(&b, "`streamsql %s`: %s\n\n| flag | default | meaning |\n|---|---|---|\n", c.Use, firstLine(c))
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name, def := "--"+f.Name, f.DefValue
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			switch def {
			case "", "[]":
				def = ""
			default:
				def = "`" + def + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, def, strings.ReplaceAll(f.Usage, "|", `\|`))
		})
		b.WriteString("\n")
	}
	return b.String()
}

func firstLine(c *cobra.Command) string {
	return strings.ToLower(c.Short[:1]) + c.Short[1:]
}
