package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestRun runs scripts by `run`, as the files in testdata/run say.
//
//	file NAME                writes a file that scripts may name as $DIR/NAME
//	run [ARGUMENT…] [stdin]  runs the text as script.sql, or as standard input; prints
//	                         standard output, what is on standard error, and the
//	                         status where it is not 0
//
// All commands of a file share a folder, $DIR in the texts; an argument data=NAME
// stands for --data $DIR/NAME, format=NAME and v=NAME=VALUE for those flags, and
// quiet for -q.
func TestRun(t *testing.T) {
	datadriven.Walk(t, "testdata/run", func(t *testing.T, path string) {
		dir := t.TempDir()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			text := strings.ReplaceAll(d.Input, "$DIR", dir)
			switch d.Cmd {
			case "file":
				writeLines(t, filepath.Join(dir, d.CmdArgs[0].Key), []string{text})
				return ""
			case "run":
				return runScript(t, dir, text, d)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func runScript(t *testing.T, dir, text string, d *datadriven.TestData) string {
	t.Helper()
	script := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(script, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args, in, files := []string{"run"}, "", []string{script}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "stdin":
			in, files = text+"\n", []string{"-"}
		case "quiet":
			args = append(args, "-q")
		case "v":
			args = append(args, "-v", strings.Join(a.Vals, ","))
		case "format":
			args = append(args, "--format", a.Vals[0])
		case "data":
			args = append(args, "--data", filepath.Join(dir, a.Vals[0]))
		case "first":
			files = append([]string{filepath.Join(dir, a.Vals[0])}, files...)
		default:
			t.Fatalf("unknown argument %s", a.Key)
		}
	}
	r := program(t, in, append(args, files...)...)
	out := r.out
	if r.errOut != "" {
		out += "stderr: " + r.errOut
	}
	if r.code != 0 {
		out += fmt.Sprintf("status %d\n", r.code)
	}
	return strings.ReplaceAll(out, dir, "$DIR")
}
