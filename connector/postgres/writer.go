package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/state"
)

// pieceBytes is the size of a piece of the outbox from which on it is complete, and
// foldRows how many rows are looked up in it at once, at most.
const (
	pieceBytes = 4 << 20
	foldRows   = 1024
)

// writer encodes the rows of one part.
type writer struct {
	s    *sink
	part int
	enc  *encoder
	buf  []byte // the tuples of the piece in work
	rows uint32

	// FORMAT UPSERT: a key has one tuple in a piece. keys numbers the keys of the
	// piece, spans says where in buf the newest tuple of each is.
	keyCols   []int
	nullKeys  bool // a NULL in the key is a value like others
	keys      *state.Groups
	spans     []span
	keyVecs   []*arrowbatch.Vec
	ids, rowN []int32
	last      []int32
	dead      int // bytes of buf that newer tuples have replaced
	packed    []byte

	epoch  connector.Epoch // being written
	prev   connector.Epoch // the last one that had rows
	pieces uint64
	bytes  int64
}

// span is a tuple in the buffer.
type span struct {
	lo, hi     int32
	gone, null bool
}

func (s *sink) newWriter(part int, t *target) *writer {
	w := &writer{s: s, part: part, epoch: s.after + 1}
	if !s.cfg.upsert {
		w.enc = newEncoder(s.spec, nil)
		return w
	}
	w.enc, w.keyCols, w.nullKeys = newEncoder(s.spec, t.key), t.key, t.nullKeys
	var shapes []arrowbatch.Shape
	for _, k := range t.key {
		shapes = append(shapes, s.spec.Columns[k].Type.Shape())
	}
	w.keys = state.NewGroups(shapes)
	return w
}

