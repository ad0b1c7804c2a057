package format

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// otherReaders returns the Python that has other readers of Parquet.
func otherReaders(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("../tests/clients/setup", "dir").Output()
	python := filepath.Join(strings.TrimSpace(string(dir)), "parquet", "bin", "python3")
	if _, err2 := os.Stat(python); err != nil || err2 != nil {
		const why = "pyarrow and DuckDB are not installed: run tests/clients/setup parquet"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return python
}

// Other programs read what is written, with its types and statistics.
func TestParquetForOthers(t *testing.T) {
	python := otherReaders(t)
	want, err := os.ReadFile("testdata/parquet/check.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	rows := [][]string{encodeRows[0], nil}
	for i, c := range ParquetCompressions {
		vs := encodeVecs(t, encodeColumns, rows)
		for k, v := range vs {
			randomVec(r, encodeColumns[k].Type, v, 700)
		}
		data := parquetFile(t, encodeColumns, vs, upTo(702), 1, ParquetOptions{Compression: c, RowGroup: 300 + i})
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "testdata/parquet/check.py", path).CombinedOutput()
		got := strings.Join(strings.SplitAfter(string(out), "\n")[:min(len(encodeColumns)+2, strings.Count(string(out), "\n"))], "")
		if err != nil || got != string(want) {
			t.Fatalf("%s: %v\n%s", c, err, out)
		}
	}
}
