package aggregate

import (
	"bytes"
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// distinct passes each value of an entry to another aggregate once. Unlike a set
// kept beside the aggregate it can be merged, so it is for entries that grow
// together; it holds every value in its own memory.
type distinct struct {
	inner  Acc
	nargs  int
	shapes []arrowbatch.Shape // of the arguments and the columns to order by
	// inexact: the key code does not tell how a value looks, so seen keeps that.
	inexact bool
	seen    []map[string]occurrence // by entry, by key code of the columns
	row     []byte
	ids     []int32
	rows    []int32
	held    int // bytes of the keys in seen
}

// occurrence is how often a value is there and, if its key does not tell, how it
// looks, in the row code.
type occurrence struct {
	n     int64
	image []byte
}

// Distinct returns an accumulator that passes each combination of arguments to a
// once. Rows with a NULL argument are left out, but for array_agg, and for
// string_agg if only the separator is NULL. The columns to order by, which follow
// the arguments, are equal to some of them.
func Distinct(a Acc, c Call) Acc {
	d := &distinct{inner: a, nargs: len(c.Args)}
	for _, ts := range [][]types.Type{c.Args, c.OrderTypes} {
		for _, t := range ts {
			d.shapes = append(d.shapes, t.Shape())
			d.inexact = d.inexact || !t.Shape().ExactKey()
		}
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
		if d.count(g, d.row, sign(ops, i), func() []byte { return arrowbatch.AppendRow(nil, args[:len(d.shapes)], i) }) {
			d.ids, d.rows = append(d.ids, g), append(d.rows, int32(i))
		}
	}
	if len(d.ids) > 0 {
		d.inner.Update(d.ids, d.rows, args, ops)
	}
}

func (d *distinct) null(args []*arrowbatch.Vec, i int) bool {
	if c, ok := d.inner.(*collect); ok {
		return c.text && args[0].IsNull(i)
	}
	for _, v := range args[:d.nargs] {
		if v.IsNull(i) {
			return true
		}
	}
	return false
}

// count changes a value's count and tells whether it came or went. look gives the
// image of a value that is new.
func (d *distinct) count(g int32, key []byte, n int64, look func() []byte) bool {
	m := d.seen[g]
	if m == nil {
		m = map[string]occurrence{}
		d.seen[g] = m
	}
	x, known := m[string(key)]
	was := x.n
	x.n += n
	switch {
	case x.n != 0:
		if !known {
			if d.inexact {
				x.image = look()
			}
			d.held += len(key) + len(x.image) + 64
		}
		m[string(key)] = x
	case known:
		delete(m, string(key))
		d.held -= len(key) + len(x.image) + 64
	}
	return (was > 0) != (x.n > 0)
}

func (d *distinct) Merge(id int32, src []byte) ([]byte, error) {
	n, k := binary.Uvarint(src)
	if k <= 0 {
		return nil, errState
	}
	src = src[k:]
	var key []byte
	var x occurrence
	var err error
	for range n {
		if key, src, err = cutBytes(src); err != nil {
			return nil, err
		}
		if x, src, err = cutOccurrence(src); err != nil {
			return nil, err
		}
		if err := d.merge(id, key, x); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// cutBytes takes bytes that follow their length.
func cutBytes(src []byte) (b, rest []byte, err error) {
	l, k := binary.Uvarint(src)
	if k <= 0 || l > uint64(len(src)-k) {
		return nil, nil, errState
	}
	return src[k : k+int(l)], src[k+int(l):], nil
}

// cutOccurrence takes what Append has written after a key.
func cutOccurrence(src []byte) (x occurrence, rest []byte, err error) {
	n, k := binary.Varint(src)
	if k <= 0 {
		return x, nil, errState
	}
	if n != 0 {
		return occurrence{n: n}, src[k:], nil
	}
	src = src[k:]
	if n, k = binary.Varint(src); k <= 0 {
		return x, nil, errState
	}
	image, rest, err := cutBytes(src[k:])
	return occurrence{n, bytes.Clone(image)}, rest, err
}

// merge adds one value.
func (d *distinct) merge(id int32, key []byte, x occurrence) error {
	if !d.count(id, key, x.n, func() []byte { return x.image }) {
		return nil
	}
	args := make([]*arrowbatch.Vec, len(d.shapes))
	from := key
	if x.image != nil {
		from = x.image
	}
	var err error
	for i, s := range d.shapes {
		args[i] = arrowbatch.NewVec(s, 0)
		defer args[i].Release()
		if x.image != nil {
			from, err = args[i].DecodeValue(from)
		} else {
			from, err = args[i].DecodeKey(from)
		}
		if err != nil {
			return errState
		}
	}
	op := arrowbatch.Insert
	if x.n < 0 {
		op = arrowbatch.Delete
	}
	d.inner.Update([]int32{id}, []int32{0}, args, []arrowbatch.Op{op})
	return nil
}

// Append writes the values alone: the inner state follows from them. A count of 0
// says that the count and an image follow.
func (d *distinct) Append(dst []byte, id int32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(d.seen[id])))
	for key, x := range d.seen[id] {
		dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
		if x.image != nil {
			dst = append(dst, 0)
		}
		dst = binary.AppendVarint(dst, x.n)
		if x.image != nil {
			dst = append(binary.AppendUvarint(dst, uint64(len(x.image))), x.image...)
		}
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
