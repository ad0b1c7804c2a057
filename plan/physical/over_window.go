package physical

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

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

// OverWindow computes window functions that share partitions and order. The
// output is the input's columns followed by one column per call.
type OverWindow struct {
	Base
	PartitionBy []int
	OrderBy     []SortKey
	Calls       []WindowCall
}

// Describe shows the node.
func (n *OverWindow) Describe() plan.Desc {
	in := n.Input[0].Schema()
	s := make([]string, len(n.Calls))
	for i, c := range n.Calls {
		star := ""
		if c.Aggregate && c.Name == "count" && len(c.Args) == 0 {
			star = "*"
		}
		s[i] = c.Name + "(" + star + names(in, c.Args) + ")"
	}
	return plan.Desc{Op: "OverWindow"}.With("calls", strings.Join(s, ", ")).
		With("partition", names(in, n.PartitionBy)).With("order", sortKeys(in, n.OrderBy))
}
