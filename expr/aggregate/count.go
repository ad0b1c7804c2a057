package aggregate

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// count counts rows, or the rows whose argument is not NULL.
type count struct{ n []int64 }

func (c *count) Grow(n int) { c.n = grow(c.n, n) }

func (c *count) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	if (len(args) == 0 || args[0].Valid == nil) && ops == nil {
		for _, g := range ids {
			c.n[g]++
		}
		return
	}
	for k, g := range ids {
		i := row(rows, k)
		if len(args) == 0 || !args[0].IsNull(i) {
			c.n[g] += sign(ops, i)
		}
	}
}

func (c *count) Merge(id int32, src []byte) ([]byte, error) {
	n, k := binary.Varint(src)
	if k <= 0 {
		return nil, errState
	}
	c.n[id] += n
	return src[k:], nil
}

func (c *count) Append(dst []byte, id int32) []byte { return binary.AppendVarint(dst, c.n[id]) }

func (c *count) Result(ids []int32, out *arrowbatch.Vec, _ func(int, *sqlerr.Error)) {
	for _, g := range ids {
		out.AppendInt64(c.n[g])
	}
}

func (c *count) Reset() { c.n = c.n[:0] }
