package aggregate

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// distinct passes each value of an entry to another aggregate once. Unlike a set
// kept beside the aggregate it can be merged, so it is for entries that grow
// together; it holds every value in its own memory.
type distinct struct {
	inner  Acc
	shapes []arrowbatch.Shape
	seen   []map[string]int64 // by entry: key code of the arguments → count
	row    []byte
	ids    []int32
	rows   []int32
	held   int // bytes of the keys in seen
}

// Distinct returns an accumulator that passes each combination of arguments to a
// once. Rows with a NULL argument are left out, but for array_agg.
func Distinct(a Acc, c Call) Acc {
	d := &distinct{inner: a}
	for _, t := range c.Args {
		d.shapes = append(d.shapes, t.Shape())
	}
	return d
}

func (d *distinct) Grow(n int) {
	d.inner.Grow(n)
	d.seen = grow(d.seen, n)
}

func (d *distinct) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	d.ids, d.rows = d.ids[:0], d.rows[:0]
	for k, g := range ids {
		i := row(rows, k)
		if d.null(args, i) {
			continue
		}
		// Equal values may look different, so the key code decides.
		d.row = d.row[:0]
		for _, v := range args[:len(d.shapes)] {
			d.row = v.AppendKey(d.row, i)
		}
		if d.count(g, d.row, sign(ops, i)) {
			d.ids, d.rows = append(d.ids, g), append(d.rows, int32(i))
		}
	}
	if len(d.ids) > 0 {
		d.inner.Update(d.ids, d.rows, args, ops)
	}
}

func (d *distinct) null(args []*arrowbatch.Vec, i int) bool {
	if c, ok := d.inner.(*collect); ok && !c.text {
		return false
	}
	for _, v := range args[:len(d.shapes)] {
		if v.IsNull(i) {
			return true
		}
	}
	return false
}

// count changes a value's count and tells whether it came or went.
func (d *distinct) count(g int32, key []byte, n int64) bool {
	m := d.seen[g]
	if m == nil {
		m = map[string]int64{}
		d.seen[g] = m
	}
	was, known := m[string(key)]
	switch {
	case was+n != 0:
		m[string(key)] = was + n
		if !known {
			d.held += len(key) + 64
		}
	case known:
		delete(m, string(key))
		d.held -= len(key) + 64
	}
	return (was > 0) != (was+n > 0)
}

func (d *distinct) Merge(id int32, src []byte) ([]byte, error) {
	n, k := binary.Uvarint(src)
	if k <= 0 {
		return nil, errState
	}
	src = src[k:]
	for range n {
		l, k := binary.Uvarint(src)
		if k <= 0 || l > uint64(len(src)-k) {
			return nil, errState
		}
		key := src[k : k+int(l)]
		c, w := binary.Varint(src[k+int(l):])
		if w <= 0 {
			return nil, errState
		}
		src = src[k+int(l)+w:]
		if err := d.merge(id, key, c); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// merge adds c of one value.
func (d *distinct) merge(id int32, key []byte, c int64) error {
	if !d.count(id, key, c) {
		return nil
	}
	args := make([]*arrowbatch.Vec, len(d.shapes))
	rest := key
	var err error
	for i, s := range d.shapes {
		args[i] = arrowbatch.NewVec(s, 0)
		defer args[i].Release()
		if rest, err = args[i].DecodeKey(rest); err != nil {
			return errState
		}
	}
	op := arrowbatch.Insert
	if c < 0 {
		op = arrowbatch.Delete
	}
	d.inner.Update([]int32{id}, []int32{0}, args, []arrowbatch.Op{op})
	return nil
}

// Append writes the values alone: the inner state follows from them.
func (d *distinct) Append(dst []byte, id int32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(d.seen[id])))
	for key, n := range d.seen[id] {
		dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
		dst = binary.AppendVarint(dst, n)
	}
	return dst
}

func (d *distinct) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	d.inner.Result(ids, out, fail)
}

func (d *distinct) Reset() {
	d.inner.Reset()
	clear(d.seen)
	d.seen, d.held = d.seen[:0], 0
}
