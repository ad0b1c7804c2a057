package aggregate

import (
	"bytes"
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// extremeFixed is min or max of a fixed-width number over input without deletes.
type extremeFixed[T int16 | int32 | int64 | float32 | float64] struct {
	max   bool
	vals  func(*arrowbatch.Vec) []T
	shape arrowbatch.Shape
	set   []bool
	x     []T
}

func (e *extremeFixed[T]) Grow(n int) { e.set, e.x = grow(e.set, n), grow(e.x, n) }

// above orders as PostgreSQL does: NaN is above every number.
func above[T int16 | int32 | int64 | float32 | float64](a, b T) bool {
	return a > b || a != a && b == b
}

func (e *extremeFixed[T]) Update(ids, rows []int32, args []*arrowbatch.Vec, _ []arrowbatch.Op) {
	v := args[0]
	vals := e.vals(v)
	for k, g := range ids {
		i := row(rows, k)
		if v.IsNull(i) {
			continue
		}
		if x := vals[i]; !e.set[g] || e.max && above(x, e.x[g]) || !e.max && above(e.x[g], x) {
			e.x[g], e.set[g] = x, true
		}
	}
}

func (e *extremeFixed[T]) column(id int32) *arrowbatch.Vec {
	v := arrowbatch.NewVec(e.shape, 0)
	if e.set[id] {
		v.Resize(1)
		e.vals(v)[0] = e.x[id]
	} else {
		v.AppendNull()
	}
	return v
}

func (e *extremeFixed[T]) Merge(id int32, src []byte) ([]byte, error) {
	v := arrowbatch.NewVec(e.shape, 0)
	defer v.Release()
	rest, err := v.DecodeValue(src)
	if err != nil {
		return nil, errState
	}
	e.Update([]int32{id}, nil, []*arrowbatch.Vec{v}, nil)
	return rest, nil
}

func (e *extremeFixed[T]) Append(dst []byte, id int32) []byte {
	v := e.column(id)
	defer v.Release()
	return v.AppendValue(dst, 0)
}

func (e *extremeFixed[T]) Result(ids []int32, out *arrowbatch.Vec, _ func(int, *sqlerr.Error)) {
	from := out.N
	out.Resize(from + len(ids))
	x := e.vals(out)[from:]
	for k, g := range ids {
		x[k] = e.x[g]
		if !e.set[g] {
			out.SetNull(from + k)
		}
	}
}

func (e *extremeFixed[T]) Reset() { e.set, e.x = e.set[:0], e.x[:0] }

// extremeAny is min or max of any type over input without deletes: the key code
// decides, the value code is kept.
type extremeAny struct {
	max   bool
	shape arrowbatch.Shape
	at    []span
	arena []byte
	live  int // bytes of the arena that entries use
	key   []byte
}

// span is where an entry's key and value lie in the arena; no key: no value yet.
type span struct{ off, key, val uint32 }

func (e *extremeAny) Grow(n int) { e.at = grow(e.at, n) }

func (e *extremeAny) Update(ids, rows []int32, args []*arrowbatch.Vec, _ []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		i := row(rows, k)
		if v.IsNull(i) {
			continue
		}
		e.key = appendExtremeKey(e.key[:0], v, i, e.shape)
		s := e.at[g]
		if s.key != 0 {
			c := bytes.Compare(e.key, e.arena[s.off:s.off+s.key])
			if c == 0 || c < 0 == e.max {
				continue
			}
		}
		e.put(g, v, i)
	}
}

// appendExtremeKey appends what decides between values. Where equal values may look
// different (1.0 and 1.00), their looks decide between them, so that the result
// depends on the rows there are and not on their history.
func appendExtremeKey(dst []byte, v *arrowbatch.Vec, i int, s arrowbatch.Shape) []byte {
	dst = v.AppendKey(dst, i)
	if !s.ExactKey() {
		dst = v.AppendValue(dst, i)
	}
	return dst
}

func (e *extremeAny) put(g int32, v *arrowbatch.Vec, i int) {
	e.live -= int(e.at[g].key + e.at[g].val)
	off := len(e.arena)
	e.arena = append(e.arena, e.key...)
	e.arena = v.AppendValue(e.arena, i)
	e.at[g] = span{arrowbatch.Place(off), uint32(len(e.key)), uint32(len(e.arena) - off - len(e.key))}
	e.live += len(e.arena) - off
	if len(e.arena) > 1<<16 && len(e.arena) > 2*e.live {
		e.compact()
	}
}

func (e *extremeAny) compact() {
	na := make([]byte, 0, 2*e.live)
	for i, s := range e.at {
		if s.key != 0 {
			e.at[i].off = uint32(len(na))
			na = append(na, e.arena[s.off:s.off+s.key+s.val]...)
		}
	}
	e.arena = na
}

func (e *extremeAny) value(id int32) []byte {
	s := e.at[id]
	return e.arena[s.off+s.key : s.off+s.key+s.val]
}

func (e *extremeAny) Merge(id int32, src []byte) ([]byte, error) {
	v := arrowbatch.NewVec(e.shape, 0)
	defer v.Release()
	rest, err := v.DecodeValue(src)
	if err != nil {
		return nil, errState
	}
	e.Update([]int32{id}, nil, []*arrowbatch.Vec{v}, nil)
	return rest, nil
}

