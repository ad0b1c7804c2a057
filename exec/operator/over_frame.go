package operator

import (
	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

// Frame says which rows around the current one a window function sees.
type Frame struct {
	Unit       sql.FrameUnit
	Start, End sql.BoundKind
	// StartOffset and EndOffset, for the bounds with an offset, read no columns:
	// bigint, or for RANGE what is added to the one ORDER BY column.
	StartOffset, EndOffset expr.Expr
	Exclude                sql.FrameExclude
}

func hasOffset(k sql.BoundKind) bool { return k == sql.OffsetPreceding || k == sql.OffsetFollowing }

// framer finds the frames of a partition's rows.
type framer struct {
	o          *OverWindow
	f          *Frame
	start, end int64 // ROWS and GROUPS: the offsets
	inRange    *ranger
	group      []int // of each row, from the partition's start
	lo, hi     []int // of each row's frame
	segs       []segment
}

// segment is a run of rows of a frame.
type segment struct{ lo, hi int }

func newFramer(o *OverWindow, f *Frame) (*framer, error) {
	fr := &framer{o: o, f: f}
	start, err := frameOffset(o, f.StartOffset, f.Start, f.Unit, "starting")
	if err != nil {
		return nil, err
	}
	end, err := frameOffset(o, f.EndOffset, f.End, f.Unit, "ending")
	if err != nil {
		start.Release()
		return nil, err
	}
	if f.Unit == sql.FrameRange && (start != nil || end != nil) {
		fr.inRange = newRanger(o, start, end)
		return fr, nil
	}
	if start != nil {
		fr.start = start.I64[0]
	}
	if end != nil {
		fr.end = end.I64[0]
	}
	start.Release()
	end.Release()
	return fr, nil
}

// frameOffset computes an offset, nil where the bound has none.
func frameOffset(o *OverWindow, e expr.Expr, kind sql.BoundKind, unit sql.FrameUnit,
	which string,
) (*arrowbatch.Vec, error) {
	if !hasOffset(kind) {
		return nil, nil
	}
	v, err := expr.EvalConst(o.rt.Eval, e)
	if err != nil {
		return nil, err
	}
	switch {
	case v.IsNull(0):
		err = sqlerr.New(sqlerr.NullValueNotAllowed, "frame %s offset must not be null", which)
	case unit != sql.FrameRange && v.I64[0] < 0:
		err = sqlerr.New(sqlerr.InvalidFrameOffset, "frame %s offset must not be negative", which)
	default:
		return v, nil
	}
	v.Release()
	return nil, err
}

// frames computes the bounds for all rows of a partition.
func (fr *framer) frames(p *partition) error {
	n := p.hi - p.lo
	if cap(fr.lo) < n {
		fr.lo, fr.hi, fr.group = make([]int, n), make([]int, n), make([]int, n)
	}
	fr.lo, fr.hi, fr.group = fr.lo[:n], fr.hi[:n], fr.group[:n]
	p.eachPeer(func(i, g, from, to int) {
		k := i - p.lo
		fr.group[k] = g
		fr.lo[k] = fr.bound(p, fr.f.Start, fr.start, i, g, 0)
		fr.hi[k] = fr.bound(p, fr.f.End, fr.end, i, g, 1)
	})
	if fr.inRange != nil {
		if err := fr.inRange.bounds(fr, p); err != nil {
			return err
		}
	}
	for k := range n {
		fr.hi[k] = max(fr.hi[k], fr.lo[k])
	}
	return nil
}

// bound is one end of row i's frame, i being in group g: after is 0 for the start,
// 1 for the end, which lies behind the last row or group.
func (fr *framer) bound(p *partition, kind sql.BoundKind, offset int64, i, g, after int) int {
	switch kind {
	case sql.UnboundedPreceding:
		return p.lo
	case sql.UnboundedFollowing:
		return p.hi
	case sql.OffsetPreceding:
		offset = -offset
	case sql.CurrentRow:
		offset = 0
	}
	if fr.f.Unit == sql.FrameRows {
		return place(i+after, offset, p.lo, p.hi)
	}
	return p.groups[place(g+after, offset, 0, len(p.groups)-1)]
}

// place is at+offset within lo to hi.
func place(at int, offset int64, lo, hi int) int {
	switch {
	case offset > math.MaxInt32:
		return hi
	case offset < math.MinInt32:
		return lo
	}
	return min(max(at+int(offset), lo), hi)
}

// segments are the rows of row i's frame that are not excluded.
func (fr *framer) segments(p *partition, i int) []segment {
	k := i - p.lo
	from, to := i, i+1 // excluded, but for keep
	keep := -1
	switch fr.f.Exclude {
	case sql.ExcludeNoOthers:
		fr.segs = append(fr.segs[:0], segment{fr.lo[k], fr.hi[k]})
		return fr.segs
	case sql.ExcludeGroup, sql.ExcludeTies:
		from, to = p.groups[fr.group[k]], p.groups[fr.group[k]+1]
		if fr.f.Exclude == sql.ExcludeTies {
			keep = i
		}
	}
	lo, hi := fr.lo[k], fr.hi[k]
	fr.segs = fr.segs[:0]
	if end := min(hi, from); lo < end {
		fr.segs = append(fr.segs, segment{lo, end})
	}
	if keep >= lo && keep < hi {
		fr.segs = append(fr.segs, segment{keep, keep + 1})
	}
	if begin := max(lo, to); begin < hi {
		fr.segs = append(fr.segs, segment{begin, hi})
	}
	return fr.segs
}
