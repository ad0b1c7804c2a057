package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/segmentio/kafka-go/compress"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// maxUnpacked bounds what one record batch may unpack to: a batch is at most a
// few MB on the wire, and a small one must not be able to fill the memory.
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
	if h.codec() == int8(compress.Snappy) {
		// Its decoder allocates what the block's header claims.
		if n, ok := snappyLen(h.body, uint64(limit)); !ok {
			return dst, corrupt(h.base, "its snappy block is malformed")
		} else if n > uint64(limit) {
			return dst, tooLarge(h.base)
		}
	}
	r := codec.NewReader(bytes.NewReader(h.body))
	dst, err := readAll(dst, r, limit)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	switch {
	case errors.Is(err, errUnpacked):
		return dst, tooLarge(h.base)
	case err != nil:
		return dst, corrupt(h.base, "its %s data cannot be read: %v", codec.Name(), err)
	}
	return dst, nil
}

func tooLarge(base int64) error {
	return sqlerr.Wrap(errUnpacked, sqlerr.ProgramLimitExceeded, "record batch at offset %d is too large", base).
		AsPermanent()
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
