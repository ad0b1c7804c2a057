package operator

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// wholeResult is the result of complete mode: rows under their place in the order, if there
// is one, and their code. It is in memory until it takes more than the budget; from then on
// it is in the store alone, and goes from there to the output in batches.
//
// Stored form: without an order, table 0 has a key per row, its value the number of copies;
// with one, table 1 has the order before the row and its length before the number.
type wholeResult struct {
	rows map[string]copies
	size int   // bytes that rows take
	tier *tier // nil: it stays in memory
	away bool
	// moved: rows of an earlier form are to be written anew.
	moved map[string]copies
}

// copies are the copies of a row, and how long its order is.
type copies struct {
	n   int64
	ord int
}

// wholeRowBytes is about what a row takes beside its key.
const wholeRowBytes = 80

func (e *Emit) resultPrefix() []byte {
	id := e.rt.Table
	if len(e.Order) > 0 {
		id.Table = 1
	}
	return id.Prefix()
}

// openResult reads the result, if it fits into memory.
func (e *Emit) openResult() error {
	r := &e.res
	r.rows = map[string]copies{}
	if e.rt.Store == nil {
		return nil
	}
	r.tier = newTier(e.rt, e.Budget)
	n := 0
	err := e.scanResult(func(key []byte, c copies) error {
		if n++; n%restoreStep == 1 && r.tier.over(r.size) {
			return errTooLarge
		}
		r.add(string(key), c)
		return nil
	})
	if errors.Is(err, errTooLarge) {
		r.leave()
		err = nil
	}
	if err != nil || len(e.Order) == 0 {
		return err
	}
	return e.moveResult()
}

// moveResult takes rows that an earlier version has stored without their order.
func (e *Emit) moveResult() error {
	p := e.rt.Table.Prefix()
	return e.rt.Store.Scan(p, state.After(p), func(k, v []byte) error {
		row := arrowbatch.NewLike(e.Shapes)
		defer row.Release()
		n, ok := readCount(v)
		if _, err := arrowbatch.DecodeRow(k[len(p):], row.Cols); err != nil || !ok {
			return errState
		}
		if e.res.moved == nil {
			e.res.moved = map[string]copies{}
		}
		key, ord := e.rowKey(nil, row, 0)
		e.res.moved[string(key)] = copies{n, ord}
		return nil
	})
}

// scanResult goes through the stored result in order.
func (e *Emit) scanResult(fn func(key []byte, c copies) error) error {
	p := e.resultPrefix()
	return e.rt.Store.Scan(p, state.After(p), func(k, v []byte) error {
		c := copies{}
		if len(e.Order) > 0 {
			ord, m := binary.Uvarint(v)
			if m <= 0 || ord > uint64(len(k)-len(p)) {
				return errState
			}
			c.ord, v = int(ord), v[m:]
		}
		var ok bool
		if c.n, ok = readCount(v); !ok {
			return errState
		}
		return fn(k[len(p):], c)
	})
}

// rowKey appends the key of row i of b, and tells how long its order is.
func (e *Emit) rowKey(dst []byte, b *arrowbatch.Batch, i int) (key []byte, ord int) {
	from := len(dst)
	for _, s := range e.Order {
		dst = appendSortKey(dst, b.Cols[s.Col], i, s)
	}
	ord = len(dst) - from
	return arrowbatch.AppendRow(dst, b.Cols, i), ord
}

// add adds copies of a row.
func (r *wholeResult) add(key string, c copies) {
	was, known := r.rows[key]
	c.n += was.n
	switch {
	case c.n == 0:
		if known {
			delete(r.rows, key)
			r.size -= len(key) + wholeRowBytes
		}
		return
	case !known:
		r.size += len(key) + wholeRowBytes
	}
	r.rows[key] = c
}

func (r *wholeResult) leave() { r.rows, r.size, r.away = nil, 0, true }

