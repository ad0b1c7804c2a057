package session

import (
	"context"
	"errors"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// writer changes the rows of one table within the session's transaction and
// holds its constraints: NOT NULL and the primary key.
type writer struct {
	s      *Session
	o      *catalog.Object
	rel    *state.Relation
	ctx    *expr.Ctx
	hidden int             // the row id's column, or -1
	keep   bool            // the rows that are left are wanted, for RETURNING
	count  int64           // rows changed
	seen   map[string]bool // keys that ON CONFLICT has changed
}

func (s *Session) newWriter(o *catalog.Object) (*writer, error) {
	rel, err := s.srv.Executor.Relation(o)
	if err != nil {
		return nil, err
	}
	w := &writer{s: s, o: o, rel: rel, hidden: -1}
	for _, k := range o.Key {
		if o.Columns[k].Hidden {
			w.hidden = k
		}
	}
	return w, nil
}

// complete adds the hidden columns to a batch of the visible ones, which it
// takes over.
func (w *writer) complete(b *arrowbatch.Batch) *arrowbatch.Batch {
	out := &arrowbatch.Batch{Len: b.Len}
	k := 0
	for _, c := range w.o.Columns {
		if !c.Hidden {
			out.Cols = append(out.Cols, b.Cols[k])
			k++
			continue
		}
		v := arrowbatch.NewVec(c.Type.Shape(), b.Len)
		for i := range b.Len {
			v.SetNull(i)
		}
		out.Cols = append(out.Cols, v)
	}
	return out
}

// number fills in the row ids of new rows; the vector is made anew, since the
// given one may be shared.
func (w *writer) number(b *arrowbatch.Batch) {
	if w.hidden < 0 {
		return
	}
	v := arrowbatch.NewFlat(arrowbatch.Int64, b.Len)
	first := w.s.rowIDs(b.Len)
	for i := range v.I64 {
		v.I64[i] = first + int64(i)
	}
	b.Cols[w.hidden].Release()
	b.Cols[w.hidden] = v
}

// rowIDs returns the first of n consecutive row ids.
func (s *Session) rowIDs(n int) int64 { return s.srv.Store.RowIDs(n, clock.Micros(s.srv.Clock)) }

// insert adds rows of the whole table's shape and releases them.
func (w *writer) insert(b *arrowbatch.Batch) error {
	defer b.Release()
	_, _, err := w.insertOr(b, nil)
	return err
}

// insertOr adds rows; with a conflict clause, those whose key is taken go its
// way. If they are to be kept, it returns the rows that are left in the table and
// which of b's they came of.
func (w *writer) insertOr(b *arrowbatch.Batch, c *Conflict) (done *arrowbatch.Batch, from []int32, err error) {
	if err := w.notNull(b, 0, b.Len); err != nil {
		return nil, nil, err
	}
	w.number(b)
	t := w.s.begin()
	if w.keep {
		done = arrowbatch.NewLike(shapesOf(w.o))
	}
	for i := range b.Len {
		left, j := b, i
		err := t.do(write{rel: w.rel, op: OpInsert, new: b, i: i})
		switch {
		case err == nil:
			if c != nil && !c.Nothing {
				w.touched(b, i)
			}
		case !errors.Is(err, state.ErrDuplicate):
			return done, nil, err
		case w.hidden >= 0:
			if err := w.renumber(b, i); err != nil {
				return done, nil, err
			}
		case c == nil:
			return done, nil, w.duplicate(b, i)
		case c.Nothing:
			continue
		default:
			if left, err = w.conflict(b, i, c); err != nil {
				return done, nil, err
			}
			if j = 0; left == nil {
				continue
			}
		}
		w.count++
		if w.keep {
			done.Append(left, j)
			from = append(from, int32(i))
		}
		if left != b {
			left.Release()
		}
	}
	return done, from, nil
}

// renumber gives row i another row id: the clock went back since the one that
// has it was made.
func (w *writer) renumber(b *arrowbatch.Batch, i int) error {
	for {
		b.Cols[w.hidden].I64[i] = w.s.rowIDs(1)
		err := w.s.tx.do(write{rel: w.rel, op: OpInsert, new: b.Take([]int32{int32(i)})})
		if !errors.Is(err, state.ErrDuplicate) {
			return err
		}
	}
}

// touched notes the key of a row of this statement.
func (w *writer) touched(b *arrowbatch.Batch, i int) (again bool) {
	var key []byte
	for _, k := range w.o.Key {
		key = b.Cols[k].AppendKey(key, i)
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	again = w.seen[string(key)]
	w.seen[string(key)] = true
	return again
}

// conflict is DO UPDATE for the stored row under the key of row i. It returns
// the new row, nil when WHERE leaves the stored one as it is.
func (w *writer) conflict(b *arrowbatch.Batch, i int, c *Conflict) (*arrowbatch.Batch, error) {
	if w.touched(b, i) {
		return nil, sqlerr.New(sqlerr.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
			WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
	}
	t := w.s.tx
	old, key, err := t.txn().Find(w.rel, b, i)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, sqlerr.New(sqlerr.SerializationFailure, "could not serialize access due to concurrent update")
	}
	defer old.Release()
	both := old.Share()
	defer both.Release()
	for _, col := range b.Cols {
		both.Cols = append(both.Cols, col.Take([]int32{int32(i)}))
	}
	if c.Where != nil {
		v := c.Where.Eval(w.ctx, both, nil)
		yes := !v.IsNull(0) && v.Bits.Get(0)
		v.Release()
		if errs := w.ctx.TakeErrors(); errs != nil {
			return nil, errs[0].Err
		}
		if !yes {
			return nil, nil
		}
	}
	row, err := evaluate(w.ctx, c.Row, both)
	if err != nil {
		return nil, err
	}
	if err := w.replace(key, old, 0, row, 0); err != nil {
		row.Release()
		return nil, err
	}
	return row, nil
}

// replace puts a new row in the place of a stored one.
func (w *writer) replace(key []byte, old *arrowbatch.Batch, j int, row *arrowbatch.Batch, i int) error {
	if err := w.notNull(row, i, i+1); err != nil {
		return err
	}
	err := w.s.tx.do(write{rel: w.rel, op: OpUpdate, key: key, old: old, j: j, new: row, i: i})
	if errors.Is(err, state.ErrDuplicate) {
		return w.duplicate(row, i)
	}
	return err
}

// fresh returns the key of row i of b, a stored row as it was read; nil when this
// statement has changed the row already.
func (w *writer) fresh(b *arrowbatch.Batch, i int) []byte {
	key := w.s.tx.txn().Key(w.rel, b, i)
	if w.seen[string(key)] {
		return nil
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[string(key)] = true
	return key
}

// update puts the rows of next in the place of those of old.
func (w *writer) update(old, next *arrowbatch.Batch) (done *arrowbatch.Batch, from []int32, err error) {
	w.s.begin()
	for i := range old.Len {
		key := w.fresh(old, i)
		if key == nil {
			continue // UPDATE … FROM matched the row more than once: the first counts
		}
		if err := w.replace(key, old, i, next, i); err != nil {
			return nil, nil, err
		}
		from = append(from, int32(i))
		w.count++
	}
	return next.Take(from), from, nil
}

// delete removes the rows.
func (w *writer) delete(old *arrowbatch.Batch) (done *arrowbatch.Batch, from []int32, err error) {
	t := w.s.begin()
	for i := range old.Len {
		key := w.fresh(old, i)
		if key == nil {
			continue
		}
		if err := t.do(write{rel: w.rel, op: OpDelete, key: key, old: old, j: i}); err != nil {
			return nil, nil, err
		}
		from = append(from, int32(i))
		w.count++
	}
	return old.Take(from), from, nil
}

// truncateBatch is how many rows are deleted at a time.
const truncateBatch = 4096

// truncate removes all rows.
func (w *writer) truncate(ctx context.Context) error {
	t := w.s.begin()
	it, err := w.rel.Rows(t.txn(), nil, nil)
	if err != nil {
		return err
	}
	it.KeepKeys = true
	defer it.Close()
	for ctx.Err() == nil {
		b, err := it.Next(truncateBatch)
		if err != nil || b == nil {
			return err
		}
		for i := range b.Len {
			if err := t.do(write{rel: w.rel, op: OpDelete, key: it.Keys[i], old: b, j: i}); err != nil {
				return err
			}
		}
		b.Release()
	}
	return ctx.Err()
}

func shapesOf(o *catalog.Object) []arrowbatch.Shape {
	out := make([]arrowbatch.Shape, len(o.Columns))
	for i, c := range o.Columns {
		out[i] = c.Type.Shape()
	}
	return out
}

// notNull checks rows lo to hi-1.
func (w *writer) notNull(b *arrowbatch.Batch, lo, hi int) error {
	for k, c := range w.o.Columns {
		if !c.NotNull || c.Hidden || b.Cols[k].Valid == nil {
			continue
		}
		for i := lo; i < hi; i++ {
			if b.Cols[k].IsNull(i) {
				return fail(sqlerr.NotNullViolation, "Failing row contains ("+w.rowText(b, i)+").",
					"null value in column %q of relation %q violates not-null constraint", c.Name, w.o.Name.Name)
			}
		}
	}
	return nil
}

func (w *writer) duplicate(b *arrowbatch.Batch, i int) error {
	names, vals := make([]string, len(w.o.Key)), make([]string, len(w.o.Key))
	for j, k := range w.o.Key {
		names[j] = catalog.QuoteIdent(w.o.Columns[k].Name)
		vals[j] = w.text(k, b, i)
	}
	return fail(sqlerr.UniqueViolation,
		"Key ("+strings.Join(names, ", ")+")=("+strings.Join(vals, ", ")+") already exists.",
		"duplicate key value violates unique constraint %q", w.o.KeyName())
}

// maxShown is how many bytes of a value a detail shows, as in PostgreSQL.
const maxShown = 64

func (w *writer) text(k int, b *arrowbatch.Batch, i int) string {
	if b.Cols[k].IsNull(i) {
		return "null"
	}
	return string(types.AppendText(nil, w.o.Columns[k].Type, b.Cols[k], i, w.s.Env()))
}

func (w *writer) rowText(b *arrowbatch.Batch, i int) string {
	var parts []string
	for k, c := range w.o.Columns {
		if c.Hidden {
			continue
		}
		v := w.text(k, b, i)
		if len(v) > maxShown {
			v = strings.ToValidUTF8(v[:maxShown], "") + "..."
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, ", ")
}
