package format

import (
	"sync"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// zstdCodec compresses with one encoder: the library's own makes one for each page,
// which takes longer than the page.
type zstdCodec struct{ compress.Codec }

var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithZeroFrames(true))
})

// EncodeLevel compresses src at the usual level.
func (c zstdCodec) EncodeLevel(dst, src []byte, _ int) []byte {
	e, err := zstdEncoder()
	if err != nil {
		return c.Encode(dst, src)
	}
	return e.EncodeAll(src, dst[:0])
}

func init() {
	if c, err := compress.GetCodec(compress.Codecs.Zstd); err == nil {
		compress.RegisterCodec(compress.Codecs.Zstd, zstdCodec{c})
	}
}
