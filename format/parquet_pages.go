package format

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	// maxPage bounds a page's bytes, compressed or not: what is in memory of a column
	// chunk at least. Writers make pages of about 1 MB.
	maxPage = 256 << 20
	// maxHeader bounds the header of a page, which may hold statistics.
	maxHeader = 16 << 20
	// windowSize is what is read of a column chunk at once.
	windowSize = 64 << 10
	// lz4Raw is a compression that the library has no name for.
	lz4Raw = compress.Compression(7)
)

// damaged is the error of a file that is not what the format says.
func damaged(msg string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.DataCorrupted, msg, args...)
}

// pageReader reads the pages of one column chunk, one after the other.
type pageReader struct {
	r     io.ReaderAt
	at    int64 // in the file, of what is behind the window
	left  int64 // of the chunk, behind the window
	codec compress.Compression
	zstd  **zstd.Decoder // the file's, made when it is needed
	// window[lo:hi] was read and not used.
	window []byte
	lo, hi int
}

// reset begins a chunk.
func (p *pageReader) reset(r io.ReaderAt, at, size int64, codec compress.Compression, z **zstd.Decoder) {
	p.r, p.at, p.left, p.codec, p.zstd = r, at, size, codec, z
	p.lo, p.hi = 0, 0
}

// peek returns the next n bytes, or as many as the chunk has.
func (p *pageReader) peek(n int) ([]byte, error) {
	if have := p.hi - p.lo; have >= n || p.left == 0 {
		return p.window[p.lo:min(p.hi, p.lo+n)], nil
	}
	if want := max(n, windowSize); len(p.window) < want {
		w := make([]byte, want)
		copy(w, p.window[p.lo:p.hi])
		p.window, p.lo, p.hi = w, 0, p.hi-p.lo
	} else {
		copy(p.window, p.window[p.lo:p.hi])
		p.lo, p.hi = 0, p.hi-p.lo
	}
	// The window may be large because a page was: no more is read than is asked for.
	free := p.window[p.hi:max(n, min(p.hi+windowSize, len(p.window)))]
	free = free[:min(int64(len(free)), p.left)]
	k, err := p.r.ReadAt(free, p.at)
	p.hi, p.at, p.left = p.hi+k, p.at+int64(k), p.left-int64(k)
	switch {
	case k == len(free):
	case err == nil || errors.Is(err, io.EOF):
		return nil, damaged("the file ends within a column")
	default:
		return nil, err
	}
	return p.window[p.lo:min(p.hi, p.lo+n)], nil
}

// header reads the header of the next page.
func (p *pageReader) header() (h pageHeader, err error) {
	for n := 256; ; n *= 8 {
		b, err := p.peek(n)
		if err != nil {
			return h, err
		}
		if len(b) == 0 {
			return h, damaged("it has fewer values than it says")
		}
		h, size, short, ok := parsePageHeader(b)
		switch {
		case ok:
			p.lo += size
			return h, p.check(&h)
		case short && len(b) == n && n < maxHeader:
			continue
		}
		return h, damaged("the header of a page is malformed")
	}
}

func (p *pageReader) check(h *pageHeader) error {
	rest := p.left + int64(p.hi-p.lo)
	switch {
	case h.raw < 0 || h.size < 0 || h.values < 0 || h.nulls < 0 || h.nulls > h.values || h.defLen < 0 || h.repLen < 0 ||
		!h.filled && (h.kind == pageData || h.kind == pageDictionary || h.kind == pageDataV2) ||
		h.version2 != (h.kind == pageDataV2):
		return damaged("the header of a page is malformed")
	case h.size > rest:
		return damaged("a page of %d bytes is longer than the rest of its column, %d bytes", h.size, rest)
	case h.raw > maxPage || h.size > maxPage:
		return sqlerr.New(sqlerr.ProgramLimitExceeded, "a page is longer than %d bytes", maxPage)
	case h.defLen+h.repLen > min(h.raw, h.size):
		return damaged("the levels of a page are longer than the page")
	}
	return nil
}

// pass goes over a page's body.
func (p *pageReader) pass(h *pageHeader) {
	n := min(h.size, int64(p.hi-p.lo))
	p.lo += int(n)
	p.at += h.size - n
	p.left -= h.size - n
}

// body reads and uncompresses a page's body. The bytes are nobody else's.
func (p *pageReader) body(h *pageHeader) ([]byte, error) {
	src, err := p.peek(int(h.size))
	if err != nil {
		return nil, err
	}
	if len(src) < int(h.size) {
		return nil, damaged("the column ends within a page")
	}
	p.lo += int(h.size)
	if h.hasCRC && crc32.ChecksumIEEE(src) != h.crc {
		return nil, damaged("the checksum of a page is wrong")
	}
	dst := make([]byte, h.raw)
	if h.kind == pageDataV2 {
		// The levels are never compressed.
		n := h.defLen + h.repLen
		copy(dst, src[:n])
		if !h.packed {
			if h.size != h.raw {
				return nil, damaged("a page of %d bytes has %d", h.raw, h.size)
			}
			copy(dst[n:], src[n:])
			return dst, nil
		}
		if int64(len(dst)) == n {
			return dst, nil // some writers compress nothing into a few bytes, some into none
		}
		return dst, p.unpack(dst[n:], src[n:])
	}
	return dst, p.unpack(dst, src)
}

// unpack uncompresses src into dst, which it must fill.
func (p *pageReader) unpack(dst, src []byte) error {
	switch p.codec {
	case compress.Codecs.Uncompressed:
		if len(src) != len(dst) {
			return damaged("a page of %d bytes has %d", len(dst), len(src))
		}
		copy(dst, src)
		return nil
	case compress.Codecs.Snappy:
		// The library makes room for what the block claims.
		if n, k := binary.Uvarint(src); k <= 0 || n != uint64(len(dst)) {
			return damaged("a page of %d bytes does not have them", len(dst))
		}
	case compress.Codecs.Zstd:
		return p.unpackZstd(dst, src)
	case lz4Raw:
		if n, err := lz4.UncompressBlock(src, dst); err != nil || n != len(dst) {
			return damaged("a page cannot be uncompressed: LZ4")
		}
		return nil
	case compress.Codecs.Gzip, compress.Codecs.Brotli:
	default:
		return sqlerr.Unsupported("the compression %s is not supported", strings.ToUpper(p.codec.String())).
			WithHint("Supported are NONE, SNAPPY, GZIP, BROTLI, ZSTD and LZ4_RAW.")
	}
	codec, err := compress.GetCodec(p.codec)
	if err != nil {
		return sqlerr.Wrap(err, sqlerr.FeatureNotSupported, "the compression is not supported")
	}
	var out []byte
	// It panics at what it cannot read.
	if err := spawn.Call("uncompress", func() error { out = codec.Decode(dst, src); return nil }); err != nil {
		return damaged("a page cannot be uncompressed: %s", p.codec)
	}
	if len(out) != len(dst) {
		return damaged("a page of %d bytes has %d", len(dst), len(out))
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out)
	}
	return nil
}

func (p *pageReader) unpackZstd(dst, src []byte) error {
	if *p.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
		if err != nil {
			return sqlerr.Wrap(err, sqlerr.InternalError, "could not make a decoder")
		}
		*p.zstd = z
	}
	out, err := (*p.zstd).DecodeAll(src, dst[:0:len(dst)])
	if err != nil || len(out) != len(dst) {
		return damaged("a page cannot be uncompressed: ZSTD")
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out)
	}
	return nil
}
