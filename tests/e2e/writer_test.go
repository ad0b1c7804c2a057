package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// absent is the text of a row that is not there.
const absent = ""

// writer is a client that changes the table notes, one statement or transaction
// after the other, and remembers what it was told.
type writer struct {
	rng   *rand.Rand
	next  int64
	notes map[int64]string // what was acknowledged
	live  []int64          // ids that may be changed
	acked int
	// doubtful are the changes that were never acknowledged: all of one, or none.
	doubtful []map[int64]string
}

func newWriter(seed uint64) *writer {
	return &writer{rng: rand.New(rand.NewPCG(seed, 2)), notes: map[int64]string{}}
}

// write works until the server goes away.
func (w *writer) write(ctx context.Context, url string) {
	var c *pgx.Conn
	for c == nil && ctx.Err() == nil {
		var err error
		if c, err = pgx.Connect(ctx, url); err != nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
	if c == nil {
		return
	}
	defer func() { _ = c.Close(context.Background()) }()
	for ctx.Err() == nil {
		sql, change := w.change()
		if _, err := c.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			w.doubtful = append(w.doubtful, change)
			for id := range change {
				w.forget(id)
			}
			return
		}
		w.acked++
		for id, note := range change {
			switch _, known := w.notes[id]; {
			case note == absent:
				w.forget(id)
				delete(w.notes, id)
				continue
			case !known:
				w.live = append(w.live, id)
			}
			w.notes[id] = note
		}
	}
}

// forget leaves a row alone from now on.
func (w *writer) forget(id int64) {
	for i, x := range w.live {
		if x == id {
			w.live[i] = w.live[len(w.live)-1]
			w.live = w.live[:len(w.live)-1]
			return
		}
	}
}

// change makes the next statement, or several that stand or fall together, with the
// rows that it leaves.
func (w *writer) change() (string, map[int64]string) {
	change := map[int64]string{}
	insert := func(n int) string {
		values := make([]string, n)
		for i := range values {
			id, note := w.next, fmt.Sprintf("note %d", w.next)
			w.next++
			change[id] = note
			values[i] = fmt.Sprintf("(%d, %d, '%s')", id, id%7, note)
		}
		return "INSERT INTO notes VALUES " + strings.Join(values, ", ")
	}
	pick := func() (int64, bool) {
		if len(w.live) == 0 {
			return 0, false
		}
		id := w.live[w.rng.IntN(len(w.live))]
		_, taken := change[id]
		return id, !taken
	}
	kind := w.rng.IntN(5)
	var sql []string
	if kind < 2 || kind == 4 || len(w.live) == 0 {
		sql = append(sql, insert(1+w.rng.IntN(3)))
	}
	if id, ok := pick(); ok && (kind == 2 || kind == 4) {
		change[id] = fmt.Sprintf("changed by %d", w.acked)
		sql = append(sql, fmt.Sprintf("UPDATE notes SET note = '%s' WHERE id = %d", change[id], id))
	}
	if id, ok := pick(); ok && (kind == 3 || kind == 4) {
		change[id] = absent
		sql = append(sql, fmt.Sprintf("DELETE FROM notes WHERE id = %d", id))
	}
	if len(sql) == 0 {
		sql = append(sql, insert(1))
	}
	return strings.Join(sql, "; "), change
}

// check compares the table with what was acknowledged, and the view over it.
func (w *writer) check(t *testing.T, c *db) {
	t.Helper()
	there := map[int64]string{}
	for _, r := range c.rows("SELECT id, note FROM notes") {
		var id int64
		text, note, _ := strings.Cut(r, "|")
		if _, err := fmt.Sscan(text, &id); err != nil {
			t.Fatal(err)
		}
		if _, twice := there[id]; twice {
			t.Errorf("row %d is there twice", id)
		}
		there[id] = note
	}
	for _, change := range w.doubtful {
		done := 0
		for id, note := range change {
			if there[id] == note {
				done++
			} else if there[id] != w.notes[id] {
				t.Errorf("row %d is %q, not %q and not %q", id, there[id], w.notes[id], note)
			}
		}
		if done != 0 && done != len(change) {
			t.Errorf("%d of the %d rows of one transaction are there: %v", done, len(change), change)
		}
		for id := range change {
			delete(w.notes, id)
			delete(there, id)
		}
	}
	for id, note := range w.notes {
		if there[id] != note {
			t.Errorf("row %d was acknowledged as %q and is %q", id, note, there[id])
		}
		delete(there, id)
	}
	for id, note := range there {
		t.Errorf("row %d, %q, should not be there", id, note)
	}
	if w.acked == 0 {
		t.Error("no statement was acknowledged")
	}
	same(t, "noted", c.rows("SELECT * FROM noted"),
		c.rows("SELECT g, count(*), min(id), max(note) FROM notes GROUP BY g"))
}
