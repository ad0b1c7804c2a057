package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestStaticSideIsReadFirst: a stream that is joined with a table which a file
// feeds meets all of the file, though both begin at once and again after a crash.
func TestStaticSideIsReadFirst(t *testing.T) {
	dir := t.TempDir()
	names, events := filepath.Join(dir, "names.csv"), filepath.Join(dir, "events.csv")
	const n = 100_000
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("%d,name %d", n-i, i%10))
	}
	writeLines(t, names, lines)
	lines = nil
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("%d", 1+i*100))
	}
	writeLines(t, events, lines)
	s := serve(t, filepath.Join(dir, "data"))
	s.connect().exec(fmt.Sprintf(`BEGIN;
		CREATE TABLE names (k int PRIMARY KEY, name text) WITH (connector = 'file', path = '%s') FORMAT PLAIN ENCODE CSV (header = 'false');
		CREATE SOURCE events (k int) WITH (connector = 'file', path = '%s') FORMAT PLAIN ENCODE CSV (header = 'false');
		CREATE MATERIALIZED VIEW joined AS SELECT name, count(*) AS n FROM events JOIN names USING (k) GROUP BY name;
		COMMIT`, names, events))
	s.kill()
	s = serve(t, filepath.Join(dir, "data"))
	c := s.connect()
	c.exec("FLUSH")
	if n := c.value("SELECT sum(n) FROM joined"); n != "1000" {
		t.Errorf("%s of 1000 events met their name", n)
	}
}
