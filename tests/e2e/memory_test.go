package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connector"
)

// TestStateLargerThanMemory counts twice as many rows as there are keys of a kilobyte,
// each key twice and far apart, in a server whose memory is a fraction of the keys'.
// STREAMSQL_STATE is the size of the keys, such as "10 GB", STREAMSQL_MEMORY the limit
// in MiB that the process gets.
func TestStateLargerThanMemory(t *testing.T) {
	const keyBytes = 1024
	size, limit := int64(96<<20), int64(256)
	if s := os.Getenv("STREAMSQL_STATE"); s != "" {
		n, ok := connector.ParseSize(s)
		if !ok {
			t.Fatalf("STREAMSQL_STATE is %q", s)
		}
		size, limit = n, 512
	}
	if s := os.Getenv("STREAMSQL_MEMORY"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		limit = n
	}
	needMemoryFigures(t)
	keys := size / keyBytes
	t.Setenv("GOMEMLIMIT", fmt.Sprintf("%dMiB", limit*8/10))
	dir := t.TempDir()
	s := serve(t, dir, "--state-memory", fmt.Sprintf("%d MiB", limit/8))
	c := s.connect()
	c.exec(fmt.Sprintf(`CREATE SOURCE numbers (n bigint) WITH (connector = 'datagen', number_of_rows = '%d',
		"fields.n.kind" = 'sequence', "fields.n.start" = '1', "fields.n.end" = '%d')`, 2*keys, keys))
	c.exec(`CREATE MATERIALIZED VIEW counts AS
		SELECT count(*) AS keys, sum(c) AS rows, min(c) AS least, max(c) AS most FROM (
			SELECT repeat(md5(n::text) || md5((-n)::text) || md5('x' || n) || md5('y' || n), 8) AS k, count(*) AS c
			FROM numbers GROUP BY 1) AS g`)
	began := time.Now()
	answer := func() (n, rows, least, most int64) {
		if err := c.QueryRow(testContext(t), `SELECT coalesce(max(keys), 0), coalesce(max(rows), 0)::bigint,
			coalesce(max(least), 0), coalesce(max(most), 0) FROM counts`).Scan(&n, &rows, &least, &most); err != nil {
			t.Fatal(err)
		}
		return n, rows, least, most
	}
	restarted := false
	for last := began; ; time.Sleep(100 * time.Millisecond) {
		n, rows, least, most := answer()
		if peak := peakMemory(t, s); peak > limit*110/100 {
			t.Fatalf("the server has had %d MiB in memory, its limit is %d", peak, limit)
		}
		if rows == 2*keys {
			if n != keys || least != 2 || most != 2 {
				t.Errorf("%d keys with %d to %d rows; there are %d keys with 2 rows each", n, least, most, keys)
			}
			break
		}
		if time.Since(last) > 10*time.Second {
			t.Logf("after %.0f s: %d keys, %d rows, %d MiB", time.Since(began).Seconds(), n, rows, peakMemory(t, s))
			last = time.Now()
		}
		if !restarted && rows > keys/2 {
			restarted = true
			s.kill()
			again := time.Now()
			s = serve(t, dir, "--state-memory", fmt.Sprintf("%d MiB", limit/8))
			c = s.connect()
			for _, before, _, _ := answer(); ; time.Sleep(20 * time.Millisecond) {
				if _, now, _, _ := answer(); now > before || now == 2*keys {
					break
				}
				if time.Since(again) > testTime {
					t.Fatalf("%v after a kill no row is counted", time.Since(again))
				}
			}
			t.Logf("after a kill rows are counted again in %.1f s", time.Since(again).Seconds())
		}
	}
	if !restarted {
		t.Error("all rows were counted before the server could be killed")
	}
	t.Logf("%d keys of %d bytes, %d rows in %.0f s; at most %d MiB in memory of %d", keys, keyBytes, 2*keys,
		time.Since(began).Seconds(), peakMemory(t, s), limit)
}

// needMemoryFigures skips a test of a memory limit where its figures would mean nothing.
func needMemoryFigures(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector takes several times the memory, so the limit would say nothing of the engine")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("only Linux tells in /proc how much memory a process has had at most:", err)
	}
}

// peakMemory is the most memory in MiB that the server's process has had resident.
func peakMemory(t *testing.T, s *server) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb >> 10
		}
	}
	t.Fatal("no peak of memory in the process's status")
	return 0
}
