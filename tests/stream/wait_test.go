package stream

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/clock"
)

// TestExplainWait: what holds the watermark, since when, which window closes next and
// what would bring it to that.
func TestExplainWait(t *testing.T) {
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(0, 0))}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(e.start())
	defer func() { do(e.close()) }()
	run := func(text string) {
		t.Helper()
		do(e.exec(text))
	}
	e.w.addSource("a", []string{"p0", "p1"})
	e.w.addSource("b", []string{"all"})
	run(`CREATE SOURCE a (ts timestamptz, WATERMARK FOR ts AS ts - INTERVAL '5 seconds')
		WITH (connector = 'memory', name = 'a', idle_timeout = '60 s')`)
	run("CREATE SOURCE b (ts timestamptz, WATERMARK FOR ts AS ts) WITH (connector = 'memory', name = 'b')")
	run("CREATE SOURCE p (ts timestamptz AS (proctime()), k text, WATERMARK FOR ts AS ts) WITH (connector = 'memory', name = 'p')")
	e.w.addSource("p", []string{"all"})
	const with = " WITH (connector = 'memory', name = '%', output_mode = 'append', trigger = 'processing_time 1000 days') AS "
	create := func(name, query string) {
		t.Helper()
		run("CREATE SINK " + name + strings.Replace(with, "%", name, 1) + query)
	}
	rows := func(at int, in ...change) {
		t.Helper()
		e.clock.Set(time.Unix(int64(at), 0))
		e.w.append(in)
		run("FLUSH")
	}
	check := func(name string, want ...string) {
		t.Helper()
		got, err := e.query("EXPLAIN WAIT " + name)
		do(err)
		for i := range got {
			got[i] = strings.ReplaceAll(strings.Trim(got[i], `"`), "1970-01-01 ", "")
		}
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s: got\n%s\nwant\n%s", name, g, w)
		}
	}
	create("one", "SELECT window_start, count(*) AS n FROM TUMBLE(a, ts, INTERVAL '10 seconds') GROUP BY window_start")
	do(e.began())
	rows(30, change{rel: "a", split: "p0", values: []string{"31"}})
	check("one",
		"state: running, trigger processing_time 24000h0m0s, epoch 2",
		"read: source a, split p0, up to offset 1",
		"read: source a, split p1, up to offset 0",
		"watermark: none yet",
		"  input a (ts - 5 s, operator 4): none yet",
		"    split p0: 00:00:26+00, last row 0s ago",
		"    split p1: none yet, no row since the query started, 30s ago, holds the input's",
		"next: HashAgg (operator 3) closes a window at watermark 00:00:40+00",
		"unblocks: a row with ts at 00:00:45+00 or later from input a, from each of splits p0, p1")
	rows(40, change{rel: "a", split: "p0", values: []string{"50"}})
	rows(45, change{rel: "a", split: "p1", values: []string{"32"}})
	check("one",
		"state: running, trigger processing_time 24000h0m0s, epoch 4",
		"read: source a, split p0, up to offset 2",
		"read: source a, split p1, up to offset 1",
		"watermark: 00:00:27+00",
		"  input a (ts - 5 s, operator 4): 00:00:27+00",
		"    split p0: 00:00:45+00, last row 5s ago",
		"    split p1: 00:00:27+00, last row 0s ago, holds the input's",
		"next: HashAgg (operator 3) closes a window at watermark 00:00:40+00, which is 13s away",
		"unblocks: a row with ts at 00:00:45+00 or later from input a, split p1",
		"unblocks: or 1 min without such rows (idle_timeout)")
	rows(110, change{rel: "a", split: "p0", values: []string{"51"}})
	check("one",
		"state: running, trigger processing_time 24000h0m0s, epoch 5",
		"read: source a, split p0, up to offset 3",
		"read: source a, split p1, up to offset 1",
		"watermark: 00:00:46+00",
		"  input a (ts - 5 s, operator 4): 00:00:46+00",
		"    split p0: 00:00:46+00, last row 0s ago, holds the input's",
		"    split p1: 00:00:27+00, last row 1m5s ago, idle: holds nothing back",
		"next: HashAgg (operator 3) closes a window at watermark 00:01:00+00, which is 14s away",
		"unblocks: a row with ts at 00:01:05+00 or later from input a, split p0")
	run("DROP SINK one")

	create("two", "SELECT window_start, count(*) AS n FROM TUMBLE((SELECT ts FROM a UNION ALL SELECT ts FROM b), ts, "+
		"INTERVAL '10 seconds') GROUP BY window_start")
	do(e.began())
	rows(130, change{rel: "b", split: "all", values: []string{"41"}}, change{rel: "a", split: "p1", values: []string{"90"}})
	check("two",
		"state: running, trigger processing_time 24000h0m0s, epoch 2",
		"read: source a, split p0, up to offset 3",
		"read: source a, split p1, up to offset 2",
		"read: source b, split all, up to offset 1",
		"watermark: 00:00:41+00, the least of its inputs'",
		"  input a (ts - 5 s, operator 5): 00:00:46+00",
		"    split p0: 00:00:46+00, last row 20s ago, holds the input's",
		"    split p1: 00:01:25+00, last row 0s ago",
		"  input b (ts, operator 7): 00:00:41+00, holds the query's",
		"    split all: 00:00:41+00, last row 0s ago, holds the input's",
		"next: HashAgg (operator 3) closes a window at watermark 00:00:50+00, which is 9s away",
		"unblocks: a row with ts at 00:00:55+00 or later from input a, split p0",
		"unblocks: or 1 min without such rows (idle_timeout)",
		"unblocks: a row with ts at 00:00:50+00 or later from input b, split all")
	run("PAUSE two")
	got, err := e.query("EXPLAIN WAIT two")
	do(err)
	if last := got[len(got)-1]; last != "unblocks: RESUME" {
		t.Errorf("paused: %s", last)
	}
	run("DROP SINK two")

	create("clocked", "SELECT window_start, count(*) AS n FROM TUMBLE(p, ts, INTERVAL '10 seconds') GROUP BY window_start")
	do(e.began())
	rows(135, change{rel: "p", split: "all", values: []string{"x"}})
	check("clocked",
		"state: running, trigger processing_time 24000h0m0s, epoch 2",
		"read: source p, split all, up to offset 1",
		"watermark: 00:02:14.999999+00",
		"  input p (ts, operator 4): 00:02:14.999999+00",
		"    follows the clock, whatever its splits bring",
		"next: HashAgg (operator 3) closes a window at watermark 00:02:20+00, which is 5.000001s away",
		"unblocks: the clock, just past 00:02:20+00")
}
