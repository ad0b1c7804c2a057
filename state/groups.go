package state

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/streamsql/streamsql/arrowbatch"
)

// Groups numbers the distinct keys of a table's rows: 0, 1, 2, … in order of
// first appearance. It holds no pointer per key: an open-addressing table of
// 8-byte slots (hash tag and group number) over a flat array or an arena of keys.
//
// The kind of key is chosen by the key columns: one column of at most 8 bytes is
// kept as an integer, one column of bytes as it is, anything else in the key code.
type Groups struct {
	shapes []arrowbatch.Shape
	kind   keyKind
	slots  []uint64 // upper half: hash tag, lower half: group number + 1
	mask   uint64
	n      int
	ints   []uint64 // kindInt: the key of each group
	hashes []uint32 // other kinds: upper half of each group's hash
	lows   []uint32 // other kinds: lower half
	offs   []uint32 // other kinds: offsets in arena
	arena  []byte
	null   int32 // kindInt, kindBytes: the group of NULL, -1 for none
	gone   map[int32]struct{}

	enc []byte // scratch
}

type keyKind uint8

const (
	kindNone  keyKind = iota // no key columns: one group
	kindInt                  // one column of up to 8 bytes
	kindBytes                // one column of bytes
	kindCode                 // the key code
)

const minSlots = 64

// NewGroups returns an empty table for key columns of the given shapes.
func NewGroups(shapes []arrowbatch.Shape) *Groups {
	g := &Groups{shapes: shapes, kind: kindCode, null: -1}
	switch {
	case len(shapes) == 0:
		g.kind = kindNone
	case len(shapes) > 1:
	case shapes[0].Layout == arrowbatch.Bytes:
		g.kind = kindBytes
	case shapes[0].Layout == arrowbatch.Int16, shapes[0].Layout == arrowbatch.Int32, shapes[0].Layout == arrowbatch.Int64:
		g.kind = kindInt
	}
	g.setSlots(minSlots)
	g.offs = append(g.offs, 0)
	return g
}

func (g *Groups) setSlots(n int) {
	g.slots = make([]uint64, n)
	g.mask = uint64(n - 1)
}

// Shapes are those of the key columns.
func (g *Groups) Shapes() []arrowbatch.Shape { return g.shapes }

// Len returns the number of groups.
func (g *Groups) Len() int { return g.n }

// Bytes returns the memory held.
func (g *Groups) Bytes() int {
	return cap(g.slots)*8 + cap(g.ints)*8 + (cap(g.hashes)+cap(g.lows)+cap(g.offs))*4 + cap(g.arena)
}

// Reset forgets all groups and keeps the memory, unless it is much more than
// what was used.
func (g *Groups) Reset() {
	if len(g.slots) > 1<<16 && g.n < len(g.slots)/16 {
		g.setSlots(max(minSlots, 1<<bits.Len(uint(2*g.n))))
	} else {
		clear(g.slots)
	}
	g.n, g.null, g.gone = 0, -1, nil
	g.ints, g.hashes, g.lows, g.offs = g.ints[:0], g.hashes[:0], g.lows[:0], g.offs[:1]
	g.arena = g.arena[:0]
}

// Lookup sets ids[k] to the group of row rows[k] of the key columns, adding the
// groups that are new. rows nil: rows 0 to len(ids)-1.
func (g *Groups) Lookup(cols []*arrowbatch.Vec, rows []int32, ids []int32) {
	switch g.kind {
	case kindNone:
		if g.n == 0 && len(ids) > 0 {
			g.n = 1
		}
		clear(ids)
	case kindInt:
		g.lookupInts(cols[0], rows, ids)
	case kindBytes:
		g.lookupBytes(cols[0], rows, ids)
	default:
		for k := range ids {
			i := k
			if rows != nil {
				i = int(rows[k])
			}
			g.enc = g.enc[:0]
			for _, c := range cols {
				g.enc = c.AppendKey(g.enc, i)
			}
			ids[k] = g.find(g.enc, xxh3.Hash(g.enc))
		}
	}
}

func (g *Groups) lookupInts(v *arrowbatch.Vec, rows []int32, ids []int32) {
	switch v.Layout {
	case arrowbatch.Int16:
		lookupInts(g, v, v.I16, rows, ids)
	case arrowbatch.Int32:
		lookupInts(g, v, v.I32, rows, ids)
	default:
		lookupInts(g, v, v.I64, rows, ids)
	}
}

