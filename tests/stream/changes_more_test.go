package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/clock"
)

// upsertEngine is an engine with a source of (id bigint, v text) that upserts change.
func upsertEngine(t *testing.T) (*engine, func(error)) {
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(100, 0))}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(e.start())
	t.Cleanup(func() { must(e.close()) })
	e.w.addSource("log", []string{"A"})
	must(e.exec(`CREATE SOURCE s (id bigint PRIMARY KEY, v text) WITH (connector = 'memory', name = 'log') FORMAT UPSERT ENCODE JSON`))
	return e, must
}

// upserts appends records of id and v; v "" deletes.
func (e *engine) upserts(ids []int, v string) {
	value := ""
	if v != "" {
		value = fmt.Sprintf(`{"v":%q}`, v)
	}
	rows := make([]change, len(ids))
	for i, id := range ids {
		rows[i] = change{rel: "log", split: "A", values: []string{fmt.Sprint(id), value}}
	}
	e.w.append(rows)
}

// TestChangesForget: with state_ttl the row of a key leaves that no record touches, also
// after a start; a record that brings the same row touches it.
func TestChangesForget(t *testing.T) {
	e, must := upsertEngine(t)
	must(e.exec("CREATE MATERIALIZED VIEW m WITH (state_ttl = '10 s', trigger = 'processing_time 1000 days') AS " +
		"SELECT id, v FROM s"))
	for _, step := range []struct {
		at   int64
		ids  []int
		v    string
		want []string
	}{{100, []int{1, 2, 3}, "a", []string{"1,a", "2,a", "3,a"}}, {105, []int{2}, "a", []string{"1,a", "2,a", "3,a"}},
		{106, []int{3}, "", []string{"1,a", "2,a"}}, {111, nil, "", []string{"2,a"}},
		{112, []int{3}, "", []string{"2,a"}}, {113, []int{1}, "b", []string{"1,b", "2,a"}}, {116, nil, "", []string{"1,b"}},
		{124, []int{1}, "", nil}} {
		e.clock.Set(time.Unix(step.at, 0))
		e.upserts(step.ids, step.v)
		must(e.exec("FLUSH"))
		got, err := e.query("SELECT * FROM m ORDER BY id")
		if must(err); !slices.Equal(trimmed(got), step.want) {
			t.Errorf("at %d: %q, wanted %q", step.at, got, step.want)
		}
		must(e.close())
		must(e.start())
	}
}

// TestChangesChurn: keys that lose their rows by the thousand are forgotten, and those that
// stay or come back are right, also after a start.
func TestChangesChurn(t *testing.T) {
	e, must := upsertEngine(t)
	must(e.exec("CREATE MATERIALIZED VIEW m WITH (trigger = 'processing_time 1000 days', parallelism = 2) AS " +
		"SELECT count(*) AS n, sum(id) AS s, count(DISTINCT v) AS d FROM s"))
	check := func(want, keys string) {
		t.Helper()
		must(e.exec("FLUSH"))
		for _, q := range []string{"SELECT * FROM m", "SELECT count(*), sum(id), count(DISTINCT v) FROM s"} {
			if got, err := e.query(q); err != nil || got[0] != want {
				t.Errorf("%s: got %v, wanted %s (%v)", q, got, want, err)
			}
		}
		got, err := e.query("SELECT max(rows) FROM streamsql.state WHERE query = 'm'")
		if err != nil || got[0] != keys {
			t.Errorf("a state of %v rows, wanted %s (%v)", got, keys, err)
		}
	}
	ids := func(lo, hi, step int) (out []int) {
		for i := lo; i < hi; i += step {
			out = append(out, i)
		}
		return out
	}
	long := strings.Repeat("x", 60)
	e.upserts(ids(0, 20000, 1), long)
	check("20000,199990000,1", "20000")
	e.upserts(ids(0, 19000, 1), "")
	check("1000,19499500,1", "1000")
	e.upserts(ids(18990, 19010, 1), "back")
	check("1010,19689445,2", "1010")
	must(e.close())
	must(e.start())
	e.upserts(ids(19000, 20000, 2), "")
	check("510,9939945,2", "510")
}

// TestChangesRefused: what changing records cannot have is refused where it is declared.
func TestChangesRefused(t *testing.T) {
	e, must := upsertEngine(t)
	const at = " WITH (connector = 'memory', name = 'log') FORMAT UPSERT ENCODE JSON"
	for text, want := range map[string]string{
		"CREATE TABLE x (id bigint, v text)" + at:                                                 "42P16 table \"x\" with FORMAT UPSERT needs a primary key",
		"CREATE SOURCE x (id bigint, v text)" + at:                                                "42P16 source \"x\" with FORMAT UPSERT needs a primary key",
		"CREATE TABLE x (id bigint PRIMARY KEY, v text) APPEND ONLY" + at:                         "42P16 table \"x\" cannot be APPEND ONLY",
		"CREATE SOURCE x (id bigint, k bigint AS (id + 1) PRIMARY KEY)" + at:                      "42P16 column \"k\" is generated",
		"CREATE SOURCE x (id bigint PRIMARY KEY, ts timestamp, WATERMARK FOR ts AS ts)" + at:      "0A000 a watermark needs rows that are only added",
		"CREATE MATERIALIZED VIEW x AS SELECT * FROM STREAM s":                                    "42809 source \"s\" is not append-only",
		"CREATE MATERIALIZED VIEW x WITH (output_mode = 'append') AS SELECT * FROM s":             "0A000 output mode append needs rows that never change",
		"CREATE MATERIALIZED VIEW x AS SELECT * FROM s WATERMARK ts DELAY OF INTERVAL '1 s' AS q": "42703 column \"ts\" does not exist",
	} {
		err := e.exec(text)
		se, ok := codeOf(err)
		if !ok || !strings.HasPrefix(string(se.Code)+" "+se.Message, want) {
			t.Errorf("%s: got %v, wanted %s", text, err, want)
		}
	}
	must(e.exec("SELECT * FROM s"))
}
