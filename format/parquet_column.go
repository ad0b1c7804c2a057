package format

import (
	"encoding/binary"
	"slices"

	"github.com/apache/arrow/go/v17/parquet"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// The encodings of values.
const (
	encPlain           = 0
	encPlainDictionary = 2
	encRLE             = 3
	encDelta           = 5
	encDeltaLength     = 6
	encDeltaBytes      = 7
	encDictionary      = 8
	encStreamSplit     = 9
)

// values are those of a column as they are stored: booleans, 32-bit and 64-bit
// numbers as words, everything else as bytes, which lie in the memory of their pages.
type values struct {
	w32 []uint32
	w64 []uint64
	bs  [][]byte
}

// width tells which of them a column has.
type width uint8

const (
	wide32 width = iota
	wide64
	wideBytes
)

func widthOf(p parquet.Type) width {
	switch p {
	case parquet.Types.Boolean, parquet.Types.Int32, parquet.Types.Float:
		return wide32
	case parquet.Types.Int64, parquet.Types.Double:
		return wide64
	}
	return wideBytes
}

func (v *values) len(w width) int {
	switch w {
	case wide32:
		return len(v.w32)
	case wide64:
		return len(v.w64)
	}
	return len(v.bs)
}

// drop forgets the first n.
func (v *values) drop(n int, w width) {
	switch w {
	case wide32:
		v.w32 = append(v.w32[:0], v.w32[n:]...)
	case wide64:
		v.w64 = append(v.w64[:0], v.w64[n:]...)
	default:
		rest := append(v.bs[:0], v.bs[n:]...)
		clear(v.bs[len(rest):]) // lets go of their pages
		v.bs = rest
	}
}

// column reads one column of a row group: levels and values of the rows in work,
// which it keeps until they are used.
type column struct {
	t     *colType
	width width
	// only: the values are not wanted, just where there are some.
	only  bool
	pages pageReader
	dict  values
	// page is what is left of the values of the page in work, ready those that were
	// decoded all at once, of which the first used are gone.
	page        []byte
	enc         int64
	left        int   // entries of the page
	toCome      int64 // entries of the pages behind it
	ready       values
	used        int
	index, d, r hybrid
	bit, total  int // of plain booleans and of split streams: the value to read, and how many there are

	// n entries were read and not used; defs and reps are their levels, nil where the
	// column has none. vals are the values of those at the highest level.
	n          int
	defs, reps []uint8
	begun      int // the rows that begin among them
	vals       values
	// cut of these entries, with cutVals values, are the cutRows rows of the batch.
	cut, cutVals, cutRows int
	tmp                   []uint32
}

// begin goes to a row group's chunk of entries; pages is reset by the caller.
func (c *column) begin(entries int64) {
	c.toCome = entries
	c.dict, c.ready, c.page = values{}, values{}, nil
	c.left, c.used, c.n, c.begun, c.cut, c.cutVals = 0, 0, 0, 0, 0, 0
	c.defs, c.reps = c.defs[:0], c.reps[:0]
	c.vals.drop(c.vals.len(c.width), c.width)
}

// fill reads on until rows rows are there to their ends. Of lists it may read more, but
// where one row is wanted no entry behind the next row's first.
func (c *column) fill(rows int) error {
	for c.begun < rows || c.begun == rows && c.t.rep > 0 {
		if c.left == 0 {
			if c.toCome == 0 {
				if c.begun == rows {
					return nil // a list's last row ends with its chunk
				}
				return c.bad(damaged("it has %d rows too few", rows-c.begun))
			}
			if err := c.load(); err != nil {
				return c.bad(err)
			}
			continue
		}
		n := rows - c.n
		switch {
		case c.t.rep > 0 && rows > 1:
			n = max(rows, 1024)
		case c.t.rep > 0:
			n = 1
		}
		if err := c.read(min(n, c.left)); err != nil {
			return c.bad(err)
		}
	}
	return nil
}

// within returns how many of the first rows rows have at most limit bytes of values,
// one at least.
func (c *column) within(rows, limit int) int {
	if c.width != wideBytes || c.only {
		return rows
	}
	size, at := 0, 0
	for _, b := range c.vals.bs[:min(len(c.vals.bs), rows)] {
		if size += len(b); size > limit {
			break
		}
		at++
	}
	if at == min(len(c.vals.bs), rows) && c.t.rep == 0 {
		return rows
	}
	size, at = 0, 0
	row := -1
	for e := range c.n {
		if c.t.rep == 0 || c.reps[e] == 0 {
			if row++; row == rows {
				break
			}
		}
		if c.t.def == 0 || int16(c.defs[e]) == c.t.def {
			if size += len(c.vals.bs[at]); size > limit {
				return max(row, 1)
			}
			at++
		}
	}
	return rows
}

// take fixes the batch's rows: the first rows of those that are there.
func (c *column) take(rows int) {
	c.cut = rows
	if c.t.rep > 0 {
		c.cut = c.n
		if rows < c.begun {
			seen := 0
			for i, r := range c.reps {
				if r != 0 {
					continue
				}
				if seen++; seen > rows {
					c.cut = i
					break
				}
			}
		}
	}
	c.cutVals, c.cutRows = c.cut, rows
	if c.t.def > 0 {
		c.cutVals = 0
		for _, d := range c.defs[:c.cut] {
			if int16(d) == c.t.def {
				c.cutVals++
			}
		}
	}
}

// drop forgets the rows of the batch.
func (c *column) drop() {
	if len(c.defs) > 0 {
		c.defs = append(c.defs[:0], c.defs[c.cut:]...)
	}
	if len(c.reps) > 0 {
		c.reps = append(c.reps[:0], c.reps[c.cut:]...)
	}
	if !c.only {
		c.vals.drop(c.cutVals, c.width)
	}
	c.n -= c.cut
	c.begun -= c.cutRows
	c.cut, c.cutVals, c.cutRows = 0, 0, 0
}

// skip goes rows rows on, step at a time. Pages of columns without lists are not even
// uncompressed.
func (c *column) skip(rows, step int) error {
	for rows > 0 {
		if c.t.rep == 0 && c.n == 0 && c.left == 0 && c.toCome > 0 {
			h, err := c.pages.header()
			if err != nil {
				return c.bad(err)
			}
			if (h.kind == pageData || h.kind == pageDataV2) && h.values <= int64(rows) {
				if h.values > c.toCome {
					return c.bad(tooMany())
				}
				c.pages.pass(&h)
				c.toCome -= h.values
				rows -= int(h.values)
				continue
			}
			if err := c.start(&h); err != nil {
				return c.bad(err)
			}
			continue
		}
		n := min(rows, step)
		if err := c.fill(n); err != nil {
			return err
		}
		c.take(n)
		c.drop()
		rows -= n
	}
	return nil
}

// bad says which column an error is about; what the file system says is left as it is.
func (c *column) bad(err error) error {
	if e, ok := err.(*sqlerr.Error); ok {
		named := *e
		named.Message = `column "` + c.t.path + `": ` + e.Message
		return &named
	}
	return err
}

// load begins the next page.
func (c *column) load() error {
	h, err := c.pages.header()
	if err != nil {
		return err
	}
	return c.start(&h)
}

// read decodes the next n entries of the page.
func (c *column) read(n int) error {
	at, vals := c.n, n
	if c.t.rep > 0 {
		c.reps = slices.Grow(c.reps, n)[:at+n]
		if !readHybrid(&c.r, c.reps[at:]) || slices.Max(c.reps[at:]) > uint8(c.t.rep) {
			return damaged("the levels of a page are malformed")
		}
		if c.begun == 0 && c.reps[0] != 0 {
			return damaged("it begins within a row")
		}
		for _, r := range c.reps[at:] {
			if r == 0 {
				c.begun++
			}
		}
	} else {
		c.begun += n
	}
	if c.t.def > 0 {
		c.defs = slices.Grow(c.defs, n)[:at+n]
		if !readHybrid(&c.d, c.defs[at:]) {
			return damaged("the levels of a page are malformed")
		}
		vals = 0
		for _, d := range c.defs[at:] {
			switch {
			case int16(d) == c.t.def:
				vals++
			case int16(d) > c.t.def:
				return damaged("the levels of a page are malformed")
			}
		}
	}
	c.n += n
	c.left -= n
	if c.only {
		return nil
	}
	return c.values(vals)
}

// values decodes the next n values of the page.
func (c *column) values(n int) error {
	switch c.enc {
	case encPlain:
		return c.plain(&c.vals, n)
	case encPlainDictionary, encDictionary:
		c.tmp = slices.Grow(c.tmp[:0], n)[:n]
		if !readHybrid(&c.index, c.tmp) {
			return damaged("a page has fewer values than it says")
		}
		return c.entries(c.tmp)
	case encRLE:
		c.tmp = slices.Grow(c.tmp[:0], n)[:n]
		if !readHybrid(&c.index, c.tmp) {
			return damaged("a page has fewer values than it says")
		}
		c.vals.w32 = append(c.vals.w32, c.tmp...)
		return nil
	case encStreamSplit:
		return c.split(n)
	}
	if n > c.ready.len(c.width)-c.used {
		return damaged("a page has fewer values than it says")
	}
	lo, hi := c.used, c.used+n
	switch c.width {
	case wide32:
		c.vals.w32 = append(c.vals.w32, c.ready.w32[lo:hi]...)
	case wide64:
		c.vals.w64 = append(c.vals.w64, c.ready.w64[lo:hi]...)
	default:
		c.vals.bs = append(c.vals.bs, c.ready.bs[lo:hi]...)
	}
	c.used = hi
	return nil
}

// entries appends those of the dictionary.
func (c *column) entries(index []uint32) error {
	bad := damaged("a page has values that are not in the dictionary")
	switch c.width {
	case wide32:
		at := len(c.vals.w32)
		c.vals.w32 = slices.Grow(c.vals.w32, len(index))[:at+len(index)]
		return gather(c.vals.w32[at:], c.dict.w32, index, bad)
	case wide64:
		at := len(c.vals.w64)
		c.vals.w64 = slices.Grow(c.vals.w64, len(index))[:at+len(index)]
		return gather(c.vals.w64[at:], c.dict.w64, index, bad)
	}
	at := len(c.vals.bs)
	c.vals.bs = slices.Grow(c.vals.bs, len(index))[:at+len(index)]
	return gather(c.vals.bs[at:], c.dict.bs, index, bad)
}

func gather[T any](dst, dict []T, index []uint32, bad error) error {
	for i, k := range index {
		if uint64(k) >= uint64(len(dict)) {
			return bad
		}
		dst[i] = dict[k]
	}
	return nil
}

// plain appends n values as they lie in the page.
func (c *column) plain(to *values, n int) error {
	short := damaged("a page has fewer values than it says")
	switch c.t.phys {
	case parquet.Types.Boolean:
		if c.bit+n > c.total {
			return short
		}
		at := len(to.w32)
		to.w32 = slices.Grow(to.w32, n)[:at+n]
		unpack(to.w32[at:], c.page, c.bit, 1)
		c.bit += n
	case parquet.Types.Int32, parquet.Types.Float:
		if n > len(c.page)/4 {
			return short
		}
		at := len(to.w32)
		to.w32 = slices.Grow(to.w32, n)[:at+n]
		for i, b := 0, c.page; i < n; i, b = i+1, b[4:] {
			to.w32[at+i] = binary.LittleEndian.Uint32(b)
		}
		c.page = c.page[4*n:]
	case parquet.Types.Int64, parquet.Types.Double:
		if n > len(c.page)/8 {
			return short
		}
		at := len(to.w64)
		to.w64 = slices.Grow(to.w64, n)[:at+n]
		for i, b := 0, c.page; i < n; i, b = i+1, b[8:] {
			to.w64[at+i] = binary.LittleEndian.Uint64(b)
		}
		c.page = c.page[8*n:]
	case parquet.Types.ByteArray:
		for ; n > 0; n-- {
			if len(c.page) < 4 {
				return short
			}
			k := binary.LittleEndian.Uint32(c.page)
			if uint64(k) > uint64(len(c.page)-4) {
				return damaged("a value is longer than its page")
			}
			to.bs = append(to.bs, c.page[4:4+k:4+k])
			c.page = c.page[4+k:]
		}
	default:
		size := c.t.size
		if size <= 0 || n > len(c.page)/size {
			return short
		}
		for ; n > 0; n-- {
			to.bs = append(to.bs, c.page[:size:size])
			c.page = c.page[size:]
		}
	}
	return nil
}

// split appends n values whose bytes are spread over as many streams.
func (c *column) split(n int) error {
	size := c.splitSize()
	if c.bit+n > c.total {
		return damaged("a page has fewer values than it says")
	}
	var own []byte
	if c.width == wideBytes {
		own = make([]byte, n*size)
	}
	for i := range n {
		at := c.bit + i
		switch c.width {
		case wide32:
			var x uint32
			for k := range 4 {
				x |= uint32(c.page[k*c.total+at]) << (8 * k)
			}
			c.vals.w32 = append(c.vals.w32, x)
		case wide64:
			var x uint64
			for k := range 8 {
				x |= uint64(c.page[k*c.total+at]) << (8 * k)
			}
			c.vals.w64 = append(c.vals.w64, x)
		default:
			b := own[i*size : (i+1)*size : (i+1)*size]
			for k := range b {
				b[k] = c.page[k*c.total+at]
			}
			c.vals.bs = append(c.vals.bs, b)
		}
	}
	c.bit += n
	return nil
}

func (c *column) splitSize() int {
	switch c.width {
	case wide32:
		return 4
	case wide64:
		return 8
	}
	return c.t.size
}
