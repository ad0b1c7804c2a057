package crash

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/state"
)

// The objects that are there before the first crash.
var setup = []string{
	"CREATE SOURCE numbers (id bigint, k integer) WITH (connector = 'numbers')",
	"CREATE TABLE debit (id bigint PRIMARY KEY, v bigint)",
	"CREATE TABLE credit (id bigint PRIMARY KEY, v bigint)",
	"CREATE MATERIALIZED VIEW sums AS SELECT k, count(*) AS n, sum(id) AS s FROM STREAM numbers AS r GROUP BY k",
	"CREATE MATERIALIZED VIEW whole AS SELECT sum(n) AS n, sum(s) AS s FROM sums",
	"CREATE MATERIALIZED VIEW balance AS SELECT count(*) AS n, sum(v) AS v FROM debit",
	"CREATE SINK out WITH (connector = 'ledger') AS SELECT id FROM STREAM numbers AS r",
}

// window is how many rows the client's transactions leave in each table.
const window = 20

// transaction is the client's nth.
func transaction(n int64) string {
	return fmt.Sprintf(`BEGIN;
		INSERT INTO debit VALUES (%[1]d, %[1]d);
		INSERT INTO credit VALUES (%[1]d, -%[1]d);
		DELETE FROM debit WHERE id <= %[2]d;
		DELETE FROM credit WHERE id <= %[2]d;
		COMMIT;`, n, n-window)
}

// afterTransactions is the table debit after n transactions: count and sum.
func afterTransactions(n int64) (count, sum int64) {
	for i := max(1, n-window+1); i <= n; i++ {
		count, sum = count+1, sum+i
	}
	return count, sum
}

// check holds what a machine finds after a crash against what must be there, and
// returns how many transactions are there.
func check(e *engine, w *world) (transactions int64, err error) {
	if len(w.faults) > 0 {
		return 0, fmt.Errorf("%s", strings.Join(w.faults, "; "))
	}
	for _, c := range []func(*engine, *world) error{checkObjects, checkStream, checkWhole, checkSink, checkLost} {
		if err := c(e, w); err != nil {
			return 0, err
		}
	}
	return checkTables(e, w)
}

// checkObjects reads every relation in the catalog.
func checkObjects(e *engine, _ *world) error {
	for _, o := range e.cat.Snapshot().Objects(catalog.KindTable, catalog.KindMaterializedView) {
		if !strings.HasPrefix(o.Name.Name, "passing") {
			continue // read below
		}
		if _, err := e.query("SELECT count(*) FROM " + o.Name.Name); err != nil {
			return err
		}
	}
	return nil
}

// offsetOf is the offset in a checkpoint of a query that reads numbers, 0 for none.
func offsetOf(cp *state.Checkpoint) (int64, error) {
	if cp == nil {
		return 0, nil
	}
	for _, by := range cp.Offsets {
		if at, ok := by["0"]; ok {
			return strconv.ParseInt(at, 10, 64)
		}
	}
	return 0, nil
}

// firstRows are the groups of the first n rows of numbers.
func firstRows(n int64) []string {
	var out []string
	for k := int64(0); k < groups && k < n; k++ {
		m := (n-k-1)/groups + 1
		out = append(out, fmt.Sprintf("%d,%d,%d", k, m, m*k+groups*m*(m-1)/2))
	}
	return out
}

func checkStream(e *engine, _ *world) error {
	cp, err := e.checkpoint("sums")
	if err != nil {
		return err
	}
	n, err := offsetOf(cp)
	if err != nil {
		return err
	}
	got, err := e.query("SELECT k, n, s FROM sums ORDER BY k")
	if err != nil {
		return err
	}
	if want := firstRows(n); strings.Join(got, " ") != strings.Join(want, " ") {
		return fmt.Errorf("sums at offset %d: %v, not %v", n, got, want)
	}
	return nil
}

// checkWhole: the view on a view is that of some epoch of it, so of some first rows.
func checkWhole(e *engine, _ *world) error {
	got, err := e.query("SELECT n, s FROM whole")
	if err != nil {
		return err
	}
	if len(got) == 0 || got[0] == "," {
		return nil // before the first epoch, or before the first rows
	}
	var n, s int64
	if _, err := fmt.Sscanf(got[0], "%d,%d", &n, &s); err != nil {
		return fmt.Errorf("whole: %v", got)
	}
	if s != n*(n-1)/2 {
		return fmt.Errorf("whole has %d rows with the sum %d", n, s)
	}
	return nil
}

func checkSink(e *engine, w *world) error {
	cp, err := e.checkpoint("out")
	if err != nil {
		return err
	}
	at, err := offsetOf(cp)
	if err != nil {
		return err
	}
	var epoch uint64
	if cp != nil {
		epoch = cp.Epoch
	}
	var next int64
	take := func(n uint64, s span) error {
		if s == (span{}) {
			return nil
		}
		if s.from != next {
			return fmt.Errorf("epoch %d of the sink has the ids %v after %d", n, s, next)
		}
		next = s.to
		return nil
	}
	last := uint64(0)
	for _, c := range w.committed {
		if c.n != last+1 {
			return fmt.Errorf("epoch %d of the sink follows epoch %d", c.n, last)
		}
		last = c.n
		if err := take(c.n, c.span); err != nil {
			return err
		}
	}
	if last+1 == epoch {
		s, ok := w.prepared[epoch]
		if !ok {
			return fmt.Errorf("epoch %d is in the store and was not prepared", epoch)
		}
		last = epoch
		if err := take(epoch, s); err != nil {
			return err
		}
	}
	if last != epoch || next != at {
		return fmt.Errorf("the sink has %d epochs and %d ids, the checkpoint is of epoch %d at offset %d", last, next, epoch, at)
	}
	return nil
}

func checkTables(e *engine, w *world) (int64, error) {
	var tables [2][]string
	for i, q := range []string{"SELECT id, v FROM debit ORDER BY id", "SELECT id, -v FROM credit ORDER BY id"} {
		var err error
		if tables[i], err = e.query(q); err != nil {
			return 0, err
		}
	}
	if strings.Join(tables[0], " ") != strings.Join(tables[1], " ") {
		return 0, fmt.Errorf("a transaction is there in part: %v and %v", tables[0], tables[1])
	}
	var n int64
	if len(tables[0]) > 0 {
		if _, err := fmt.Sscanf(tables[0][len(tables[0])-1], "%d,", &n); err != nil {
			return 0, err
		}
	}
	var want []string
	for i := max(1, n-window+1); i <= n; i++ {
		want = append(want, fmt.Sprintf("%d,%d", i, i))
	}
	if strings.Join(tables[0], " ") != strings.Join(want, " ") {
		return 0, fmt.Errorf("after %d transactions: %v", n, tables[0])
	}
	if n < w.acked || n > w.begun {
		return 0, fmt.Errorf("%d transactions are there; %d were answered and %d begun", n, w.acked, w.begun)
	}
	got, err := e.query("SELECT n, v FROM balance")
	if err != nil || len(got) == 0 || got[0] == "0," {
		return n, err
	}
	var count, sum int64
	if _, err := fmt.Sscanf(got[0], "%d,%d", &count, &sum); err != nil {
		return 0, fmt.Errorf("balance: %v", got)
	}
	for i := range n + 1 {
		if c, s := afterTransactions(n - i); c == count && s == sum {
			return n, nil
		}
	}
	return 0, fmt.Errorf("balance %v is that of no transaction up to %d", got, n)
}
