package state

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Refill writes to the delta, as the relation's next version, what makes its rows those
// of a changelog that begins with nothing. Rows that are there already stay, and whoever
// follows is told of the difference alone. done is as Apply's.
func (r *Relation) Refill(d *Delta, b *arrowbatch.Batch) (done func(), err error) {
	r.writing.Lock()
	changes, err := r.refill(d, b)
	if err == nil {
		err = r.applyTo(d, changes, true)
		changes.Release()
	}
	if err != nil {
		r.writing.Unlock()
		return nil, err
	}
	return r.writing.Unlock, nil
}

// wanted are the rows that a relation is to have: the copies of each, in order of
// arrival, and of a Keyed relation the row of each key.
type wanted struct {
	at   map[string]int // key, or row → its place in rows
	rows []wantedRow
}

type wantedRow struct {
	row []byte
	n   int64
	b   *arrowbatch.Batch
	i   int
}

// want adds up a changelog.
func (r *Relation) want(b *arrowbatch.Batch) *wanted {
	w := &wanted{at: map[string]int{}}
	var key []byte
	for i := range b.Len {
		row := arrowbatch.AppendRow(nil, b.Cols, i)
		key = append(key[:0], row...)
		if r.Mode == Keyed {
			key = r.rowKey(key[:0], b, i)
		}
		k, ok := w.at[string(key)]
		if !ok {
			k = len(w.rows)
			w.at[string(key)] = k
			w.rows = append(w.rows, wantedRow{})
		}
		x := &w.rows[k]
		switch {
		case b.OpAt(i) == arrowbatch.Delete:
			x.n--
		case r.Mode == Keyed:
			*x = wantedRow{row, 1, b, i}
		default:
			*x = wantedRow{row, x.n + 1, b, i}
		}
	}
	return w
}

// refill returns the changes that bring the stored rows to those of b. The rows of a
// Numbered relation that go, go here: what comes after knows no numbers.
func (r *Relation) refill(d *Delta, b *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	w := r.want(b)
	out := arrowbatch.NewLike(r.Shapes)
	p := prefix32(spaceRows, r.ID)
	err := r.store.Scan(p, After(p), func(k, v []byte) error {
		row, key, n := v, v, int64(1)
		switch r.Mode {
		case Keyed:
			key = k
		case Bag:
			row, key = k[len(p):], k[len(p):]
			if n = copiesOf(v); n == 0 {
				return nil
			}
		}
		if i, ok := w.at[string(key)]; ok && w.rows[i].n > 0 && bytes.Equal(w.rows[i].row, row) {
			stay := min(n, w.rows[i].n)
			w.rows[i].n -= stay
			n -= stay
		}
		if r.Mode == Numbered && n > 0 {
			d.Delete(k)
		}
		for ; n > 0; n-- {
			if _, err := arrowbatch.DecodeRow(row, out.Cols); err != nil {
				return sqlerr.New(sqlerr.DataCorrupted, "a row of relation %d is unreadable", r.ID)
			}
			out.AppendOp(arrowbatch.Delete)
		}
		return nil
	})
	if err != nil {
		out.Release()
		return nil, err
	}
	for _, x := range w.rows {
		for ; x.n > 0; x.n-- {
			for c, v := range out.Cols {
				v.AppendFrom(x.b.Cols[c], x.i)
			}
			out.AppendOp(arrowbatch.Insert)
		}
	}
	return out, nil
}
