package expr

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// merger collects rows that different expressions compute into one column.
// Values of fixed width are put in their places as they come; those of varying
// width must be written in order, and so are only noted until the end.
type merger struct {
	ctx  *Ctx
	typ  types.Type
	n    int
	out  *arrowbatch.Vec
	srcs []arg
	from []uint8 // per row: 1 + index of the source, 0: none
}

func newMerger(ctx *Ctx, t types.Type, n int) merger {
	m := merger{ctx: ctx, typ: t, n: n}
	switch t.Layout() {
	case arrowbatch.Bytes, arrowbatch.List, arrowbatch.Struct:
		if k := len(ctx.froms); k > 0 && cap(ctx.froms[k-1]) >= n {
			m.from = ctx.froms[k-1][:n]
			ctx.froms = ctx.froms[:k-1]
			clear(m.from)
		} else {
			m.from = make([]uint8, n)
		}
	default:
		m.out = arrowbatch.NewVec(t.Shape(), n)
	}
	return m
}

// add takes the given rows from a, whose reference it takes over.
func (m *merger) add(a arg, rows []int32) {
	if m.out == nil {
		if len(m.srcs) == 254 {
			m.compact()
		}
		m.srcs = append(m.srcs, a)
		for _, r := range rows {
			m.from[r] = uint8(len(m.srcs))
		}
		return
	}
	scatter(m.out, a, rows)
	if a.v.Valid != nil {
		for _, r := range rows {
			if a.isNull(int(r)) {
				m.out.SetNull(int(r))
			}
		}
	}
	a.v.Release()
}

// scatter copies rows to the same places.
func scatter(out *arrowbatch.Vec, a arg, rows []int32) {
	switch out.Layout {
	case arrowbatch.Int64:
		scatterTo(out.I64, a.v.I64, a.one, rows)
	case arrowbatch.Int32:
		scatterTo(out.I32, a.v.I32, a.one, rows)
	case arrowbatch.Float64:
		scatterTo(out.F64, a.v.F64, a.one, rows)
	case arrowbatch.Decimal:
		scatterTo(out.Dec, a.v.Dec, a.one, rows)
	default:
		for _, r := range rows {
			putRow(out, int(r), a.v, a.at(int(r)))
		}
	}
}

func scatterTo[T any](dst, src []T, one bool, rows []int32) {
	if one {
		x := src[0]
		for _, r := range rows {
			dst[r] = x
		}
		return
	}
	for _, r := range rows {
		dst[r] = src[r]
	}
}

// compact makes one source of all, so that a byte can number them.
func (m *merger) compact() {
	v := m.inOrder()
	m.srcs = append(m.srcs[:0], arg{v: v})
	for i, f := range m.from {
		if f > 0 {
			m.from[i] = 1
		}
	}
}

// done returns the column; rows that no source gave are NULL or unspecified.
func (m *merger) done() *arrowbatch.Vec {
	if m.out != nil {
		return m.out
	}
	out := m.inOrder()
	m.ctx.froms = append(m.ctx.froms, m.from)
	return out
}

func (m *merger) inOrder() *arrowbatch.Vec {
	out := arrowbatch.NewVec(m.typ.Shape(), 0)
	out.Grow(m.n)
	for i, f := range m.from {
		if f == 0 {
			out.AppendNull()
			continue
		}
		s := &m.srcs[f-1]
		out.AppendFrom(s.v, s.at(i))
	}
	for _, s := range m.srcs {
		s.v.Release()
	}
	return out
}
