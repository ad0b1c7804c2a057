package file

import (
	"bytes"

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
