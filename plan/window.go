package plan

import (
	"strconv"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// WindowKind is a kind of time window.
type WindowKind uint8

// The kinds of windows.
const (
	Tumble WindowKind = iota
	Hop
	Cumulate
	Session
)

func (k WindowKind) String() string { return [...]string{"tumble", "hop", "cumulate", "session"}[k] }

// WindowSpec says which windows a row belongs to. All spans are in microseconds.
type WindowSpec struct {
	Kind WindowKind
	// TimeCol is the input column that holds the time, timestamp or timestamptz.
	// Rows where it is NULL are dropped and counted.
	TimeCol int
	// Size is the window's length, for cumulate the longest one's. Slide is the
	// distance of starts for hop (it equals Size for tumble) and the step for
	// cumulate. Windows start at multiples of Slide (cumulate: of Size) plus Offset.
	Size, Slide, Offset int64
	// Gap ends a session; it is computed per row and is an interval without months.
	Gap expr.Expr
	// PartitionBy are the input columns by which sessions are kept apart.
	PartitionBy []int
}

// Describe adds the window's properties to d.
func (w *WindowSpec) Describe(d Desc, in *Schema) Desc {
	d = d.With("window", w.Kind.String()).With("time", in.ColumnName(w.TimeCol))
	switch w.Kind {
	case Session:
		d = d.With("gap", w.Gap.String())
		if len(w.PartitionBy) > 0 {
			d = d.With("partition", in.ColumnNames(w.PartitionBy))
		}
	case Tumble:
		d = d.With("size", Micros(w.Size))
	default:
		d = d.With("slide", Micros(w.Slide)).With("size", Micros(w.Size))
	}
	if w.Offset != 0 {
		d = d.With("offset", Micros(w.Offset))
	}
	return d
}

// Fields are the columns that a window adds: window_start and window_end, of the
// time column's type.
func (w *WindowSpec) Fields(in *Schema) []Field {
	t := in.Fields[w.TimeCol].Type
	return []Field{{Name: "window_start", Type: t, NotNull: true}, {Name: "window_end", Type: t, NotNull: true}}
}

// Micros prints a span of time in its largest whole unit.
func Micros(us int64) string {
	for _, u := range []struct {
		n    int64
		name string
	}{{86400e6, "d"}, {3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}} {
		if us != 0 && us%u.n == 0 {
			return strconv.FormatInt(us/u.n, 10) + " " + u.name
		}
	}
	if us == 0 {
		return "0 s"
	}
	return strconv.FormatInt(us, 10) + " us"
}

// Frame is the frame of a window function. The offsets are constants or
// parameters; with FrameRange they are added to the one ORDER BY column.
type Frame struct {
	Unit       sql.FrameUnit
	Start, End sql.BoundKind
	// StartOffset and EndOffset are set for the two offset kinds.
	StartOffset, EndOffset expr.Expr
	Exclude                sql.FrameExclude
}

// WindowCall is a window function or an aggregate over a window. Its columns are
// input columns.
type WindowCall struct {
	Name     string
	Args     []int
	ArgTypes []types.Type
	Type     types.Type
	// Aggregate: Name is an aggregate; else a window function like row_number.
	Aggregate bool
	FilterCol int // -1: none
	Frame     Frame
	// IgnoreNulls is IGNORE NULLS of lag, lead, first_value and their kin.
	IgnoreNulls bool
}

// Describe shows the call.
func (c WindowCall) Describe(in *Schema) string {
	star := ""
	if c.Aggregate && c.Name == "count" && len(c.Args) == 0 {
		star = "*"
	}
	return c.Name + "(" + star + in.ColumnNames(c.Args) + ")"
}

// Remap returns c with its columns at other places.
func (c WindowCall) Remap(at func(int) int) WindowCall {
	c.Args = remapInts(c.Args, at)
	if c.FilterCol >= 0 {
		c.FilterCol = at(c.FilterCol)
	}
	return c
}
