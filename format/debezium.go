package format

import (
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// eventColumns returns the columns that records of changes fill.
func eventColumns(e *events) []Column {
	var before, after []types.Field
	for _, c := range e.key {
		before = append(before, types.Field{Name: e.cols[c].Name, Type: e.cols[c].Type})
	}
	inner := make([]Column, eventWidth)
	for i, c := range e.cols {
		e.kid, e.meta = append(e.kid, -1), append(e.meta, -1)
		isKey := slices.Contains(e.key, i)
		switch {
		case c.Meta != "":
			e.meta[i] = len(inner)
			inner = append(inner, c)
		case !c.Unused || c.NotNull || isKey:
			e.kid[i] = len(after)
			after = append(after, types.Field{Name: c.Name, Type: c.Type})
			if c.NotNull || isKey {
				e.checked = append(e.checked, i)
			}
		}
	}
	inner[eventBefore] = Column{Name: "before", Type: types.Type{ID: types.Struct, Fields: before}}
	inner[eventAfter] = Column{Name: "after", Type: types.Type{ID: types.Struct, Fields: after}}
	inner[eventOp] = Column{Name: "op", Type: types.TText}
	inner[eventStatus] = Column{Name: "status", Type: types.TText}
	return inner
}

// take makes the batch of declared columns of that of records, which it takes over.
func (e *events) take(in *arrowbatch.Batch) *arrowbatch.Batch {
	defer in.Release()
	out := &arrowbatch.Batch{Len: len(e.does) + e.dels, Cols: make([]*arrowbatch.Vec, len(e.cols))}
	// at is the record of each row, now the same, or -1 for the row before.
	at, now := make([]int32, 0, out.Len), make([]int32, 0, out.Len)
	out.Len = 0
	for i, does := range e.does {
		if does&delBefore != 0 {
			at, now = append(at, int32(i)), append(now, -1)
			out.AppendOp(arrowbatch.Delete)
		}
		if does&insAfter != 0 {
			at, now = append(at, int32(i)), append(now, int32(i))
			out.AppendOp(arrowbatch.Insert)
		}
	}
	before, after := in.Cols[eventBefore], in.Cols[eventAfter]
	for i, c := range e.cols {
		var v *arrowbatch.Vec
		switch {
		case e.meta[i] >= 0:
			v = in.Cols[e.meta[i]].Take(at)
		case e.kid[i] < 0:
			v = Nulls(c.Type, out.Len)
		default:
			kid := after.Kids[e.kid[i]]
			if k := slices.Index(e.key, i); e.dels > 0 && k >= 0 {
				v = keyColumn(c.Type, before.Kids[k], kid, at, now)
			} else if e.dels == 0 {
				v = kid.Retain()
			} else {
				v = kid.Take(now)
			}
		}
		out.Cols[i] = v
	}
	e.does, e.dels = e.does[:0], 0
	return out
}

// keyColumn is a column of the key: of deleted rows from before.
func keyColumn(t types.Type, before, after *arrowbatch.Vec, at, now []int32) *arrowbatch.Vec {
	v := arrowbatch.NewVec(t.Shape(), 0)
	for i, row := range at {
		if now[i] < 0 {
			v.AppendFrom(before, int(row))
		} else {
			v.AppendFrom(after, int(row))
		}
	}
	return v
}