func lookupInts[T int16 | int32 | int64](g *Groups, v *arrowbatch.Vec, vals []T, rows []int32, ids []int32) {
	if v.Valid == nil && rows == nil {
		for k, x := range vals[:len(ids)] {
			ids[k] = g.findInt(uint64(int64(x)))
		}
		return
	}
	for k := range ids {
		i := k
		if rows != nil {
			i = int(rows[k])
		}
		if v.IsNull(i) {
			ids[k] = g.findNull()
			continue
		}
		ids[k] = g.findInt(uint64(int64(vals[i])))
	}
}

func (g *Groups) findNull() int32 {
	if g.null < 0 {
		g.null = int32(g.n)
		g.n++
		if g.kind == kindInt {
			g.ints = append(g.ints, 0)
		} else {
			g.pushKey(nil, 0)
		}
	}
	return g.null
}

// hashInt mixes an integer so that both halves of the result are well spread.
func hashInt(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9E3779B97F4A7C15, 0xA0761D6478BD642F)
	return hi ^ lo
}

func (g *Groups) findInt(x uint64) int32 {
	h := hashInt(x)
	tag := h &^ 0xFFFFFFFF
	p := h & g.mask
	for {
		s := g.slots[p]
		if s == 0 {
			return g.addInt(x, h, p)
		}
		if s&^0xFFFFFFFF == tag {
			if i := uint32(s) - 1; g.ints[i] == x {
				return int32(i)
			}
		}
		p = (p + 1) & g.mask
	}
}

func (g *Groups) addInt(x, h, p uint64) int32 {
	id := g.n
	g.n++
	g.ints = append(g.ints, x)
	g.slots[p] = h&^0xFFFFFFFF | uint64(id+1)
	if uint64(g.n)*10 > g.mask*7 {
		g.setSlots(2 * len(g.slots))
		for i, y := range g.ints {
			if int32(i) != g.null && !g.removed(int32(i)) {
				g.place(hashInt(y), i)
			}
		}
	}
	return int32(id)
}

func (g *Groups) place(h uint64, id int) {
	p := h & g.mask
	for g.slots[p] != 0 {
		p = (p + 1) & g.mask
	}
	g.slots[p] = h&^0xFFFFFFFF | uint64(id+1)
}

func (g *Groups) lookupBytes(v *arrowbatch.Vec, rows []int32, ids []int32) {
	for k := range ids {
		i := k
		if rows != nil {
			i = int(rows[k])
		}
		if v.IsNull(i) {
			ids[k] = g.findNull()
			continue
		}
		b := v.Data[v.Off[i]:v.Off[i+1]]
		ids[k] = g.find(b, xxh3.Hash(b))
	}
}

func (g *Groups) find(key []byte, h uint64) int32 {
	tag := h &^ 0xFFFFFFFF
	p := h & g.mask
	for {
		s := g.slots[p]
		if s == 0 {
			break
		}
		if s&^0xFFFFFFFF == tag {
			i := uint32(s) - 1
			if bytes.Equal(g.arena[g.offs[i]:g.offs[i+1]], key) {
				return int32(i)
			}
		}
		p = (p + 1) & g.mask
	}
	id := g.n
	g.n++
	g.slots[p] = tag | uint64(id+1)
	g.pushKey(key, h)
	if uint64(g.n)*10 > g.mask*7 {
		g.setSlots(2 * len(g.slots))
		for i, hi := range g.hashes {
			if int32(i) != g.null && !g.removed(int32(i)) {
				g.place(uint64(hi)<<32|uint64(g.lows[i]), i)
			}
		}
	}
	return int32(id)
}

func (g *Groups) pushKey(key []byte, h uint64) {
	g.hashes = append(g.hashes, uint32(h>>32))
	g.lows = append(g.lows, uint32(h))
	g.arena = append(g.arena, key...)
	g.offs = append(g.offs, arrowbatch.Place(len(g.arena)))
}

// AppendKey appends the key code of group id.
func (g *Groups) AppendKey(dst []byte, id int32) []byte {
	const value, null = 0x01, 0x02
	switch g.kind {
	case kindNone:
		return dst
	case kindCode:
		return append(dst, g.arena[g.offs[id]:g.offs[id+1]]...)
	}
	if id == g.null {
		return append(dst, null)
	}
	dst = append(dst, value)
	if g.kind == kindBytes {
		for _, c := range g.arena[g.offs[id]:g.offs[id+1]] {
			if dst = append(dst, c); c == 0 {
				dst = append(dst, 0xFF)
			}
		}
		return append(dst, 0, 1)
	}
	switch g.shapes[0].Layout {
	case arrowbatch.Int16:
		return binary.BigEndian.AppendUint16(dst, uint16(g.ints[id])^1<<15)
	case arrowbatch.Int32:
		return binary.BigEndian.AppendUint32(dst, uint32(g.ints[id])^1<<31)
	}
	return binary.BigEndian.AppendUint64(dst, g.ints[id]^1<<63)
}

