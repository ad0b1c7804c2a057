package lint

import (
	"strings"
	"testing"
)

// layer is a line of the import table: its packages may import those of the
// lines above it in the table, and each other only within one family.
type layer struct {
	// families are folders; a family is a folder and all below it.
	families []string
	// may limits what is imported; nil: every line above.
	may []string
}

// layers is the import order, lowest first. docs/ARCHITECTURE.md shows the same.
var layers = []layer{
	{families: []string{"internal", "metrics"}},
	{families: []string{"arrowbatch", "sql/types"}},
	{families: []string{"sql", "expr", "state", "format"}},
	{families: []string{"connector", "catalog"}},
	{families: []string{"plan"}, may: []string{"internal", "metrics", "arrowbatch", "sql/types", "sql", "expr", "format",
		"catalog"}},
	{families: []string{"exec"}, may: []string{"internal", "metrics", "arrowbatch", "sql/types", "sql", "expr", "state",
		"format", "connector", "catalog"}},
	{families: []string{"stream"}},
	{families: []string{"pgwire", "web"}, may: []string{"internal", "metrics", "arrowbatch", "sql/types"}},
	{families: []string{"session"}, may: []string{"internal", "metrics", "arrowbatch", "sql/types", "sql", "expr", "state",
		"format", "connector", "catalog", "plan", "exec", "stream", "pgwire"}},
	{families: []string{"cmd", "tests", "bench"}},
}

// within are imports inside a line that the table allows.
var within = map[string]string{
	"sql/types": "arrowbatch", // types have layouts
}

// alsoMay are single packages that see more than their family.
var alsoMay = map[string][]string{
	"exec/build": {"plan"}, // the only part of exec that sees plans
}

// family returns the family of a folder and its line.
func family(dir string) (string, int) {
	best, line := "", -1
	for i, l := range layers {
		for _, f := range l.families {
			if (dir == f || strings.HasPrefix(dir, f+"/")) && len(f) > len(best) {
				best, line = f, i
			}
		}
	}
	return best, line
}

// allowed tells whether a package may import another.
func allowed(from, to string) bool {
	ff, fl := family(from)
	tf, tl := family(to)
	if fl < 0 || tl < 0 {
		return false
	}
	if ff == tf || within[ff] == tf {
		return true
	}
	for _, f := range alsoMay[from] {
		if f == tf {
			return true
		}
	}
	if layers[fl].may == nil {
		return tl < fl
	}
	for _, f := range layers[fl].may {
		if f == tf {
			return true
		}
	}
	return false
}

func TestImportOrder(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if _, l := family(s.dir); l < 0 && !seen[s.dir] {
			t.Errorf("%s: folder %s is in no line of the import table", s.path, s.dir)
		}
		seen[s.dir] = true
		if s.test {
			continue
		}
		for _, i := range s.file.Imports {
			to, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/")
			if ours && !allowed(s.dir, to) {
				t.Errorf("%s:%d: package %s may not import %s", s.path, s.line(i), s.dir, to)
			}
		}
	}
	for _, f := range []string{"arrowbatch", "exec/operator", "session", "cmd/streamsql"} {
		if !seen[f] {
			t.Errorf("folder %s was not looked at", f)
		}
	}
}

// libraries says where a library may be imported in code that is not a test.
var libraries = map[string][]string{
	"github.com/pingcap/tidb":           {"sql"},
	"github.com/apache/arrow":           {"arrowbatch", "sql/types", "format"},
	"github.com/cockroachdb/pebble":     {"state"},
	"github.com/segmentio/kafka-go":     {"connector/kafka"},
	"github.com/jackc/pgproto3":         {"pgwire"},
	"github.com/spf13/cobra":            {"cmd"},
	"github.com/prometheus":             {"metrics", "web", "cmd"},
	"github.com/hamba/avro":             {"format"},
	"github.com/bufbuild/protocompile":  {"format"},
	"github.com/klauspost/compress":     {"connector/file", "format"},
	"github.com/pierrec/lz4":            {"format"},
	"google.golang.org/protobuf":        {"format"},
	"github.com/zeebo/xxh3":             nil, // anywhere
	"github.com/jackc/pgx":              {"connector/postgres"},
	"github.com/lib/pq":                 {},
	"github.com/twmb/franz-go":          {},
	"go.uber.org/goleak":                {},
	"github.com/cockroachdb/datadriven": {},
}

func TestLibraries(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "internal/deps" {
			continue
		}
		for _, i := range s.file.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(path, module+"/") {
				continue
			}
			if where, known := placeOf(path); !known {
				t.Errorf("%s:%d: library %s is in no line of the table", s.path, s.line(i), path)
			} else if where != nil && !inside(s.dir, where) {
				t.Errorf("%s:%d: library %s belongs to %v alone", s.path, s.line(i), path, where)
			}
		}
	}
}

func placeOf(path string) ([]string, bool) {
	for lib, where := range libraries {
		if path == lib || strings.HasPrefix(path, lib+"/") {
			return where, true
		}
	}
	return nil, false
}

func inside(dir string, families []string) bool {
	for _, f := range families {
		if dir == f || strings.HasPrefix(dir, f+"/") {
			return true
		}
	}
	return false
}
