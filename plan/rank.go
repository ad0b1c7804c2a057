package plan

import (
	"math"
	"strconv"
)

// RankFunc says how the rows of a group are counted.
type RankFunc uint8

// The ways to count: by place, by the place of the first peer, by the number of
// groups of peers, and for LIMIT … WITH TIES by place from below and by the place of
// the first peer from above.
const (
	RowNumber RankFunc = iota
	Rank
	DenseRank
	WithTies
)

func (f RankFunc) String() string {
	return [...]string{"row_number", "rank", "dense_rank", "with ties"}[f]
}

// RankFuncOf returns the function of that name.
func RankFuncOf(name string) (RankFunc, bool) {
	for f := RowNumber; f <= DenseRank; f++ {
		if f.String() == name {
			return f, true
		}
	}
	return 0, false
}

// RankRange are the ranks From to To, counted from 1. To is NoEnd where nothing
// bounds them; an empty range is 1 to 0.
type RankRange struct {
	Func     RankFunc
	From, To int64
}

// NoEnd is To of a range without an end.
const NoEnd = math.MaxInt64

// Both returns the ranks that are in both ranges.
func (r RankRange) Both(from, to int64) RankRange {
	r.From, r.To = max(r.From, from), min(r.To, to)
	if r.From > r.To {
		r.From, r.To = 1, 0
	}
	return r
}

// String shows the range.
func (r RankRange) String() string {
	switch {
	case r.To == 0:
		return "none"
	case r.To == NoEnd:
		return "from " + strconv.FormatInt(r.From, 10)
	case r.From == r.To:
		return strconv.FormatInt(r.To, 10)
	}
	return strconv.FormatInt(r.From, 10) + " to " + strconv.FormatInt(r.To, 10)
}
