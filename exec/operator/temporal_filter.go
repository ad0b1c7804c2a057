package operator

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// TemporalFilter passes rows while all bounds hold. A row enters when now() has come
// to its time and is taken back when now() has come to its end; both follow from the
// row's values, so nothing need be looked up when a row is deleted.
//
// A row with a change to come is an entry of the store, under the time of the change;
// nothing of it stays in memory. When now() has moved, the entries up to it are read
// in order and given on in batches of bounded size.
//
// With Changing, the entries that an epoch adds are held to its barrier, so that what
// is added and removed within it leaves no trace; where results are eager they are,
// too, since they may be due before it.
type TemporalFilter struct {
	Bounds []TemporalBound
	// Keys are the columns that rows are spread over tasks by.
	Keys   []int
	Shapes []arrowbatch.Shape
	// Changing: deletes may come in. Unique: no two equal rows are there at a time.
	Changing, Unique bool
	// Anew: what an earlier run has left is dropped.
	Anew bool

	rt  *exec.Runtime
	out exec.Output
	now int64 // rows are in the output, or not, by this time
	// next is before or at the first entry in the store, MaxTime for none.
	next int64
	// added is the first entry that this epoch has given to the store, which is not in
	// it before the commit.
	added int64
	// past: all entries in the store before it have been given on.
	past  int64
	fresh bool // nothing in the store counts: Anew, before the first commit
	// flight is closed when the last epoch's commit has ended; nil: there is none.
	flight chan struct{}
	held   int64 // rows in entries, as far as this task counts them
	size   int64 // their bytes
	was    [2]int64

	soon     entries
	from, to []int64
	sel      []int32
	hashes   []uint64
	buf      []byte
	due      *arrowbatch.Batch
}

// Tables of a TemporalFilter's state. An entry's key has the time of the change, the
// vnode, when the row leaves (0 if the entry is that change itself) and the row; its
// value is how many such rows there are.
const (
	entryTable = iota
	factTable
)

// Keys in factTable.
const (
	factNow byte = iota
	factRows
	factBytes
)

// leaving is what an entry has in place of the time at which its row leaves, when it
// is the leaving that it stands for.
const leaving = arrowbatch.NoTime

// Open goes on from the time of the last epoch.
func (o *TemporalFilter) Open(rt *exec.Runtime, out exec.Output) error {
	o.rt, o.out = rt, out
	o.now, o.next = rt.Eval.Now, arrowbatch.MaxTime
	o.added, o.past, o.soon.first = arrowbatch.MaxTime, arrowbatch.NoTime, arrowbatch.MaxTime
	if o.Anew {
		for _, t := range []uint8{entryTable, factTable} {
			p := o.table(t)
			rt.Delta().DeleteRange(p, state.After(p))
		}
		o.fresh = true
		return nil
	}
	var err error
	if o.next, err = o.first(o.table(entryTable)); err != nil {
		return err
	}
	p := o.table(factTable)
	err = rt.Store.Scan(p, state.After(p), func(k, v []byte) error {
		n, ok := readCount(v)
		switch {
		case !ok || len(k) != len(p)+1:
			return errState
		case k[len(p)] == factNow:
			o.now = n
		case rt.Part > 0: // the first task's figures are those of all
		case k[len(p)] == factRows:
			o.held = n
		case k[len(p)] == factBytes:
			o.size = n
		}
		return nil
	})
	o.was = [2]int64{o.held, o.size}
	return err
}

func (o *TemporalFilter) table(t uint8) []byte {
	id := o.rt.Table
	id.Table = t
	return id.Prefix()
}

// first returns the time of the first entry from a key on.
func (o *TemporalFilter) first(lo []byte) (int64, error) {
	at := arrowbatch.MaxTime
	p := o.table(entryTable)
	err := o.rt.Store.Scan(lo, state.After(p), func(k, _ []byte) error {
		if len(k) < len(p)+entryHead {
			return errState
		}
		at = timeOf(k[len(p):])
		return exec.ErrStop
	})
	if errors.Is(err, exec.ErrStop) {
		err = nil
	}
	return at, err
}

// ProcessBatch passes what is valid now.
func (o *TemporalFilter) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	err := o.advance(o.rt.Eval.Now)
	if err == nil {
		err = o.spans(b)
	}
	if err != nil {
		b.Release()
		return err
	}
	hashed := false
	o.sel = o.sel[:0]
	for i := range b.Len {
		from, to := o.from[i], o.to[i]
		if to <= from || to <= o.now || from == arrowbatch.MaxTime {
			continue
		}
		at, other := to, leaving
		if from <= o.now {
			o.sel = append(o.sel, int32(i))
			if to == arrowbatch.MaxTime {
				continue
			}
		} else {
			at, other = from, to
		}
		if !hashed {
			o.hash(b)
			hashed = true
		}
		o.hold(b, i, at, other)
	}
	if len(o.sel) == b.Len {
		return o.out.Emit(b)
	}
	defer b.Release()
	if len(o.sel) == 0 {
		return nil
	}
	return o.out.Emit(b.Take(o.sel))
}