// Write encodes the rows; what is more than a piece goes to the outbox.
func (w *writer) Write(ctx context.Context, b *arrowbatch.Batch) error {
	if b.Len == 0 {
		return nil
	}
	if err := w.enc.check(b); err != nil {
		return err
	}
	if w.keys != nil {
		return w.fold(ctx, b)
	}
	if !b.AppendOnly() {
		return sqlerr.Internal("postgres: a row is deleted from a sink that takes inserts only")
	}
	for i := range b.Len {
		at := len(w.buf)
		w.buf = w.enc.append(w.buf, b, i, false)
		if err := w.enc.tooLong(len(w.buf)-at, b, i); err != nil {
			return err
		}
		w.rows++
		if len(w.buf) >= w.s.cfg.piece {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// fold encodes the last change of each key.
func (w *writer) fold(ctx context.Context, b *arrowbatch.Batch) error {
	if err := w.checkKeys(b); err != nil {
		return err
	}
	w.keyVecs = w.keyVecs[:0]
	for _, k := range w.keyCols {
		w.keyVecs = append(w.keyVecs, b.Cols[k])
	}
	// Wide rows are looked at fewer at a time, so that a piece keeps its size.
	step := max(1, min(foldRows, w.s.cfg.piece/max(1, b.Bytes()/b.Len)))
	for lo := 0; lo < b.Len; lo += step {
		if err := w.foldRows(b, lo, min(lo+step, b.Len)); err != nil {
			return err
		}
		if len(w.buf)-w.dead >= w.s.cfg.piece || len(w.buf) >= 4*w.s.cfg.piece {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) foldRows(b *arrowbatch.Batch, lo, hi int) error {
	n := hi - lo
	w.ids, w.rowN = slices.Grow(w.ids[:0], n)[:n], slices.Grow(w.rowN[:0], n)[:n]
	for i := range n {
		w.rowN[i] = int32(lo + i)
	}
	w.keys.Lookup(w.keyVecs, w.rowN, w.ids)
	for len(w.spans) < w.keys.Len() {
		w.spans = append(w.spans, span{})
	}
	for len(w.last) < len(w.spans) {
		w.last = append(w.last, 0)
	}
	for i, id := range w.ids {
		w.last[id] = int32(lo + i)
	}
	for i, id := range w.ids {
		row := lo + i
		if w.last[id] != int32(row) {
			continue
		}
		old := w.spans[id]
		w.dead += int(old.hi - old.lo)
		gone := b.OpAt(row) == arrowbatch.Delete
		at := len(w.buf)
		w.buf = w.enc.append(w.buf, b, row, gone)
		if err := w.enc.tooLong(len(w.buf)-at, b, row); err != nil {
			return err
		}
		w.spans[id] = span{lo: int32(at), hi: int32(len(w.buf)), gone: gone, null: gone && w.nullKey(row)}
	}
	return nil
}

func (w *writer) nullKey(row int) bool {
	for _, v := range w.keyVecs {
		if v.IsNull(row) {
			return true
		}
	}
	return false
}

// checkKeys refuses NULLs in keys where the table's unique index takes each for a
// value of its own: a row with one would never be found again.
func (w *writer) checkKeys(b *arrowbatch.Batch) error {
	if w.nullKeys {
		return nil
	}
	for _, k := range w.keyCols {
		v := b.Cols[k]
		if v.Nulls() == 0 {
			continue
		}
		for i := range b.Len {
			if v.IsNull(i) {
				name := w.s.spec.Columns[k].Name
				return sqlerr.New(sqlerr.NotNullViolation, `a row has NULL in key column "%s", of which table "%s" could `+
					"hold many", name, w.s.cfg.full()).WithDetail("Row: %s", w.enc.row(b, i)).
					WithHint("Give the table a unique index with NULLS NOT DISTINCT over the key (PostgreSQL 15), or leave such "+
						"rows out with WHERE %s IS NOT NULL.", ident(name)).AsPermanent()
			}
		}
	}
	return nil
}

// take ends the piece in work and returns it; it is valid until the next Write.
func (w *writer) take() *piece {
	p := &piece{rows: w.rows, tuples: w.buf}
	if w.keys != nil {
		p.rows = uint32(len(w.spans))
		for _, s := range w.spans {
			if s.gone {
				p.gone++
			}
			if s.null {
				p.goneNulls++
			}
		}
		if w.dead > 0 {
			w.packed = w.packed[:0]
			for _, s := range w.spans {
				w.packed = append(w.packed, w.buf[s.lo:s.hi]...)
			}
			p.tuples = w.packed
		}
		w.keys.Reset()
		w.spans, w.dead = w.spans[:0], 0
	}
	w.buf, w.rows = w.buf[:0], 0
	return p
}

// flush ends the piece in work.
func (w *writer) flush(ctx context.Context) error {
	if len(w.buf) == 0 {
		return nil
	}
	p := w.take()
	if !w.s.cfg.exactly {
		return w.s.writeNow(ctx, w.part, p)
	}
	if w.bytes += int64(len(p.tuples)); w.bytes > w.s.cfg.outbox {
		return sqlerr.New(sqlerr.ProgramLimitExceeded, `the output of epoch %d of sink "%s" is larger than outbox_max_bytes`,
			w.epoch, w.s.spec.Name).WithDetail("The limit is %d bytes; the rows of an epoch are kept until they are committed.",
			w.s.cfg.outbox).WithHint("Raise outbox_max_bytes, or use delivery = 'at_least_once'.").AsPermanent()
	}
	if err := w.s.spec.Outbox.Put(w.part, uint64(w.epoch), w.pieces, p.head(), p.tuples); err != nil {
		return err
	}
	w.pieces++
	return nil
}

// prepared is what Commit needs of a part's epoch, in the checkpoint.
type prepared struct {
	Part   int    `json:"part"`
	Pieces uint64 `json:"pieces"`
	// Prev is the epoch before that had rows: the one that the database must have.
	Prev connector.Epoch `json:"prev"`
}

// Prepare puts what is left of the epoch into the outbox: the checkpoint makes it
// durable. At least once, the rows are written instead.
func (w *writer) Prepare(ctx context.Context, e connector.Epoch) ([]byte, error) {
	if w.s.cfg.exactly && e != w.epoch && len(w.buf)+int(w.pieces) > 0 {
		return nil, sqlerr.Internal("postgres: epoch %d is prepared as epoch %d", w.epoch, e)
	}
	if err := w.flush(ctx); err != nil {
		return nil, err
	}
	w.epoch = e + 1
	if w.pieces == 0 {
		return nil, nil
	}
	p := prepared{Part: w.part, Pieces: w.pieces, Prev: w.prev}
	w.prev, w.pieces, w.bytes = e, 0, 0
	return json.Marshal(p)
}

// Close forgets what was not prepared; Abort drops it from the outbox.
func (w *writer) Close() error { return nil }
