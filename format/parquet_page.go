package format

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v17/parquet"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// start begins a page whose header was read: a dictionary is read, other pages are
// made ready for read, and what is no page of values is passed over.
func (c *column) start(h *pageHeader) error {
	switch h.kind {
	case pageDictionary:
		if c.only {
			c.pages.pass(h)
			return nil
		}
		return c.dictionary(h)
	case pageData, pageDataV2:
	default:
		c.pages.pass(h)
		return nil
	}
	b, err := c.pages.body(h)
	if err != nil {
		return err
	}
	if h.values > c.toCome {
		return tooMany()
	}
	c.toCome -= h.values
	c.left = int(h.values)
	if b, err = c.levels(h, b); err != nil {
		return err
	}
	if c.only {
		return nil
	}
	// How many values there are is known from the levels when they are read.
	return c.encoding(h, b)
}

func tooMany() *sqlerr.Error { return damaged("its pages have more values than it says") }

// levels finds the levels of a page and returns what is behind them.
func (c *column) levels(h *pageHeader, b []byte) ([]byte, error) {
	if h.kind == pageDataV2 {
		c.r.reset(b[:h.repLen], levelWidth(c.t.rep))
		c.d.reset(b[h.repLen:h.repLen+h.defLen], levelWidth(c.t.def))
		return b[h.repLen+h.defLen:], nil
	}
	for _, l := range []struct {
		top int16
		enc int64
		to  *hybrid
	}{{c.t.rep, h.repEnc, &c.r}, {c.t.def, h.defEnc, &c.d}} {
		if l.top == 0 {
			continue
		}
		if l.enc != encRLE {
			return nil, sqlerr.Unsupported("the encoding %s of levels is not supported", parquet.Encoding(l.enc))
		}
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return nil, damaged("the levels of a page are longer than the page")
		}
		n := 4 + int(binary.LittleEndian.Uint32(b))
		l.to.reset(b[4:n], levelWidth(l.top))
		b = b[n:]
	}
	return b, nil
}

// encoding makes the values of a page ready.
func (c *column) encoding(h *pageHeader, b []byte) error {
	c.enc, c.page, c.bit, c.used = h.encoding, b, 0, 0
	c.ready.w32, c.ready.w64, c.ready.bs = c.ready.w32[:0], c.ready.w64[:0], nil
	most := int(h.values)
	switch c.enc {
	case encPlain:
		c.total = 8 * len(b)
		return nil
	case encPlainDictionary, encDictionary:
		if len(b) == 0 {
			c.index.reset(nil, 1) // a page of NULLs
			return nil
		}
		if b[0] > 32 {
			return damaged("the numbers of dictionary entries have %d bits", b[0])
		}
		c.index.reset(b[1:], uint(b[0]))
		return nil
	case encRLE:
		if c.t.phys == parquet.Types.Boolean && len(b) >= 4 && uint64(binary.LittleEndian.Uint32(b)) <= uint64(len(b)-4) {
			c.index.reset(b[4:4+binary.LittleEndian.Uint32(b)], 1)
			return nil
		}
		return damaged("a page of the encoding RLE is malformed")
	case encDelta:
		return c.deltaNumbers(b, most)
	case encDeltaLength:
		return c.deltaLength(b, most)
	case encDeltaBytes:
		return c.deltaBytes(b, most)
	case encStreamSplit:
		if size := c.splitSize(); size > 0 && c.t.phys != parquet.Types.Boolean && c.t.phys != parquet.Types.ByteArray &&
			c.t.phys != parquet.Types.Int96 {
			c.total = len(b) / size
			return nil
		}
	}
	return sqlerr.Unsupported("the encoding %s is not supported for %s", parquet.Encoding(c.enc), c.t.phys)
}

// dictionary reads the values that data pages name by their numbers.
func (c *column) dictionary(h *pageHeader) error {
	if h.encoding != encPlain && h.encoding != encPlainDictionary {
		return sqlerr.Unsupported("the encoding %s of a dictionary is not supported", parquet.Encoding(h.encoding))
	}
	b, err := c.pages.body(h)
	if err != nil {
		return err
	}
	if c.t.phys == parquet.Types.Boolean {
		return damaged("booleans have no dictionary")
	}
	c.page, c.dict = b, values{}
	return c.plain(&c.dict, int(h.values))
}

func (c *column) deltaNumbers(b []byte, most int) error {
	if c.t.phys != parquet.Types.Int32 && c.t.phys != parquet.Types.Int64 {
		return sqlerr.Unsupported("the encoding DELTA_BINARY_PACKED is not supported for %s", c.t.phys)
	}
	all, _, err := delta(c.ready.w64[:0], b, most)
	if err != nil {
		return err
	}
	c.ready.w64 = all
	if c.width == wide32 {
		for _, x := range all {
			c.ready.w32 = append(c.ready.w32, uint32(x))
		}
	}
	return nil
}

func (c *column) deltaLength(b []byte, most int) error {
	if c.t.phys != parquet.Types.ByteArray {
		return sqlerr.Unsupported("the encoding DELTA_LENGTH_BYTE_ARRAY is not supported for %s", c.t.phys)
	}
	vals, err := c.lengths(b, most)
	c.ready.bs = vals
	return err
}

// lengths reads lengths and then as many bytes as they say.
func (c *column) lengths(b []byte, most int) ([][]byte, error) {
	lens, b, err := delta(c.ready.w64[:0], b, most)
	c.ready.w64 = lens
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(lens))
	for i, n := range lens {
		if n > uint64(len(b)) {
			return nil, damaged("a value is longer than its page")
		}
		out[i], b = b[:n:n], b[n:]
	}
	return out, nil
}

// deltaBytes reads values of which each begins as the one before it.
func (c *column) deltaBytes(b []byte, most int) error {
	if c.width != wideBytes || c.t.phys == parquet.Types.Int96 {
		return sqlerr.Unsupported("the encoding DELTA_BYTE_ARRAY is not supported for %s", c.t.phys)
	}
	same, b, err := delta(nil, b, most)
	if err != nil {
		return err
	}
	rest, bad := c.lengths(b, most)
	if bad != nil {
		return bad
	}
	if len(rest) != len(same) {
		return damaged("values in DELTA_BYTE_ARRAY are malformed")
	}
	total := uint64(0)
	before := uint64(0)
	for i, n := range same {
		if n > before {
			return damaged("values in DELTA_BYTE_ARRAY are malformed")
		}
		before = n + uint64(len(rest[i]))
		if total += before; total > maxPage {
			return sqlerr.New(sqlerr.ProgramLimitExceeded, "the values of a page are longer than %d bytes", maxPage)
		}
		if c.t.phys == parquet.Types.FixedLenByteArray && before != uint64(c.t.size) {
			return damaged("a value of %d bytes has %d", c.t.size, before)
		}
	}
	own := make([]byte, 0, total)
	var last []byte
	for i, n := range same {
		at := len(own)
		own = append(append(own, last[:n]...), rest[i]...)
		last = own[at:len(own):len(own)]
		c.ready.bs = append(c.ready.bs, last)
	}
	return nil
}
