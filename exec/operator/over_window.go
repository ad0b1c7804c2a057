package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/sql/types"
)

// WindowCall is a window function, or an aggregate over a window.
type WindowCall struct {
	// Call names the function; its Args and Result are the types.
	aggregate.Call
	Aggregate bool
	// Cols are the arguments; Filter is a boolean column or -1.
	Cols        []int
	Filter      int
	Frame       Frame
	IgnoreNulls bool
}

// OverWindow computes window functions that share partitions and order, over a
// finite input: it gives the input's rows, sorted, with a column per call.
type OverWindow struct {
	base
	PartitionBy []SortKey
	OrderBy     []SortKey
	// OrderTypes are the types of the OrderBy columns.
	OrderTypes []types.Type
	Calls      []WindowCall

	held []*arrowbatch.Batch
	rows *arrowbatch.Batch
}

// ProcessBatch collects rows.
func (o *OverWindow) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	o.held = append(o.held, b)
	return nil
}

// partition is a run of sorted rows that a window function sees.
type partition struct {
	b      *arrowbatch.Batch
	lo, hi int
	// groups are the places where the groups of peers begin, and hi at the end.
	groups []int
}

// eachPeer calls f with each row, the number of its group and the group's bounds.
func (p *partition) eachPeer(f func(i, group, from, to int)) {
	for g := range len(p.groups) - 1 {
		for i := p.groups[g]; i < p.groups[g+1]; i++ {
			f(i, g, p.groups[g], p.groups[g+1])
		}
	}
}

// ProcessBarrier computes and emits.
func (o *OverWindow) ProcessBarrier(exec.Barrier) error {
	if len(o.held) == 0 {
		return nil
	}
	all := arrowbatch.Concat(o.held)
	o.held = nil
	idx := newSortRows(all, append(append([]SortKey(nil), o.PartitionBy...), o.OrderBy...)).sorted()
	o.rows = all.Take(idx)
	all.Release()
	parts := o.partitions()
	n := len(o.rows.Cols)
	var cols []*arrowbatch.Vec
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for k := range o.Calls {
		col, err := o.column(&o.Calls[k], parts)
		if err != nil {
			return err
		}
		cols = append(cols, col)
	}
	o.rows.Cols = append(o.rows.Cols[:n:n], cols...)
	cols = nil
	for i := range idx {
		idx[i] = int32(i)
	}
	return emitRows(o.rt, o.out, o.rows, idx)
}

// partitions cuts the sorted rows.
func (o *OverWindow) partitions() []partition {
	by, order := newSortRows(o.rows, o.PartitionBy), newSortRows(o.rows, o.OrderBy)
	var out []partition
	for i := range o.rows.Len {
		fresh := i == 0 || by.compare(int32(i-1), int32(i)) != 0
		if fresh {
			if i > 0 {
				out[len(out)-1].end(i)
			}
			out = append(out, partition{b: o.rows, lo: i})
		}
		if fresh || order.compare(int32(i-1), int32(i)) != 0 {
			p := &out[len(out)-1]
			p.groups = append(p.groups, i)
		}
	}
	out[len(out)-1].end(o.rows.Len)
	return out
}

func (p *partition) end(hi int) {
	p.hi = hi
	p.groups = append(p.groups, hi)
}

// column computes one call for all partitions.
func (o *OverWindow) column(c *WindowCall, parts []partition) (*arrowbatch.Vec, error) {
	out := arrowbatch.NewVec(c.Result.Shape(), 0)
	out.Grow(o.rows.Len)
	f, err := o.function(c, out)
	for k := 0; k < len(parts) && err == nil; k++ {
		if err = o.rt.Ctx.Err(); err == nil {
			err = f(&parts[k])
		}
	}
	if err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// function returns what appends the results of a call for one partition.
func (o *OverWindow) function(c *WindowCall, out *arrowbatch.Vec) (func(*partition) error, error) {
	if !c.Aggregate {
		switch c.Name {
		case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
			return func(p *partition) error { rankRows(c.Name, p, out); return nil }, nil
		case "ntile":
			return func(p *partition) error { return ntile(p, o.rows.Cols[c.Cols[0]], out) }, nil
		case "lag", "lead":
			return func(p *partition) error { shiftRows(c, p, out); return nil }, nil
		}
	}
	fr, err := newFramer(o, &c.Frame)
	if err != nil {
		return nil, err
	}
	if !c.Aggregate {
		return func(p *partition) error { return pickRows(c, fr, p, out) }, nil
	}
	a, err := newOverAgg(o, c, fr, out)
	if err != nil {
		return nil, err
	}
	return a.partition, nil
}

// Close frees the rows.
func (o *OverWindow) Close() {
	o.rows.Release()
	for _, b := range o.held {
		b.Release()
	}
	o.rows, o.held = nil, nil
}
