package format

import "github.com/streamsql/streamsql/internal/sqlerr"

// compact walks Thrift's compact encoding, in which a Parquet file describes itself
// and its pages. Nothing is believed: a length is held against the bytes that are
// there, and values lie in each other up to a depth.
type compact struct {
	b []byte
	i int
	// short: b ends within the value; bad: no bytes behind b make it good.
	short, bad bool
}

// The types of the compact encoding.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// thriftDepth bounds how deep structs, lists and maps may lie in each other.
const thriftDepth = 32

func (t *compact) ok() bool { return !t.short && !t.bad }

func (t *compact) byte() byte {
	if t.i >= len(t.b) {
		t.short = true
		return 0
	}
	t.i++
	return t.b[t.i-1]
}

func (t *compact) uvarint() uint64 {
	var x uint64
	for shift := uint(0); shift < 64; shift += 7 {
		c := t.byte()
		x |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return x
		}
	}
	t.bad = true
	return 0
}

func (t *compact) int() int64 {
	x := t.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

// pass goes n bytes on.
func (t *compact) pass(n uint64) {
	if n > uint64(len(t.b)-t.i) {
		t.short = true
		return
	}
	t.i += int(n)
}

// fields walks a struct: field is called for each and tells whether it read the
// value; what it did not read is skipped.
func (t *compact) fields(depth int, field func(id int64, typ byte) bool) {
	if depth > thriftDepth {
		t.bad = true
	}
	id := int64(0)
	for t.ok() {
		head := t.byte()
		if head == 0 || !t.ok() {
			return
		}
		if d := head >> 4; d != 0 {
			id += int64(d)
		} else {
			id = t.int()
		}
		if typ := head & 15; t.ok() && !field(id, typ) {
			t.skip(typ, depth+1)
		}
	}
}

// list reads the head of a list: the type of its elements and their number.
func (t *compact) list() (typ byte, n int) {
	head := t.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = t.uvarint()
	}
	// An element takes a byte at least.
	if size > uint64(len(t.b)-t.i) {
		t.short = true
		return 0, 0
	}
	return head & 15, int(size)
}

// skip passes a value that is not read.
func (t *compact) skip(typ byte, depth int) {
	if depth > thriftDepth {
		t.bad = true
		return
	}
	switch typ {
	case thriftTrue, thriftFalse: // in a struct its type is its value
	case thriftByte:
		t.pass(1)
	case thriftDouble:
		t.pass(8)
	case thriftBinary:
		t.pass(t.uvarint())
	case thriftList, thriftSet:
		elem, n := t.list()
		for ; n > 0 && t.ok(); n-- {
			t.element(elem, depth+1)
		}
	case thriftMap:
		n := t.uvarint()
		if n == 0 {
			return
		}
		types := t.byte()
		if n > uint64(len(t.b)-t.i) {
			t.short = true
			return
		}
		for ; n > 0 && t.ok(); n-- {
			t.element(types>>4, depth+1)
			t.element(types&15, depth+1)
		}
	case thriftStruct:
		t.fields(depth, func(int64, byte) bool { return false })
	case 4, 5, 6:
		t.uvarint()
	default:
		t.bad = true
	}
}

// element skips a value in a list or map, where a boolean takes a byte.
func (t *compact) element(typ byte, depth int) {
	if typ == thriftTrue || typ == thriftFalse {
		typ = thriftByte
	}
	t.skip(typ, depth)
}

// checkFooter tells whether b is the description of a file that can be given to the
// library: well-formed to its end, with a tree of columns of no more than parquetDepth
// levels. The library makes room for what lengths claim and follows the tree by
// recursion.
func checkFooter(b []byte) *sqlerr.Error {
	t := compact{b: b}
	open, deep, odd := []int64{1}, false, false // children to come of each node that is open
	node := func() {
		kids := int64(0)
		t.fields(2, func(id int64, typ byte) bool {
			if id != 5 || typ != 5 {
				return false
			}
			kids = t.int()
			return true
		})
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) == 0 || kids < 0 {
			odd, t.bad = true, true
			return
		}
		open[len(open)-1]--
		if open = append(open, kids); len(open) > parquetDepth {
			deep, t.bad = true, true
		}
	}
	t.fields(0, func(id int64, typ byte) bool {
		if id != 2 || typ != thriftList {
			return false
		}
		elem, n := t.list()
		if elem != thriftStruct {
			t.bad = true
		}
		for ; n > 0 && t.ok(); n-- {
			node()
		}
		return true
	})
	for _, n := range open {
		odd = odd || n != 0
	}
	switch {
	case deep:
		return sqlerr.New(sqlerr.StatementTooComplex, "its columns are nested deeper than %d levels", parquetDepth)
	case !t.ok() || odd:
		return damaged("the description at its end is malformed")
	}
	return nil
}

// pageHeader stands before each page.
type pageHeader struct {
	kind      int64
	raw, size int64 // of the page's body: uncompressed, and as it is in the file
	crc       uint32
	hasCRC    bool
	// values are a page's, NULLs among them; nulls, and what the levels take, are
	// known for the second version of data pages alone.
	values, nulls    int64
	encoding         int64
	defEnc, repEnc   int64
	defLen, repLen   int64
	packed           bool
	version2, filled bool
}

// The kinds of pages.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// parsePageHeader reads the header at the front of b; n is its length. short: b ends
// before the header.
func parsePageHeader(b []byte) (h pageHeader, n int, short, ok bool) {
	t := compact{b: b}
	h.packed = true
	nested := func(into map[int64]*int64) {
		h.filled = true
		t.fields(1, func(id int64, typ byte) bool {
			if id == 7 && h.version2 && (typ == thriftTrue || typ == thriftFalse) {
				h.packed = typ == thriftTrue
				return true
			}
			if p := into[id]; p != nil && typ == 5 {
				*p = t.int()
				return true
			}
			return false
		})
	}
	top := map[int64]*int64{1: &h.kind, 2: &h.raw, 3: &h.size}
	t.fields(0, func(id int64, typ byte) bool {
		switch p := top[id]; {
		case p != nil && typ == 5:
			*p = t.int()
		case id == 4 && typ == 5:
			h.crc, h.hasCRC = uint32(t.int()), true
		case id == 5 && typ == thriftStruct:
			nested(map[int64]*int64{1: &h.values, 2: &h.encoding, 3: &h.defEnc, 4: &h.repEnc})
		case id == 7 && typ == thriftStruct:
			nested(map[int64]*int64{1: &h.values, 2: &h.encoding})
		case id == 8 && typ == thriftStruct:
			h.version2 = true
			nested(map[int64]*int64{1: &h.values, 2: &h.nulls, 4: &h.encoding, 5: &h.defLen, 6: &h.repLen})
		default:
			return false
		}
		return true
	})
	return h, t.i, t.short, t.ok()
}