// AppendColumns appends the key values of the groups ids to the columns, one per
// key column.
func (g *Groups) AppendColumns(out []*arrowbatch.Vec, ids []int32) error {
	switch g.kind {
	case kindNone:
		return nil
	case kindInt:
		g.appendInts(out[0], ids)
		return nil
	case kindBytes:
		for _, id := range ids {
			if id == g.null {
				out[0].AppendNull()
			} else {
				out[0].AppendBytes(g.arena[g.offs[id]:g.offs[id+1]])
			}
		}
		return nil
	}
	for _, id := range ids {
		key := g.arena[g.offs[id]:g.offs[id+1]]
		var err error
		for _, v := range out {
			if key, err = v.DecodeKey(key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Groups) appendInts(v *arrowbatch.Vec, ids []int32) {
	for _, id := range ids {
		if id == g.null {
			v.AppendNull()
			continue
		}
		x := g.ints[id]
		switch v.Layout {
		case arrowbatch.Int16:
			v.AppendInt16(int16(x))
		case arrowbatch.Int32:
			v.AppendInt32(int32(x))
		default:
			v.AppendInt64(int64(x))
		}
	}
}

// AddKey returns the group of a key in the key code, added if new, and what
// follows the key in src.
func (g *Groups) AddKey(src []byte) (id int32, rest []byte, err error) {
	if g.kind == kindNone {
		g.n = 1
		return 0, src, nil
	}
	cols := make([]*arrowbatch.Vec, len(g.shapes))
	rest = src
	for i, s := range g.shapes {
		cols[i] = arrowbatch.NewVec(s, 0)
		defer cols[i].Release()
		if rest, err = cols[i].DecodeKey(rest); err != nil {
			return 0, nil, err
		}
	}
	ids := [1]int32{}
	g.Lookup(cols, nil, ids[:])
	return ids[0], rest, nil
}

// HashKeys sets out[i] to a hash of row i's key that is the same in every run: it
// decides vnodes.
func HashKeys(cols []*arrowbatch.Vec, n int, out []uint64) {
	var enc []byte
	for i := range n {
		enc = enc[:0]
		for _, c := range cols {
			enc = c.AppendKey(enc, i)
		}
		out[i] = xxh3.Hash(enc)
	}
}

// Vnodes is the number of virtual nodes that keys are spread over, fixed for
// ever: parallel tasks own ranges of them.
const Vnodes = 256

// VnodeOf returns the virtual node of a key in the key code.
func VnodeOf(key []byte) byte { return byte(xxh3.Hash(key) >> 56) }

// VnodeOfHash returns the virtual node of a key whose HashKeys hash is h.
func VnodeOfHash(h uint64) byte { return byte(h >> 56) }

// Find is Lookup without adding: ids[k] is -1 where the key is not there. Key
// columns must not be of kind none.
func (g *Groups) Find(cols []*arrowbatch.Vec, rows []int32, ids []int32) {
	for k := range ids {
		i := k
		if rows != nil {
			i = int(rows[k])
		}
		switch {
		case g.kind == kindCode:
			g.enc = g.enc[:0]
			for _, c := range cols {
				g.enc = c.AppendKey(g.enc, i)
			}
			ids[k] = g.seek(g.enc)
		case cols[0].IsNull(i):
			ids[k] = g.null
		case g.kind == kindBytes:
			ids[k] = g.seek(cols[0].BytesAt(i))
		default:
			ids[k] = g.seekInt(intAt(cols[0], i))
		}
	}
}

func intAt(v *arrowbatch.Vec, i int) uint64 {
	switch v.Layout {
	case arrowbatch.Int16:
		return uint64(int64(v.I16[i]))
	case arrowbatch.Int32:
		return uint64(int64(v.I32[i]))
	}
	return uint64(v.I64[i])
}

func (g *Groups) seekInt(x uint64) int32 {
	h := hashInt(x)
	for p := h & g.mask; g.slots[p] != 0; p = (p + 1) & g.mask {
		if i := uint32(g.slots[p]) - 1; g.slots[p]&^0xFFFFFFFF == h&^0xFFFFFFFF && g.ints[i] == x {
			return int32(i)
		}
	}
	return -1
}

func (g *Groups) seek(key []byte) int32 {
	h := xxh3.Hash(key)
	for p := h & g.mask; g.slots[p] != 0; p = (p + 1) & g.mask {
		i := uint32(g.slots[p]) - 1
		if g.slots[p]&^0xFFFFFFFF == h&^0xFFFFFFFF && bytes.Equal(g.arena[g.offs[i]:g.offs[i+1]], key) {
			return int32(i)
		}
	}
	return -1
}
