package format

import (
	"sync"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// zstdCodec compresses with one encoder: the library's own makes one for each page,
// which takes longer than the page.
type zstdCodec struct{ compress.Codec }

var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

// EncodeLevel compresses src as Encode does, at the usual level.
func (zstdCodec) EncodeLevel(dst, src []byte, _ int) []byte {
	return zstdEncoder().EncodeAll(src, dst[:0])
}

func init() {
	c, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		panic(err)
	}
	compress.RegisterCodec(compress.Codecs.Zstd, zstdCodec{c})
}