func (e *extremeAny) Append(dst []byte, id int32) []byte {
	if e.at[id].key == 0 {
		return append(dst, 0)
	}
	return append(dst, e.value(id)...)
}

func (e *extremeAny) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		if e.at[g].key == 0 {
			out.AppendNull()
		} else if _, err := out.DecodeValue(e.value(g)); err != nil {
			fail(k, errState)
			out.AppendNull()
		}
	}
}

func (e *extremeAny) Reset() { e.at, e.arena, e.live = e.at[:0], e.arena[:0], 0 }

// extremeRetract is min or max over input with deletes: each group keeps the
// multiset of its values, counted, and a heap of the distinct ones. A value whose
// count fell to 0 stays in the heap until it comes to the top.
type extremeRetract struct {
	max    bool
	shape  arrowbatch.Shape
	groups []valueHeap
	key    []byte
	held   int // bytes of the values
}

type valueHeap struct {
	byKey map[string]*counted
	heap  []*counted
}

type counted struct {
	key, val []byte
	n        int64
	queued   bool
}

func (e *extremeRetract) Grow(n int) { e.groups = grow(e.groups, n) }

func (e *extremeRetract) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		i := row(rows, k)
		if !v.IsNull(i) {
			e.add(g, v, i, sign(ops, i))
		}
	}
}

func (e *extremeRetract) add(g int32, v *arrowbatch.Vec, i int, n int64) {
	h := &e.groups[g]
	e.key = appendExtremeKey(e.key[:0], v, i, e.shape)
	c := h.byKey[string(e.key)]
	if c == nil {
		if h.byKey == nil {
			h.byKey = map[string]*counted{}
		}
		c = &counted{key: bytes.Clone(e.key), val: v.AppendValue(nil, i)}
		h.byKey[string(c.key)] = c
		e.held += c.bytes()
	}
	c.n += n
	switch {
	case c.n == 0:
		delete(h.byKey, string(c.key))
		e.held -= c.bytes()
		h.tidy(e.max)
	case !c.queued && c.n > 0:
		c.queued = true
		h.push(c, e.max)
	}
}

// bytes is about what a value takes in the map and the heap.
func (c *counted) bytes() int { return 2*len(c.key) + len(c.val) + 128 }

// tidy builds the heap anew when most of it is gone: values that never come to the
// top would stay for ever.
func (h *valueHeap) tidy(max bool) {
	if len(h.heap) < 2*len(h.byKey)+16 {
		return
	}
	clear(h.heap)
	h.heap = h.heap[:0]
	for _, c := range h.byKey {
		if c.queued = c.n > 0; c.queued {
			h.push(c, max)
		}
	}
}

func (h *valueHeap) less(a, b *counted, max bool) bool { return bytes.Compare(a.key, b.key) < 0 != max }

func (h *valueHeap) push(c *counted, max bool) {
	h.heap = append(h.heap, c)
	for i := len(h.heap) - 1; i > 0; {
		p := (i - 1) / 2
		if !h.less(h.heap[i], h.heap[p], max) {
			break
		}
		h.heap[i], h.heap[p] = h.heap[p], h.heap[i]
		i = p
	}
}

func (h *valueHeap) pop(max bool) {
	last := len(h.heap) - 1
	h.heap[0].queued = false
	h.heap[0] = h.heap[last]
	h.heap = h.heap[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return
		}
		if c+1 < last && h.less(h.heap[c+1], h.heap[c], max) {
			c++
		}
		if !h.less(h.heap[c], h.heap[i], max) {
			return
		}
		h.heap[i], h.heap[c] = h.heap[c], h.heap[i]
		i = c
	}
}

// top returns the extreme value, nil when there is none.
func (h *valueHeap) top(max bool) *counted {
	for len(h.heap) > 0 && (h.heap[0].n <= 0 || h.byKey[string(h.heap[0].key)] != h.heap[0]) {
		h.pop(max)
	}
	if len(h.heap) == 0 {
		return nil
	}
	return h.heap[0]
}

func (e *extremeRetract) Merge(id int32, src []byte) ([]byte, error) {
	n, k := binary.Uvarint(src)
	if k <= 0 {
		return nil, errState
	}
	src = src[k:]
	v := arrowbatch.NewVec(e.shape, 0)
	defer v.Release()
	var err error
	for i := range int(n) {
		if src, err = v.DecodeValue(src); err != nil {
			return nil, errState
		}
		c, k := binary.Varint(src)
		if k <= 0 {
			return nil, errState
		}
		src = src[k:]
		e.add(id, v, i, c)
	}
	return src, nil
}

func (e *extremeRetract) Append(dst []byte, id int32) []byte {
	h := &e.groups[id]
	dst = binary.AppendUvarint(dst, uint64(len(h.byKey)))
	for _, c := range h.byKey {
		dst = binary.AppendVarint(append(dst, c.val...), c.n)
	}
	return dst
}

func (e *extremeRetract) Result(ids []int32, out *arrowbatch.Vec, fail func(int, *sqlerr.Error)) {
	for k, g := range ids {
		c := e.groups[g].top(e.max)
		if c == nil {
			out.AppendNull()
		} else if _, err := out.DecodeValue(c.val); err != nil {
			fail(k, errState)
			out.AppendNull()
		}
	}
}

func (e *extremeRetract) Reset() {
	clear(e.groups)
	e.groups, e.held = e.groups[:0], 0
}
