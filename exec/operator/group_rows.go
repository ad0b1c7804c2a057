package operator

import (
	"bytes"
	"slices"
	"sort"
)

// topRow is a row of a group with its copies: n in the input, and out in the
// output, of which the first was given with the rank at.
type topRow struct {
	off, size, ord uint32 // the key in the arena; its first ord bytes are the order
	saving, stored bool   // changed since the last barrier; in the store
	n, out, at     int64
}

// topChunk is a run of rows in order, their keys in one arena.
type topChunk struct {
	rows   []topRow
	arena  []byte
	dead   int  // bytes of the arena that no row uses
	saving bool // a row has saving set
}

// topRows are the rows of a group, in order: by the code of ORDER BY and then by
// the code of the row. They are kept in chunks, so that a row is put in or taken out
// at the cost of a chunk, however many there are; a few rows are one chunk.
type topRows struct{ chunks []topChunk }

// A chunk is cut in two at a number of rows, or of bytes, since a row's place in the
// arena has 32 bits.
const (
	chunkMax      = 512
	chunkMaxBytes = 1 << 26
)

func (c *topChunk) key(i int) []byte {
	r := &c.rows[i]
	return c.arena[r.off : r.off+r.size]
}

// order is the part of a row's key that ranks it.
func (c *topChunk) order(i int) []byte {
	r := &c.rows[i]
	return c.arena[r.off : r.off+r.ord]
}

// search finds where a key is, or where it belongs.
func (l *topRows) search(key []byte) (k, i int, found bool) {
	k = sort.Search(len(l.chunks), func(k int) bool {
		c := &l.chunks[k]
		return bytes.Compare(c.key(len(c.rows)-1), key) >= 0
	})
	if k == len(l.chunks) {
		if k == 0 {
			return 0, 0, false
		}
		k--
		return k, len(l.chunks[k].rows), false
	}
	c := &l.chunks[k]
	i = sort.Search(len(c.rows), func(i int) bool { return bytes.Compare(c.key(i), key) >= 0 })
	return k, i, bytes.Equal(c.key(i), key)
}

// at returns the row of a key, made if it is not found, and where it is.
func (l *topRows) at(key []byte, ord int) (r *topRow, k, i int, found bool) {
	if k, i, found = l.search(key); found {
		return &l.chunks[k].rows[i], k, i, true
	}
	if len(l.chunks) == 0 {
		l.chunks = append(l.chunks, topChunk{})
	}
	if c := &l.chunks[k]; len(c.rows) >= chunkMax || len(c.rows) > 1 && len(c.arena)+len(key) > chunkMaxBytes {
		l.cut(k)
		if half := len(l.chunks[k].rows); i > half {
			k, i = k+1, i-half
		}
	}
	c := &l.chunks[k]
	c.rows = slices.Insert(c.rows, i, topRow{off: uint32(len(c.arena)), size: uint32(len(key)), ord: uint32(ord)})
	c.arena = append(c.arena, key...)
	return &c.rows[i], k, i, false
}

// cut makes two chunks of one.
func (l *topRows) cut(k int) {
	c := &l.chunks[k]
	half := len(c.rows) / 2
	upper := topChunk{rows: slices.Clone(c.rows[half:]), arena: c.arena, saving: c.saving}
	c.rows = slices.Clone(c.rows[:half])
	upper.compact()
	c.compact()
	l.chunks = slices.Insert(l.chunks, k+1, upper)
}

// compact makes an arena of the keys that are in use.
func (c *topChunk) compact() {
	n := 0
	for i := range c.rows {
		n += int(c.rows[i].size)
	}
	arena := make([]byte, 0, n+n/4)
	for i := range c.rows {
		at := uint32(len(arena))
		arena = append(arena, c.key(i)...)
		c.rows[i].off = at
	}
	c.arena, c.dead = arena, 0
}

// remove takes a row out.
func (l *topRows) remove(k, i int) {
	c := &l.chunks[k]
	c.dead += int(c.rows[i].size)
	c.rows = slices.Delete(c.rows, i, i+1)
	switch {
	case len(c.rows) == 0:
		l.chunks = slices.Delete(l.chunks, k, k+1)
	case len(c.rows) < chunkMax/8 && k+1 < len(l.chunks) && len(l.chunks[k+1].rows) < chunkMax/2:
		l.join(k)
	case c.dead > 256 && c.dead > len(c.arena)/2:
		c.compact()
	}
}

// join puts the rows of the next chunk into chunk k.
func (l *topRows) join(k int) {
	c, next := &l.chunks[k], &l.chunks[k+1]
	if len(c.arena)+len(next.arena) > chunkMaxBytes {
		return
	}
	at := uint32(len(c.arena))
	c.arena = append(c.arena, next.arena...)
	for _, r := range next.rows {
		r.off += at
		c.rows = append(c.rows, r)
	}
	c.dead += next.dead
	c.saving = c.saving || next.saving
	l.chunks = slices.Delete(l.chunks, k+1, k+2)
}

// last returns the place of the last row; there must be one.
func (l *topRows) last() (c *topChunk, i int) {
	c = &l.chunks[len(l.chunks)-1]
	return c, len(c.rows) - 1
}

// before returns the place before another one.
func (l *topRows) before(k, i int) (int, int, bool) {
	if i > 0 {
		return k, i - 1, true
	}
	if k > 0 {
		return k - 1, len(l.chunks[k-1].rows) - 1, true
	}
	return 0, 0, false
}

// after returns the place after another one.
func (l *topRows) after(k, i int) (int, int, bool) {
	if i+1 < len(l.chunks[k].rows) {
		return k, i + 1, true
	}
	return k + 1, 0, k+1 < len(l.chunks)
}

// topRowBytes is the memory of a row without its key.
const topRowBytes = 40
