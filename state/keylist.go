package state

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/zeebo/xxh3"
)

// KeyList holds stored keys of a table, to be read or written in their order: the store
// takes a sorted batch at a fraction of the cost of another one, and finds keys faster
// one behind the other. All begin with one prefix, then comes the vnode.
type KeyList struct {
	prefix []byte
	arena  []byte // what follows the prefix, one behind another
	refs   []keyRef
	sorted []keyRef
	key    []byte
}

// keyRef is a key: where it ends in the arena, where it begins, and the bytes that
// mostly decide the order.
type keyRef struct {
	head     uint64
	off, end int
	id       int32
	vnode    byte
}

// Begin empties the list. What it held is given up if it was large.
func (l *KeyList) Begin(prefix []byte) {
	if cap(l.arena) > 1<<24 {
		*l = KeyList{}
	}
	l.prefix = append(l.prefix[:0], prefix...)
	l.arena, l.refs = l.arena[:0], l.refs[:0]
}

// Len is the number of keys.
func (l *KeyList) Len() int { return len(l.refs) }

// Add adds the key of group id of g: its vnode and its key code.
func (l *KeyList) Add(g *Groups, id int32) {
	off := len(l.arena)
	l.arena = g.AppendKey(append(l.arena, 0), id)
	l.arena[off] = byte(xxh3.Hash(l.arena[off+1:]) >> 56)
	l.end(off, id)
}

// AddKey adds a key by what follows the prefix, of at least the vnode's byte. It stands
// for id.
func (l *KeyList) AddKey(id int32, suffix []byte) {
	off := len(l.arena)
	l.arena = append(l.arena, suffix...)
	l.end(off, id)
}

func (l *KeyList) end(off int, id int32) {
	r := keyRef{off: off, end: len(l.arena), id: id, vnode: l.arena[off]}
	r.head = headOf(l.arena[off+1:])
	l.refs = append(l.refs, r)
}

// headOf is a number that orders most keys as they are ordered: those with the same one
// must be compared. The first byte tells NULL from values and is nearly always the same.
func headOf(key []byte) uint64 {
	const value = 0x01
	switch {
	case len(key) == 0 || key[0] < value:
		return 0
	case key[0] > value:
		return math.MaxUint64
	case len(key) > 8:
		return binary.BigEndian.Uint64(key[1:])
	}
	var b [8]byte
	copy(b[:], key[1:])
	return binary.BigEndian.Uint64(b[:])
}

// Sort puts the keys into ascending order.
func (l *KeyList) Sort() {
	var at [Vnodes + 1]int
	for i := range l.refs {
		at[int(l.refs[i].vnode)+1]++
	}
	for v := range Vnodes {
		at[v+1] += at[v]
	}
	begin := at
	l.sorted = slices.Grow(l.sorted[:0], len(l.refs))[:len(l.refs)]
	for i := range l.refs {
		r := &l.refs[i]
		l.sorted[at[r.vnode]] = *r
		at[r.vnode]++
	}
	l.refs, l.sorted = l.sorted, l.refs
	for v := range Vnodes {
		slices.SortFunc(l.refs[begin[v]:begin[v+1]], func(a, b keyRef) int {
			switch {
			case a.head < b.head:
				return -1
			case a.head > b.head:
				return 1
			}
			return bytes.Compare(l.arena[a.off:a.end], l.arena[b.off:b.end])
		})
	}
}

// ID is what key k stands for.
func (l *KeyList) ID(k int) int32 { return l.refs[k].id }

// Suffix is key k without the prefix. It is valid until the next Begin.
func (l *KeyList) Suffix(k int) []byte { return l.arena[l.refs[k].off:l.refs[k].end] }

// Key is key k. It is valid until the next call.
func (l *KeyList) Key(k int) []byte {
	l.key = append(append(l.key[:0], l.prefix...), l.Suffix(k)...)
	return l.key
}
