package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"
)

// event is what a test looks at in an event of a query.
type event struct {
	Channel       string `json:"-"`
	Name          string
	RunID         string
	BatchID       uint64
	NumInputRows  int64
	BatchDuration int64
	DurationMs    map[string]int64
	Sources       []struct {
		Description            string
		NumInputRows           int64
		StartOffset, EndOffset map[string]string
	}
	Sink      struct{ NumOutputRows int64 }
	Latencies struct {
		ProcessingLatencyMs *struct{ P0, P50, P99 float64 }
	}
	Exception *string
	SQLState  string
}

// next waits for an event of a query.
func (d *db) next(name string) event {
	d.t.Helper()
	ctx := testContext(d.t)
	for {
		n, err := d.WaitForNotification(ctx)
		if err != nil {
			d.t.Fatal(err)
		}
		e := event{Channel: n.Channel}
		if err := json.Unmarshal([]byte(n.Payload), &e); err != nil {
			d.t.Fatalf("%s: %v", n.Payload, err)
		}
		if e.Name == name {
			return e
		}
	}
}

// TestProgress compares what is told of a query's epochs with what went through it.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	c, ears := s.connect(), s.connect()
	for _, e := range []string{"query_started", "query_progress", "query_idle", "query_terminated"} {
		ears.exec("LISTEN " + e)
	}
	deaf := s.connect() // listens and never reads
	deaf.exec("LISTEN query_progress")
	c.exec("CREATE TABLE told (k int, v int)")
	c.exec("CREATE MATERIALIZED VIEW telling AS SELECT k, 100 / v AS q FROM told WHERE v < 1000")
	e := ears.next("telling")
	if e.Channel != "query_started" || e.RunID == "" {
		t.Fatalf("first came %+v", e)
	}
	run := e.RunID

	// The rows of each INSERT, and those of them that are left by the filter.
	in, out := int64(0), int64(0)
	for i := range 20 {
		c.exec("INSERT INTO told SELECT $1 % 3, n FROM generate_series(1, $1) AS n WHERE $1 > 0", 100*i)
		in, out = in+int64(100*i), out+int64(min(100*i, 999))
	}
	var epochs uint64
	end := ""
	for read, written := int64(0), int64(0); read < in || written < out; {
		e := ears.next("telling")
		if e.Channel != "query_progress" || e.RunID != run || len(e.Sources) != 1 || e.Sources[0].Description != "told" ||
			e.Sources[0].NumInputRows != e.NumInputRows || e.BatchID <= epochs {
			t.Fatalf("after epoch %d came %+v", epochs, e)
		}
		if parts := e.DurationMs["addBatch"] + e.DurationMs["walCommit"] + e.DurationMs["commitOffsets"]; parts > e.BatchDuration+3 {
			t.Errorf("an epoch of %d ms has parts of %d ms", e.BatchDuration, parts)
		}
		if from := e.Sources[0].StartOffset["feed"]; end != "" && from != end {
			t.Errorf("epoch %d begins at %q; the one before ended at %q", e.BatchID, from, end)
		}
		if p := e.Latencies.ProcessingLatencyMs; e.Sink.NumOutputRows > 0 && (p == nil || p.P0 > p.P50 || p.P50 > p.P99 ||
			p.P99 > float64(testTime.Milliseconds())) {
			t.Errorf("latencies of an epoch: %+v", e.Latencies)
		}
		epochs, end = e.BatchID, e.Sources[0].EndOffset["feed"]
		read, written = read+e.NumInputRows, written+e.Sink.NumOutputRows
		if read > in || written > out {
			t.Fatalf("%d rows read and %d written; there are %d and %d", read, written, in, out)
		}
	}
	var rows, written int64
	if err := c.QueryRow(testContext(t), `SELECT sum(rows_in)::bigint, sum((progress->'sink'->>'numOutputRows')::bigint)::bigint
		FROM streamsql.progress WHERE query = 'telling'`).Scan(&rows, &written); err != nil || rows != in || written != out {
		t.Errorf("streamsql.progress has %d rows read and %d written, %v; there are %d and %d", rows, written, err, in, out)
	}
	if got := c.rows("SHOW PROGRESS FOR telling"); len(got) < 2 {
		t.Errorf("SHOW PROGRESS has %q", got)
	}

	// An epoch without rows or two may follow.
	after := func() event {
		for {
			if e := ears.next("telling"); e.Channel != "query_progress" {
				return e
			} else if e.NumInputRows != 0 || e.Sink.NumOutputRows != 0 {
				t.Errorf("after all rows came %+v", e)
			}
		}
	}
	if e := after(); e.Channel != "query_idle" || e.RunID != run {
		t.Errorf("then came %+v", e)
	}
	c.exec("RESTART telling")
	if e := after(); e.Channel != "query_terminated" || e.RunID != run || e.Exception != nil {
		t.Errorf("at the end came %+v", e)
	}
	if e := ears.next("telling"); e.Channel != "query_started" || e.RunID == run || e.RunID == "" {
		t.Errorf("at the next start came %+v", e)
	}

	// A query that fails tells why.
	c.exec(`CREATE SINK fails WITH (connector = 'blackhole') AS SELECT k, 1 / min(v) AS q FROM told GROUP BY k`)
	c.exec("INSERT INTO told VALUES (1, 0)")
	for {
		e := ears.next("fails")
		if e.Channel != "query_terminated" {
			continue
		}
		if e.Exception == nil || e.SQLState != "22012" {
			t.Errorf("the failed query's end is %+v", e)
		}
		break
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := deaf.WaitForNotification(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who has not read for long: %v", err)
	}
}

// TestIdleRealTime: a query in real time that has nothing to do makes no epochs, and goes on
// when there is something.
func TestIdleRealTime(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(`CREATE TABLE ticks (n int); CREATE MATERIALIZED VIEW ticked
		WITH (trigger = 'real_time', checkpoint_interval = '100 ms') AS SELECT count(*) AS n FROM ticks`)
	for want := int64(1); want <= 3; want++ {
		c.exec("INSERT INTO ticks VALUES (1)")
		c.until("SELECT n FROM ticked", fmt.Sprint(want))
		for begin, last := time.Now(), ""; ; time.Sleep(time.Second) {
			now := c.value("SELECT epoch FROM streamsql.queries WHERE name = 'ticked'")
			if now == last {
				break
			}
			if last = now; time.Since(begin) > testTime {
				t.Fatalf("without rows there are epochs without end: %s", now)
			}
		}
	}
}
