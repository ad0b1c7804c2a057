package operator

import (
	"bytes"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
)

// pass gives on what enters and leaves up to now. soon is settled; its entries that
// are due are taken out of it.
func (o *TemporalFilter) pass(now int64) error {
	n := 0
	for n < len(o.soon.refs) && timeOf(o.soon.key(n)) <= now {
		n++
	}
	mine := 0 // of soon, the next to be given on
	upTo := func(entry []byte) error {
		for ; mine < n && bytes.Compare(o.soon.key(mine), entry) < 0; mine++ {
			if err := o.change(o.soon.key(mine), o.soon.refs[mine].n, now); err != nil {
				return err
			}
		}
		return nil
	}
	if o.next <= now {
		if err := o.stored(now, func(entry []byte, k int64) error {
			if err := upTo(entry); err != nil {
				return err
			}
			if mine < n && bytes.Equal(o.soon.key(mine), entry) {
				k += o.soon.refs[mine].n
				mine++
			}
			return o.change(entry, k, now)
		}); err != nil {
			return err
		}
	}
	if err := upTo(appendEntry(nil, plus1(now), 0, leaving)); err != nil {
		return err
	}
	o.soon.refs = o.soon.refs[n:]
	o.soon.first = arrowbatch.MaxTime
	for i := range o.soon.refs {
		o.soon.first = min(o.soon.first, timeOf(o.soon.key(i)))
	}
	return o.flush()
}

// stored reads the entries in the store up to now, in order, and removes them.
func (o *TemporalFilter) stored(now int64, fn func(entry []byte, n int64) error) error {
	if err := o.landed(); err != nil {
		return err
	}
	p := o.table(entryTable)
	lo := p
	if o.past != arrowbatch.NoTime {
		lo = appendEntry(slices.Clone(p), o.past, 0, leaving)
	}
	hi := appendEntry(slices.Clone(p), plus1(now), 0, leaving)
	d := o.rt.Delta()
	err := o.rt.Store.Scan(lo, hi, func(k, v []byte) error {
		n, ok := readCount(v)
		if !ok || len(k) < len(p)+entryHead {
			return errState
		}
		entry := k[len(p):]
		if !o.rt.Owns(vnodeOf(entry)) {
			return nil
		}
		if o.rt.Parts > 1 {
			d.Delete(k)
		}
		o.held -= n
		o.size -= n * int64(len(entry))
		return fn(entry, n)
	})
	if err != nil {
		return err
	}
	if o.rt.Parts == 1 {
		d.DeleteRange(lo, hi)
	}
	o.past = plus1(now)
	o.next, err = o.first(hi)
	return err
}

// change carries out an entry for n rows.
func (o *TemporalFilter) change(entry []byte, n, now int64) error {
	if n == 0 {
		return nil
	}
	to, row := otherOf(entry), entry[entryHead:]
	op := arrowbatch.Delete
	if to != leaving {
		if to <= now { // it came and went between two epochs
			return nil
		}
		op = arrowbatch.Insert
		if to != arrowbatch.MaxTime {
			o.buf = append(appendEntry(o.buf[:0], to, vnodeOf(entry), leaving), row...)
			if err := o.later(o.buf, n); err != nil {
				return err
			}
		}
	}
	if n < 0 {
		op, n = arrowbatch.Insert+arrowbatch.Delete-op, -n
	}
	for ; n > 0; n-- {
		if err := o.give(row, op); err != nil {
			return err
		}
	}
	return nil
}

// later notes an entry that another one has led to.
func (o *TemporalFilter) later(entry []byte, n int64) error {
	if o.Changing || o.rt.Eager {
		o.soon.add(entry, n)
		return nil
	}
	return o.write(entry, n)
}

// give adds a row to the batch of what is due.
func (o *TemporalFilter) give(row []byte, op arrowbatch.Op) error {
	if o.due == nil {
		o.due = arrowbatch.NewLike(o.Shapes)
	}
	if _, err := arrowbatch.DecodeRow(row, o.due.Cols); err != nil {
		return errState
	}
	o.due.AppendOp(op)
	if o.due.Len < chunkRows {
		return nil
	}
	return o.flush()
}

func (o *TemporalFilter) flush() error {
	b := o.due
	if b == nil {
		return nil
	}
	o.due = nil
	if err := o.rt.Ctx.Err(); err != nil {
		b.Release()
		return err
	}
	return o.out.Emit(b)
}

// entries are changed entries of an epoch: keys in an arena, and how many rows each
// adds.
type entries struct {
	arena []byte
	refs  []entryRef
	first int64 // the time of the first one, MaxTime for none
}

type entryRef struct {
	lo, hi int
	n      int64
}

func (e *entries) key(i int) []byte { return e.arena[e.refs[i].lo:e.refs[i].hi] }

func (e *entries) add(entry []byte, n int64) {
	lo := len(e.arena)
	e.arena = append(e.arena, entry...)
	e.refs = append(e.refs, entryRef{lo, len(e.arena), n})
	e.first = min(e.first, timeOf(entry))
}

// settle sorts the entries and adds up those of one key; what comes to nothing goes.
func (e *entries) settle() {
	key := func(r entryRef) []byte { return e.arena[r.lo:r.hi] }
	slices.SortFunc(e.refs, func(a, b entryRef) int { return bytes.Compare(key(a), key(b)) })
	out := e.refs[:0]
	for _, r := range e.refs {
		switch last := len(out) - 1; {
		case last >= 0 && bytes.Equal(key(out[last]), key(r)):
			out[last].n += r.n
		case last >= 0 && out[last].n == 0:
			out[last] = r
		default:
			out = append(out, r)
		}
	}
	if last := len(out) - 1; last >= 0 && out[last].n == 0 {
		out = out[:last]
	}
	e.refs = out
}

// reset empties it, and gives up room that a large epoch took.
func (e *entries) reset() {
	if cap(e.arena) > 1<<20 {
		*e = entries{}
	}
	e.arena, e.refs, e.first = e.arena[:0], e.refs[:0], arrowbatch.MaxTime
}
