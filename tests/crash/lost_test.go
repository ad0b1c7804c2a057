package crash

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/state"
)

// lostSetup is a stream of which a part is late and a part cannot be read. Two
// queries read it: one sends what it leaves out to tables, one keeps the last rows.
var lostSetup = []string{
	"CREATE TABLE lost (query text, id bigint)",
	"CREATE TABLE torn (query text, \"offset\" text)",
	`CREATE SOURCE timed (id bigint, ts timestamptz) WITH (connector = 'timed', bad_rows = 'table torn')
		FORMAT PLAIN ENCODE JSON (on_error = 'skip')`,
	"CREATE MATERIALIZED VIEW windows WITH (late_rows = 'table lost') AS " + windowsOf,
	"CREATE MATERIALIZED VIEW last_ones WITH (late_rows = 'keep 20') AS " + windowsOf,
}

const windowsOf = `SELECT (window(ts, '10 seconds')).start AS w, count(*) AS n, sum(id) AS s
	FROM STREAM timed WATERMARK ts DELAY OF INTERVAL '3 seconds' AS r GROUP BY window(ts, '10 seconds')`

// timed is a source without end: row n has the time n, every fifth one that is long
// past. Every eleventh record cannot be read.
type timed struct {
	numbers
	bad connector.BadRows
}

func unreadable(n int64) bool { return n%11 == 3 }

func (s *timed) Open(ctx context.Context, sp connector.Split, from connector.Offset) (connector.Reader, error) {
	r, err := s.numbers.Open(ctx, sp, from)
	if err != nil {
		return nil, err
	}
	return &timedReader{at: r.(*numbersReader).at, bad: s.bad}, nil
}

type timedReader struct {
	at  int64
	bad connector.BadRows
}

// Read gives up to nine rows.
func (r *timedReader) Read(context.Context, connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	id, ts := arrowbatch.NewFlat(arrowbatch.Int64, 0), arrowbatch.NewFlat(arrowbatch.Int64, 0)
	for range r.at%9 + 1 {
		n := r.at
		r.at++
		if unreadable(n) {
			r.bad.Add(connector.BadRow{Split: "0", Offset: connector.Offset(strconv.FormatInt(n, 10)), Reason: "torn",
				Bytes: []byte{1}, Micros: n})
			continue
		}
		at := n * 1_000_000
		if n%5 == 0 {
			at -= 100_000_000
		}
		id.AppendInt64(n)
		ts.AppendInt64(at)
	}
	return arrowbatch.NewBatch(id.N, id, ts), connector.Offset(strconv.FormatInt(r.at, 10)), nil
}

func (r *timedReader) Close() error { return nil }

// lostCounts is what a checkpoint says was read, could not be read, and was late.
func lostCounts(cp *state.Checkpoint) (at, bad, late int64, err error) {
	if at, err = offsetOf(cp); err != nil || at == 0 {
		return 0, 0, 0, err
	}
	var rows, wantBad int64
	for _, r := range cp.Reads {
		rows, bad = rows+r.Rows, bad+r.Bad
	}
	for _, c := range cp.Counts {
		late += c[2]
	}
	for n := range at {
		if unreadable(n) {
			wantBad++
		}
	}
	if rows+bad != at || bad != wantBad {
		err = fmt.Errorf("at offset %d: %d rows and %d bad records were counted", at, rows, bad)
	}
	return at, bad, late, err
}

// checkLost: every record is in its window, or late, or bad, once, and counted once.
func checkLost(e *engine, _ *world) error {
	cp, err := e.checkpoint("windows")
	if err != nil {
		return err
	}
	at, _, late, err := lostCounts(cp)
	if err != nil {
		return err
	}
	var torn []string
	sum := int64(0)
	for n := range at {
		if unreadable(n) {
			torn = append(torn, strconv.FormatInt(n, 10))
			continue
		}
		sum += n
	}
	got, err := e.query("SELECT \"offset\" FROM torn WHERE query = 'windows' ORDER BY \"offset\"::bigint")
	if err != nil {
		return err
	}
	if strings.Join(got, " ") != strings.Join(torn, " ") {
		return fmt.Errorf("bad records at offset %d: %v, not %v", at, got, torn)
	}
	whole, err := e.query(`SELECT (SELECT coalesce(sum(n), 0) FROM windows) + (SELECT count(DISTINCT id) FROM lost),
		(SELECT coalesce(sum(s), 0) FROM windows) + (SELECT coalesce(sum(id), 0) FROM lost),
		(SELECT count(*) FROM lost)`)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%d,%d,%d", at-int64(len(torn)), sum, late); whole[0] != want {
		return fmt.Errorf("windows and lost at offset %d: %s, not %s", at, whole[0], want)
	}
	return checkLastOnes(e)
}

// checkLastOnes: the records that a query keeps are as many as were counted, up to
// its limit.
func checkLastOnes(e *engine) error {
	cp, err := e.checkpoint("last_ones")
	if err != nil || cp == nil {
		return err
	}
	_, _, late, err := lostCounts(cp)
	if err != nil {
		return err
	}
	var seqs []uint64
	err = e.store.Records(cp.Query, state.LateRecord, func(seq uint64, _ []byte) error {
		seqs = append(seqs, seq)
		return nil
	})
	if err != nil {
		return err
	}
	if len(seqs) != int(min(late, 20)) || late > 0 && seqs[len(seqs)-1] != uint64(late)-1 {
		return fmt.Errorf("of %d late rows those with the numbers %v are kept", late, seqs)
	}
	return nil
}