func (o *TemporalFilter) hash(b *arrowbatch.Batch) {
	cols := make([]*arrowbatch.Vec, len(o.Keys))
	for i, k := range o.Keys {
		cols[i] = b.Cols[k]
	}
	if cap(o.hashes) < b.Len {
		o.hashes = make([]uint64, b.Len)
	}
	o.hashes = o.hashes[:b.Len]
	state.HashKeys(cols, b.Len, o.hashes)
}

// hold notes a change to come of row i.
func (o *TemporalFilter) hold(b *arrowbatch.Batch, i int, at, other int64) {
	n := int64(1)
	if b.OpAt(i) == arrowbatch.Delete {
		n = -1
	}
	o.buf = appendEntry(o.buf[:0], at, state.VnodeOfHash(o.hashes[i]), other)
	o.buf = arrowbatch.AppendRow(o.buf, b.Cols, i)
	if o.Changing || o.rt.Eager {
		o.soon.add(o.buf, n)
		return
	}
	o.count(at, n, len(o.buf))
	o.rt.Delta().Add(append(o.table(entryTable), o.buf...), n)
}

// count notes that the store will have n more rows of an entry.
func (o *TemporalFilter) count(at, n int64, size int) {
	o.added = min(o.added, at)
	o.held += n
	o.size += n * int64(size)
}

// ProcessWatermark passes the watermark on. The output has no event time: its rows
// may come, and go, at any time.
func (o *TemporalFilter) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	return w, nil
}

// advance lets time pass up to now.
func (o *TemporalFilter) advance(now int64) error {
	// In the middle of an epoch now() moves only where results are eager, and then
	// entries go to the store at the barrier.
	now = min(now, o.added-1)
	if now <= o.now {
		return nil
	}
	if o.next <= now || o.soon.first <= now {
		o.soon.settle()
		if err := o.pass(now); err != nil {
			return err
		}
	}
	o.now = now
	return nil
}

// ProcessBarrier lets time pass up to the barrier's now().
func (o *TemporalFilter) ProcessBarrier(b exec.Barrier) error {
	if err := o.advance(max(b.Now, o.rt.Eval.Now)); err != nil {
		return err
	}
	o.soon.settle()
	for i := range o.soon.refs {
		if err := o.write(o.soon.key(i), o.soon.refs[i].n); err != nil {
			return err
		}
	}
	o.soon.reset()
	o.next = min(o.next, o.added)
	o.save()
	return nil
}

func (o *TemporalFilter) save() {
	d, fact := o.rt.Delta(), o.table(factTable)
	d.SetCount(append(fact, factNow), o.now)
	for i, n := range []int64{o.held, o.size} {
		if n != o.was[i] {
			d.Add(append(fact, factRows+byte(i)), n-o.was[i])
			o.was[i] = n
		}
	}
	o.added, o.fresh = arrowbatch.MaxTime, false
	ended := make(chan struct{})
	o.rt.AfterCommit(func() { close(ended) })
	o.flight = ended
	o.rt.Stats.State(int(o.held), int(o.size))
	o.rt.WakeAt(o.next)
}

// write puts a changed entry into the store. An entry that comes to nothing is
// removed.
func (o *TemporalFilter) write(entry []byte, n int64) error {
	o.count(timeOf(entry), n, len(entry))
	key := append(o.table(entryTable), entry...)
	d := o.rt.Delta()
	switch {
	case o.Unique && n < 0:
		d.Delete(key)
	case o.Unique:
		d.SetCount(key, n)
	case n > 0:
		d.Add(key, n)
	default:
		have, err := o.committed(key)
		if err != nil {
			return err
		}
		if have+n == 0 {
			d.Delete(key)
		} else {
			d.SetCount(key, have+n)
		}
	}
	return nil
}

// committed is an entry's count as the epochs before have left it.
func (o *TemporalFilter) committed(key []byte) (int64, error) {
	if o.fresh {
		return 0, nil
	}
	if err := o.landed(); err != nil {
		return 0, err
	}
	return o.rt.Store.Count(key)
}

// landed waits until the last epoch is in the store. Its commit depends on nothing
// that this task has yet to do.
func (o *TemporalFilter) landed() error {
	if o.flight == nil {
		return nil
	}
	select {
	case <-o.flight:
		o.flight = nil
		return nil
	case <-o.rt.Ctx.Done():
		return o.rt.Ctx.Err()
	}
}

// Close frees what an error has left.
func (o *TemporalFilter) Close() {
	o.due.Release()
	o.due = nil
}

// entryHead is the length of an entry before its row.
const entryHead = 8 + 1 + 8

func appendEntry(dst []byte, at int64, vnode byte, other int64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(at)^1<<63)
	return binary.BigEndian.AppendUint64(append(dst, vnode), uint64(other)^1<<63)
}

func timeOf(entry []byte) int64 { return int64(binary.BigEndian.Uint64(entry) ^ 1<<63) }

func vnodeOf(entry []byte) byte { return entry[8] }

func otherOf(entry []byte) int64 { return int64(binary.BigEndian.Uint64(entry[9:]) ^ 1<<63) }

// plus1 is the next moment.
func plus1(at int64) int64 {
	if at == math.MaxInt64 || at == math.MinInt64 {
		return at
	}
	return at + 1
}
