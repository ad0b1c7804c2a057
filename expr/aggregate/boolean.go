package aggregate

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// boolean is bool_and (every) and bool_or: the numbers of false and true values
// decide both, and can be taken back.
type boolean struct {
	or bool
	n  [][2]int64 // false, true
}

func (b *boolean) Grow(n int) { b.n = grow(b.n, n) }

func (b *boolean) Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op) {
	v := args[0]
	for k, g := range ids {
		i := row(rows, k)
		if v.IsNull(i) {
			continue
		}
		which := 0
		if v.Bits.Get(i) {
			which = 1
		}
		b.n[g][which] += sign(ops, i)
	}
}

func (b *boolean) Merge(id int32, src []byte) ([]byte, error) {
	for w := range b.n[id] {
		n, k := binary.Varint(src)
		if k <= 0 {
			return nil, errState
		}
		b.n[id][w] += n
		src = src[k:]
	}
	return src, nil
}

func (b *boolean) Append(dst []byte, id int32) []byte {
	return binary.AppendVarint(binary.AppendVarint(dst, b.n[id][0]), b.n[id][1])
}

func (b *boolean) Result(ids []int32, out *arrowbatch.Vec, _ func(int, *sqlerr.Error)) {
	for _, g := range ids {
		f, t := b.n[g][0], b.n[g][1]
		switch {
		case f+t == 0:
			out.AppendNull()
		case b.or:
			out.AppendBool(t > 0)
		default:
			out.AppendBool(f == 0)
		}
	}
}

func (b *boolean) Reset() { b.n = b.n[:0] }
