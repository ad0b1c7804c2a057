package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/tests/testenv"
)

// dataFile returns the absolute path of a file of real data.
func dataFile(t *testing.T, name string) string {
	t.Helper()
	dir := "testdata"
	if d := os.Getenv("STREAMSQL_TEST_DATA"); d != "" {
		dir = d
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// dataLines returns the lines of a file of real data.
func dataLines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(dataFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func writeLines(t *testing.T, path string, lines []string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// earthquakes are the earthquakes, oldest first.
func earthquakes(t *testing.T) []string {
	t.Helper()
	type quake struct {
		Properties struct {
			Time int64 `json:"time"`
		} `json:"properties"`
	}
	lines := dataLines(t, "earthquakes.ndjson")
	at := make(map[string]int64, len(lines))
	for _, l := range lines {
		var q quake
		if err := json.Unmarshal([]byte(l), &q); err != nil {
			t.Fatal(err)
		}
		at[l] = q.Properties.Time
	}
	slices.SortStableFunc(lines, func(a, b string) int { return int(at[a] - at[b]) })
	return lines
}

// oracle is a connection to PostgreSQL with a schema of its own. Its table lines
// holds the given JSON texts in column l.
func oracle(t *testing.T, lines []string) *db {
	t.Helper()
	url := testenv.Postgres(t)
	schema := testenv.Unique(t, "e2e")
	d := connect(t, url)
	d.exec("CREATE SCHEMA " + schema + "; SET search_path = " + schema)
	t.Cleanup(func() {
		if err := d.try("DROP SCHEMA " + schema + " CASCADE"); err != nil {
			t.Error(err)
		}
	})
	d.exec("CREATE TABLE lines (l jsonb)")
	d.copyIn("COPY lines FROM STDIN WITH (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')", strings.Join(lines, "\n")+"\n")
	return d
}

func (d *db) copyIn(sql, data string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	if _, err := d.PgConn().CopyFrom(ctx, strings.NewReader(data), sql); err != nil {
		d.t.Fatalf("%s\n%v", sql, err)
	}
}

// readFile returns a file of real data as it is.
func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
