package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/segmentio/kafka-go/compress"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// maxUnpacked bounds what one record batch may unpack to, where the option max_batch_bytes
// says nothing: a batch is at most a few MB on the wire, and a small one must not be able
// to fill the memory.
const maxUnpacked = 128 << 20

var errUnpacked = errors.New("it unpacks to more bytes than are taken")

// compressions are the names of the codecs by their number in a batch.
var compressions = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// unpack appends the uncompressed records of h to dst, at most limit bytes.
func unpack(dst []byte, h *batchHeader, limit int) ([]byte, error) {
	codec := compress.Compression(h.codec()).Codec()
	if codec == nil {
		return dst, sqlerr.Unsupported("record batch at offset %d has compression %d, which is not known",
			h.base, h.codec()).AsPermanent()
	}
	// These decoders allocate what a header claims.
	claim, ok := uint64(0), true
	switch compress.Compression(h.codec()) {
	case compress.Snappy:
		claim, ok = snappyLen(h.body, uint64(limit))
	case compress.Zstd:
		claim, ok = zstdWindow(h.body)
	}
	if !ok {
		return dst, corrupt(h.base, "its %s data is malformed", codec.Name())
	} else if claim > uint64(limit) {
		return dst, tooLarge(h.base, limit)
	}
	r := codec.NewReader(bytes.NewReader(h.body))
	dst, err := readAll(dst, r, limit)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	switch {
	case errors.Is(err, errUnpacked):
		return dst, tooLarge(h.base, limit)
	case err != nil:
		return dst, corrupt(h.base, "its %s data cannot be read: %v", codec.Name(), err)
	}
	return dst, nil
}

func tooLarge(base int64, limit int) error {
	return sqlerr.Wrap(errUnpacked, sqlerr.ProgramLimitExceeded, "record batch at offset %d is too large", base).
		WithDetail("At most %d bytes are taken.", limit).
		WithHint("If such batches are right, ALTER the source to SET a greater max_batch_bytes and RESTART the query.").
		AsPermanent()
}

// zstdMagic begins a frame, zstdSkip (but for its lowest four bits) one without data.
const (
	zstdMagic = 0xfd2fb528
	zstdSkip  = 0x184d2a50
)

// zstdWindow returns the largest window that the frames of b ask their decoder for.
func zstdWindow(b []byte) (window uint64, ok bool) {
	for len(b) > 0 {
		if len(b) < 8 {
			return 0, false
		}
		magic := binary.LittleEndian.Uint32(b)
		if magic&^15 == zstdSkip {
			n := uint64(binary.LittleEndian.Uint32(b[4:]))
			if n > uint64(len(b)-8) {
				return 0, false
			}
			b = b[8+n:]
			continue
		}
		w, rest, ok := zstdFrame(b)
		if magic != zstdMagic || !ok {
			return 0, false
		}
		window, b = max(window, w), rest
	}
	return window, true
}

// zstdFrame returns the window of the frame at the front of b, and what is behind it.
func zstdFrame(b []byte) (window uint64, rest []byte, ok bool) {
	flags := b[4]
	b = b[5:]
	single := flags&(1<<5) != 0
	if !single {
		exp, mantissa := b[0]>>3, uint64(b[0]&7)
		window = 1 << (10 + exp)
		window += window / 8 * mantissa
		b = b[1:]
	}
	sizes := [4]int{0, 2, 4, 8}
	size := sizes[flags>>6]
	if single && size == 0 {
		size = 1
	}
	dict := [4]int{0, 1, 2, 4}[flags&3]
	if len(b) < dict+size {
		return 0, nil, false
	}
	var content [8]byte
	copy(content[:], b[dict:dict+size])
	if single {
		window = binary.LittleEndian.Uint64(content[:])
		if size == 2 {
			window += 256
		}
	}
	for b = b[dict+size:]; ; {
		if len(b) < 3 {
			return 0, nil, false
		}
		block := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		n := block >> 3
		if block>>1&3 == 1 { // a repeated byte
			n = 1
		}
		if b = b[3:]; n > len(b) {
			return 0, nil, false
		}
		b = b[n:]
		if block&1 != 0 {
			break
		}
	}
	if flags&(1<<2) == 0 {
		return window, b, true
	}
	if len(b) < 4 {
		return 0, nil, false
	}
	return window, b[4:], true
}

// readAll appends r to dst, at most limit bytes.
func readAll(dst []byte, r io.Reader, limit int) ([]byte, error) {
	limit += len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), limit+1)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > limit:
			return dst, errUnpacked
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
}

// xerial is the frame of snappy blocks that the Java client writes: the magic
// and two version numbers, then blocks with their lengths.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16

// snappyLen adds up the lengths that the blocks of b claim to unpack to, until
// they pass the limit.
func snappyLen(b []byte, limit uint64) (total uint64, ok bool) {
	if !bytes.HasPrefix(b, xerial) {
		n, w := binary.Uvarint(b)
		return n, w > 0
	}
	if len(b) < xerialHeader {
		return 0, false
	}
	for b = b[xerialHeader:]; len(b) > 0; {
		if len(b) < 4 {
			return 0, false
		}
		size := int(binary.BigEndian.Uint32(b))
		if b = b[4:]; size > len(b) {
			return 0, false
		}
		n, w := binary.Uvarint(b[:size])
		if total += n; w <= 0 || total > limit {
			return total, w > 0
		}
		b = b[size:]
	}
	return total, true
}

// pack compresses src behind dst.
func pack(dst, src []byte, codec int8) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	w := compress.Compression(codec).Codec().NewWriter(buf)
	if _, err := w.Write(src); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}