// complete takes the epoch's changes into the result and sends it.
func (e *Emit) complete() error {
	changed := map[string]copies{}
	var key []byte
	for _, b := range e.held {
		for i := range b.Len {
			var c copies
			key, c.ord = e.rowKey(key[:0], b, i)
			c.n = changed[string(key)].n + 1 - 2*int64(b.OpAt(i))
			changed[string(key)] = c
		}
		b.Release()
	}
	e.held = nil
	if e.res.moved != nil {
		for k, c := range e.res.moved {
			c.n += changed[k].n
			changed[k] = c
		}
		e.res.moved = nil
		p := e.rt.Table.Prefix()
		e.rt.Delta().DeleteRange(p, state.After(p))
	}
	w := wholeWriter{e: e}
	defer w.free()
	err := e.sendHere(&w, changed)
	if e.res.away {
		err = e.sendAway(&w, changed)
	}
	if err == nil {
		err = w.flush()
	}
	r := &e.res
	r.tier.sealed()
	if r.tier.over(r.size) {
		r.leave()
	}
	e.rt.Stats.State(0, r.size) // rows of the result are not counted as groups
	return err
}

// sendHere takes changes into the result in memory and writes it.
func (e *Emit) sendHere(w *wholeWriter, changed map[string]copies) error {
	if e.res.away {
		return nil
	}
	d := e.rt.Delta()
	for key, c := range changed {
		e.res.add(key, c)
		if d != nil {
			c.n = e.res.rows[key].n
			e.save(d, key, c)
		}
	}
	if len(e.Order) == 0 {
		for key, c := range e.res.rows {
			if err := w.row(key, c); err != nil {
				return err
			}
		}
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(e.res.rows)) {
		if err := w.row(key, e.res.rows[key]); err != nil {
			return err
		}
	}
	return nil
}

// sendAway writes the result in the store with the changes, which go there.
func (e *Emit) sendAway(w *wholeWriter, changed map[string]copies) error {
	if err := e.res.tier.landed(); err != nil {
		return err
	}
	keys, next := slices.Sorted(maps.Keys(changed)), 0
	d := e.rt.Delta()
	upTo := func(key []byte) error { // the changed ones before it are new
		for ; next < len(keys) && (key == nil || keys[next] < string(key)); next++ {
			c := changed[keys[next]]
			e.save(d, keys[next], c)
			if err := w.row(keys[next], c); err != nil {
				return err
			}
		}
		return nil
	}
	err := e.scanResult(func(key []byte, c copies) error {
		if err := upTo(key); err != nil {
			return err
		}
		if next < len(keys) && keys[next] == string(key) {
			c.n += changed[keys[next]].n
			e.save(d, keys[next], c)
			next++
		}
		return w.bytes(key, c)
	})
	if err != nil {
		return err
	}
	return upTo(nil)
}

// save writes a row's copies to the delta.
func (e *Emit) save(d *state.Delta, key string, c copies) {
	k := append(e.resultPrefix(), key...)
	if c.n == 0 {
		d.Delete(k)
		return
	}
	var v []byte
	if len(e.Order) > 0 {
		v = binary.AppendUvarint(nil, uint64(c.ord))
	}
	d.Put(k, appendCount(v, c.n))
}

// wholeWriter sends rows in batches of bounded size.
type wholeWriter struct {
	e   *Emit
	out *arrowbatch.Batch
	buf bytes.Buffer
}

func (w *wholeWriter) row(key string, c copies) error {
	w.buf.Reset()
	w.buf.WriteString(key)
	return w.bytes(w.buf.Bytes(), c)
}

func (w *wholeWriter) bytes(key []byte, c copies) error {
	for n := c.n; n > 0; n-- {
		if w.out == nil {
			w.out = arrowbatch.NewLike(w.e.Shapes)
		}
		if _, err := arrowbatch.DecodeRow(key[c.ord:], w.out.Cols); err != nil {
			return errState
		}
		if w.out.Len++; w.out.Len >= wholeBatchRows {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeBatchRows is how many rows of the result a batch has.
const wholeBatchRows = 1 << 14

func (w *wholeWriter) flush() error {
	out := w.out
	w.out = nil
	if out == nil {
		return nil
	}
	return w.e.out.Emit(out)
}

func (w *wholeWriter) free() {
	w.out.Release()
	w.out = nil
}
