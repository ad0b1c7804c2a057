package plan

import "github.com/streamsql/streamsql/sql/types"

// AggCall is an aggregate. Its columns are the node's input columns.
type AggCall struct {
	// Name is the aggregate's name in lower case; count without Args is count(*).
	Name string
	Args []int
	// ArgTypes are the types that the aggregate wants; the columns have them.
	ArgTypes []types.Type
	Type     types.Type
	Distinct bool
	// FilterCol is a boolean column: only rows where it is true count. -1: all.
	FilterCol int
	// OrderBy is the order in which rows are taken in (array_agg, string_agg).
	OrderBy []SortKey
}

// Describe shows the call.
func (a AggCall) Describe(in *Schema) string {
	s := a.Name + "("
	if a.Distinct {
		s += "DISTINCT "
	}
	if a.Name == "count" && len(a.Args) == 0 {
		s += "*"
	}
	s += in.ColumnNames(a.Args)
	if len(a.OrderBy) > 0 {
		s += " ORDER BY " + DescribeKeys(in, a.OrderBy)
	}
	s += ")"
	if a.FilterCol >= 0 {
		s += " FILTER " + in.ColumnName(a.FilterCol)
	}
	return s
}

// Remap returns a with its columns at other places.
func (a AggCall) Remap(at func(int) int) AggCall {
	a.Args = remapInts(a.Args, at)
	if a.FilterCol >= 0 {
		a.FilterCol = at(a.FilterCol)
	}
	a.OrderBy = RemapKeys(a.OrderBy, at)
	return a
}

// Columns returns all input columns that the call reads.
func (a AggCall) Columns() []int {
	c := append([]int(nil), a.Args...)
	if a.FilterCol >= 0 {
		c = append(c, a.FilterCol)
	}
	for _, k := range a.OrderBy {
		c = append(c, k.Col)
	}
	return c
}

// RemapKeys returns keys with their columns at other places.
func RemapKeys(keys []SortKey, at func(int) int) []SortKey {
	out := make([]SortKey, len(keys))
	for i, k := range keys {
		k.Col = at(k.Col)
		out[i] = k
	}
	return out
}

func remapInts(v []int, at func(int) int) []int {
	out := make([]int, len(v))
	for i, c := range v {
		out[i] = at(c)
	}
	return out
}
