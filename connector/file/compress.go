package file

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Compressions of files.
const (
	noCompression = "none"
	gzipped       = "gzip"
	zstandard     = "zstd"
)

// packer compresses pieces of a file, each into a frame that can be read by itself:
// frames one after the other are a file as well.
type packer interface {
	// ext is what is put behind the names of files.
	ext() string
	// pack returns the frame; it is the packer's and good until the next call.
	pack(raw []byte) []byte
}

// newPacker returns the packer of a compression, nil for none.
func newPacker(compression string) (packer, error) {
	switch compression {
	case gzipped:
		return &gzipPacker{w: gzip.NewWriter(nil)}, nil
	case zstandard:
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
			zstd.WithLowerEncoderMem(true))
		if err != nil {
			return nil, err
		}
		return &zstdPacker{w: w}, nil
	}
	return nil, nil
}

type gzipPacker struct {
	w   *gzip.Writer
	buf bytes.Buffer
}

func (*gzipPacker) ext() string { return "gz" }

func (p *gzipPacker) pack(raw []byte) []byte {
	p.buf.Reset()
	p.w.Reset(&p.buf)
	_, _ = p.w.Write(raw) // into memory
	_ = p.w.Close()
	return p.buf.Bytes()
}

type zstdPacker struct {
	w   *zstd.Encoder
	buf []byte
}

func (*zstdPacker) ext() string { return "zst" }

func (p *zstdPacker) pack(raw []byte) []byte {
	p.buf = p.w.EncodeAll(raw, p.buf[:0])
	return p.buf
}

// unpacked returns what comes out of a file, by the end of its name.
func unpacked(f *os.File) (from io.Reader, packed bool) {
	switch filepath.Ext(f.Name()) {
	case ".gz":
		return &gzipReader{f: f}, true
	case ".zst":
		return &zstdReader{f: f}, true
	}
	return f, false
}

// gzipReader reads the head of the first frame with the first bytes, so that a file
// that has none is an error of reading.
type gzipReader struct {
	f *os.File
	r *gzip.Reader
}

func (g *gzipReader) Read(b []byte) (n int, err error) {
	if g.r == nil {
		if g.r, err = gzip.NewReader(g.f); err != nil {
			g.r = nil
			return 0, err
		}
	}
	return g.r.Read(b)
}

// zstdReader unpacks in the caller's goroutine.
type zstdReader struct {
	f *os.File
	r *zstd.Decoder
}

func (z *zstdReader) Read(b []byte) (n int, err error) {
	if z.r == nil {
		if z.r, err = zstd.NewReader(z.f, zstd.WithDecoderConcurrency(1)); err != nil {
			z.r = nil
			return 0, err
		}
	}
	return z.r.Read(b)
}

func (z *zstdReader) Close() error {
	if z.r != nil {
		z.r.Close()
	}
	return nil
}
