package operator

import (
	"sort"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// rankRows computes the functions that depend on a row's place alone.
func rankRows(name string, p *partition, out *arrowbatch.Vec) {
	n := p.hi - p.lo
	p.eachPeer(func(i, group, from, to int) {
		switch name {
		case "row_number":
			out.AppendInt64(int64(i - p.lo + 1))
		case "rank":
			out.AppendInt64(int64(from - p.lo + 1))
		case "dense_rank":
			out.AppendInt64(int64(group + 1))
		case "percent_rank":
			if n == 1 {
				out.AppendFloat64(0)
			} else {
				out.AppendFloat64(float64(from-p.lo) / float64(n-1))
			}
		default: // cume_dist
			out.AppendFloat64(float64(to-p.lo) / float64(n))
		}
	})
}

// ntile deals the rows into buckets as equal as can be, the bigger ones first.
// The number of buckets is the first row's.
func ntile(p *partition, arg, out *arrowbatch.Vec) error {
	if arg.IsNull(p.lo) {
		for range p.hi - p.lo {
			out.AppendNull()
		}
		return nil
	}
	buckets := int64(arg.I32[p.lo])
	if buckets <= 0 {
		return sqlerr.New(sqlerr.InvalidNtileArgument, "argument of ntile must be greater than zero")
	}
	n := int64(p.hi - p.lo)
	size, bigger := n/buckets, n%buckets
	for i := range n {
		if b := bigger * (size + 1); i < b {
			out.AppendInt32(int32(i/(size+1) + 1))
		} else {
			out.AppendInt32(int32(bigger + (i-b)/size + 1))
		}
	}
	return nil
}

// places are the rows of a partition that a function counts: all, or those whose
// value is not NULL.
type places struct {
	all bool
	at  []int
}

func newPlaces(p *partition, v *arrowbatch.Vec, ignoreNulls bool) places {
	if !ignoreNulls || v.Valid == nil {
		return places{all: true}
	}
	var s places
	for i := p.lo; i < p.hi; i++ {
		if !v.IsNull(i) {
			s.at = append(s.at, i)
		}
	}
	return s
}

// before is the number of counted rows before place i.
func (s places) before(i int) int {
	if s.all {
		return i
	}
	return sort.SearchInts(s.at, i)
}

// place is where the k-th counted row is.
func (s places) place(k int) int {
	if s.all {
		return k
	}
	return s.at[k]
}

// shiftRows is lag and lead: the value some rows before or behind.
func shiftRows(c *WindowCall, p *partition, out *arrowbatch.Vec) {
	v := p.b.Cols[c.Cols[0]]
	s := newPlaces(p, v, c.IgnoreNulls)
	first, last := s.before(p.lo), s.before(p.hi)
	for i := p.lo; i < p.hi; i++ {
		shift := int64(1)
		if len(c.Cols) > 1 {
			n := p.b.Cols[c.Cols[1]]
			if n.IsNull(i) {
				out.AppendNull()
				continue
			}
			shift = int64(n.I32[i])
		}
		if c.Name == "lag" {
			shift = -shift
		}
		at := int64(s.before(i)) + shift
		if shift > 0 && !s.all && v.IsNull(i) {
			at-- // the row itself is not counted
		}
		switch {
		case shift == 0:
			out.AppendFrom(v, i)
		case at >= int64(first) && at < int64(last):
			out.AppendFrom(v, s.place(int(at)))
		case len(c.Cols) > 2:
			out.AppendFrom(p.b.Cols[c.Cols[2]], i)
		default:
			out.AppendNull()
		}
	}
}

// pickRows is first_value, last_value and nth_value: a value of the frame.
func pickRows(c *WindowCall, fr *framer, p *partition, out *arrowbatch.Vec) error {
	v := p.b.Cols[c.Cols[0]]
	s := newPlaces(p, v, c.IgnoreNulls)
	if err := fr.frames(p); err != nil {
		return err
	}
	for i := p.lo; i < p.hi; i++ {
		nth := 1
		if c.Name == "nth_value" {
			n := p.b.Cols[c.Cols[1]]
			if n.IsNull(i) {
				out.AppendNull()
				continue
			}
			if nth = int(n.I32[i]); nth <= 0 {
				return sqlerr.New(sqlerr.InvalidNthValueArgument, "argument of nth_value must be greater than zero")
			}
		}
		at := -1
		for _, seg := range fr.segments(p, i) {
			lo, hi := s.before(seg.lo), s.before(seg.hi)
			switch {
			case hi <= lo:
			case c.Name == "last_value":
				at = s.place(hi - 1)
			case at >= 0:
			case nth <= hi-lo:
				at = s.place(lo + nth - 1)
			default:
				nth -= hi - lo
			}
		}
		if at < 0 {
			out.AppendNull()
		} else {
			out.AppendFrom(v, at)
		}
	}
	return nil
}
