package e2e

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onceFiles are the directories that file sinks write to.
type onceFiles struct{ in, plain, parted, rolled, folded, copied string }

func filesSetUp(c *db, at onceFiles) {
	c.exec(fmt.Sprintf(`CREATE SOURCE ids (id bigint, k int) WITH (connector = 'file', path = '%s', splits = 2)
		FORMAT PLAIN ENCODE JSON`, at.in))
	sink := func(name, path, options, query string) {
		c.exec(fmt.Sprintf("CREATE SINK %s WITH (connector = 'file', path = '%s'%s) FORMAT PLAIN ENCODE JSON AS %s", name,
			path, options, query))
	}
	sink("plain", at.plain, ", parallelism = 2", "SELECT id FROM ids WHERE k <> 3")
	sink("parted", at.parted, ", partition_by = 'k', compression = 'gzip', max_open_files = 3", "SELECT id, k FROM ids")
	sink("rolled", at.rolled, `, roll_interval = '1500 ms', max_file_size = '8 kB', trigger = 'real_time',
		checkpoint_interval = '100 ms'`, "SELECT id FROM ids")
	sink("folded", at.folded, ", op_column = 'op', roll_interval = '1 s'",
		"SELECT k, count(*) AS n, sum(id) AS total FROM ids GROUP BY k")
	c.exec(fmt.Sprintf(`CREATE SOURCE again (id bigint, k int) WITH (connector = 'file', path = '%s')
		FORMAT PLAIN ENCODE JSON`, at.parted))
	sink("copied", at.copied, "", "SELECT id, k FROM again")
}

// TestExactlyOnceFiles kills the server at random instants up to 2 s after its start,
// while file sinks of all kinds run, one of them behind a source that reads what
// another writes. In the end each id is visible once, each aggregate is right, and the
// manifests name exactly the files there are. STREAMSQL_CRASH_RUNS and
// STREAMSQL_CRASH_IDS set the numbers of kills and ids.
func TestExactlyOnceFiles(t *testing.T) {
	kills, ids := crashRuns(t), envCount(t, "STREAMSQL_CRASH_IDS", 60_000)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	root := t.TempDir()
	dir := func(name string) string { return filepath.Join(root, name) }
	at := onceFiles{dir("in"), dir("plain"), dir("parted"), dir("rolled"), dir("folded"), dir("copied")}
	for _, d := range []string{at.in, at.parted} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, t.TempDir())
	filesSetUp(s.connect(), at)

	files := 0
	s = killed(t, s, rng, kills, ids, func(_, lo, end int) {
		for lo < end {
			hi := min(lo+1+rng.IntN(300), end)
			writeIDs(t, at.in, files, lo, hi)
			files++
			lo = hi
		}
	}, nil)
	c := s.connect()
	c.until("SELECT count(*) FROM streamsql.queries WHERE state = 'running'", "5")
	c.exec("FLUSH")
	time.Sleep(500 * time.Millisecond) // the source of copied looks for files now and then
	c.exec("FLUSH")
	if states := c.rows("SELECT name, state, error FROM streamsql.queries WHERE state <> 'running'"); len(states) > 0 {
		t.Errorf("queries that do not run: %q", states)
	}
	// An orderly stop completes the files that are kept open.
	s.stop(syscall.SIGTERM)
	t.Logf("%d ids in %d files, %d kills", ids, files, kills)
	all := func(int) bool { return true }
	checkFiles(t, at.plain, ids, false, func(id int) bool { return id%10 != 3 })
	checkFiles(t, at.parted, ids, true, all)
	checkFiles(t, at.rolled, ids, false, all)
	checkFiles(t, at.copied, ids, false, all)
	checkFolded(t, at.folded, ids)
}

// writeIDs writes a file of the ids lo to hi-1.
func writeIDs(t *testing.T, dir string, n, lo, hi int) {
	t.Helper()
	var b strings.Builder
	for id := lo; id < hi; id++ {
		fmt.Fprintf(&b, "{\"id\":%d,\"k\":%d}\n", id, id%10)
	}
	temp := filepath.Join(dir, ".in.tmp")
	if err := os.WriteFile(temp, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(dir, fmt.Sprintf("in-%06d.json", n))); err != nil {
		t.Fatal(err)
	}
}

// checkFiles checks that each id is there once, in the directory of its k where there
// are partitions.
func checkFiles(t *testing.T, dir string, ids int, parted bool, want func(id int) bool) {
	t.Helper()
	count := make([]int, ids)
	for id := range count {
		if !want(id) {
			count[id]++
		}
	}
	sinkLines(t, dir, func(path, line string) {
		id := jsonInt(t, line, "id")
		count[id]++
		if in := filepath.Base(filepath.Dir(path)); parted && in != fmt.Sprintf("k=%d", id%10) {
			t.Fatalf("id %d is in %s", id, in)
		}
	})
	onceEach(t, dir, count)
}

// checkFolded checks that the last row of each k is right, and that no state of it is
// there twice: n only grows.
func checkFolded(t *testing.T, dir string, ids int) {
	t.Helper()
	seen := map[string]bool{}
	last := map[int64][2]int64{}
	sinkLines(t, dir, func(_, line string) {
		row, ok := strings.CutSuffix(line, `,"op":"insert"}`)
		if seen[line] || !ok {
			t.Fatalf("%s: %s", dir, line)
		}
		seen[line] = true
		row += "}"
		if k, n := jsonInt(t, row, "k"), jsonInt(t, row, "n"); last[k][0] < n {
			last[k] = [2]int64{n, jsonInt(t, row, "total")}
		}
	})
	for k := range 10 {
		n, total := 0, 0
		for id := k; id < ids; id += 10 {
			n, total = n+1, total+id
		}
		if want := [2]int64{int64(n), int64(total)}; last[int64(k)] != want {
			t.Errorf("%s: k %d has %d, not %d", dir, k, last[int64(k)], want)
		}
	}
}

// sinkLines calls fn for the lines of the files in a sink's directory, which must be
// those of the manifest.
func sinkLines(t *testing.T, dir string, fn func(path, line string)) {
	t.Helper()
	listed := map[string]int64{}
	segments, err := filepath.Glob(filepath.Join(dir, "_manifest", "*.ndjson"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("%s has %d manifest files, %v", dir, len(segments), err)
	}
	for _, s := range segments {
		for line := range strings.Lines(readFile(t, s)) {
			var l struct {
				Path string
				Rows int64
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
			if l.Path != "" {
				listed[filepath.Join(dir, l.Path)] = l.Rows
			}
		}
	}
	err = filepath.WalkDir(dir, func(path string, de fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(de.Name(), "_") && de.IsDir():
			if left, _ := os.ReadDir(path); de.Name() == "_staging" && len(left) > 0 {
				t.Errorf("%s has %d files", path, len(left))
			}
			return fs.SkipDir
		case de.IsDir():
			return nil
		}
		rows, ok := listed[path]
		if !ok {
			t.Errorf("%s is not in the manifest", path)
		}
		delete(listed, path)
		if n := eachLine(t, path, func(line string) { fn(path, line) }); n != rows {
			t.Errorf("%s has %d rows, %d by the manifest", path, n, rows)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range listed {
		t.Errorf("%s is in the manifest but not there", path)
	}
}

func eachLine(t *testing.T, path string, fn func(line string)) (n int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fn(lines.Text())
		n++
	}
	if lines.Err() != nil {
		t.Fatalf("%s: %v", path, lines.Err())
	}
	return n
}
