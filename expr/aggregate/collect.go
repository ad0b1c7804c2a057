package aggregate

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// collect is array_agg and string_agg: each group keeps its rows in the order of
// arrival, or of ORDER BY. The arguments are the aggregate's, then the columns to
// order by.
type collect struct {
	text   bool // string_agg: value and separator; else array_agg
	nargs  int
	shapes []arrowbatch.Shape // of the aggregate's arguments
	desc   []SortOrder
	groups [][]collected
	held   int // bytes of the rows
}

// SortOrder is how one ORDER BY column of an aggregate sorts.
type SortOrder struct{ Desc, NullsFirst bool }

type collected struct{ order, row []byte }

// bytes is about what a row takes.
func (x *collected) bytes() int { return len(x.order) + len(x.row) + 64 }

func (c *collect) Grow(n int) { c.groups = grow(c.groups, n) }

func (c *collect) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	for k, g := range ids {
		i := row(rows, k)
		if c.text && args[0].IsNull(i) {
			continue
		}
		x := collected{row: arrowbatch.AppendRow(nil, args[:c.nargs], i)}
		for o, v := range args[c.nargs:] {
			x.order = appendOrder(x.order, v, i, c.desc[o])
		}
		if sign(ops, i) > 0 {
			c.groups[g] = append(c.groups[g], x)
			c.held += x.bytes()
		} else {
			c.remove(g, x)
		}
	}
}

// appendOrder appends a sort key: NULL first or last as asked for.
func appendOrder(dst []byte, v *arrowbatch.Vec, i int, o SortOrder) []byte {
	null := byte(2)
	if o.NullsFirst {
		null = 0
	}
	if v.IsNull(i) {
		return append(dst, null)
	}
	dst = append(dst, 1)
	if o.Desc {
		return v.AppendKeyDesc(dst, i)
	}
	return v.AppendKey(dst, i)
}

// remove takes one equal row out.
func (c *collect) remove(g int32, x collected) {
	for i, y := range c.groups[g] {
		if bytes.Equal(x.row, y.row) && bytes.Equal(x.order, y.order) {
			c.groups[g] = append(c.groups[g][:i], c.groups[g][i+1:]...)
			c.held -= x.bytes()
			return
		}
	}
}

func (c *collect) Merge(id int32, src []byte) ([]byte, error) {
	n, k := binary.Uvarint(src)
	if k <= 0 {
		return nil, errState
	}
	src = src[k:]
	for range n {
		var part [2][]byte
		for p := range part {
			l, k := binary.Uvarint(src)
			if k <= 0 || l > uint64(len(src)-k) {
				return nil, errState
			}
			part[p] = bytes.Clone(src[k : k+int(l)])
			src = src[k+int(l):]
		}
		x := collected{part[0], part[1]}
		c.groups[id] = append(c.groups[id], x)
		c.held += x.bytes()
	}
	return src, nil
}

func (c *collect) Append(dst []byte, id int32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(c.groups[id])))
	for _, x := range c.groups[id] {
		for _, p := range [][]byte{x.order, x.row} {
			dst = append(binary.AppendUvarint(dst, uint64(len(p))), p...)
		}
	}
	return dst
}

func (c *collect) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		rows := c.groups[g]
		if len(rows) == 0 {
			out.AppendNull()
			continue
		}
		if len(c.desc) > 0 {
			sort.SliceStable(rows, func(i, j int) bool { return bytes.Compare(rows[i].order, rows[j].order) < 0 })
		}
		if err := c.write(rows, out); err != nil {
			fail(k, errState)
			out.AppendNull()
		}
	}
}

func (c *collect) write(rows []collected, out *arrowbatch.Vec) error {
	if !c.text {
		for _, x := range rows {
			if _, err := out.Kids[0].DecodeValue(x.row); err != nil {
				return err
			}
		}
		out.EndList()
		return nil
	}
	for i, x := range rows {
		b := arrowbatch.NewLike(c.shapes)
		_, err := arrowbatch.DecodeRow(x.row, b.Cols)
		if err == nil && i > 0 && !b.Cols[1].IsNull(0) {
			out.Data = append(out.Data, b.Cols[1].BytesAt(0)...)
		}
		if err == nil {
			out.Data = append(out.Data, b.Cols[0].BytesAt(0)...)
		}
		b.Release()
		if err != nil {
			return err
		}
	}
	out.EndBytes()
	return nil
}

func (c *collect) Reset() {
	clear(c.groups)
	c.groups, c.held = c.groups[:0], 0
}

// anyValue keeps the first value of each group, NULL included.
type anyValue struct {
	shape arrowbatch.Shape
	at    []span
	arena []byte
}

func (a *anyValue) Grow(n int) { a.at = grow(a.at, n) }

func (a *anyValue) Update(ids, rows []int32, args []*arrowbatch.Vec, _ []arrowbatch.Op) {
	for k, g := range ids {
		if a.at[g].val != 0 {
			continue
		}
		off := len(a.arena)
		a.arena = args[0].AppendValue(a.arena, row(rows, k))
		a.at[g] = span{off: arrowbatch.Place(off), val: uint32(len(a.arena) - off)}
	}
}

func (a *anyValue) Merge(id int32, src []byte) ([]byte, error) {
	if len(src) > 0 && src[0] == 2 { // no value yet
		return src[1:], nil
	}
	v := arrowbatch.NewVec(a.shape, 0)
	defer v.Release()
	rest, err := v.DecodeValue(src)
	if err != nil {
		return nil, errState
	}
	a.Update([]int32{id}, nil, []*arrowbatch.Vec{v}, nil)
	return rest, nil
}

func (a *anyValue) Append(dst []byte, id int32) []byte {
	s := a.at[id]
	if s.val == 0 {
		return append(dst, 2)
	}
	return append(dst, a.arena[s.off:s.off+s.val]...)
}

func (a *anyValue) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		s := a.at[g]
		if s.val == 0 {
			out.AppendNull()
		} else if _, err := out.DecodeValue(a.arena[s.off : s.off+s.val]); err != nil {
			fail(k, errState)
			out.AppendNull()
		}
	}
}

func (a *anyValue) Reset() { a.at, a.arena = a.at[:0], a.arena[:0] }
