package aggregate

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Call is one aggregate of a plan, resolved: Args are the types of the argument
// columns as Lookup wants them.
type Call struct {
	Name   string
	Args   []types.Type
	Result types.Type
	// Order are the sort orders of the ORDER BY columns, which follow the
	// arguments; only array_agg and string_agg look at them.
	Order      []SortOrder
	OrderTypes []types.Type
	// AppendOnly: no deletes will come.
	AppendOnly bool
}

// FirstImage is an aggregate of the engine's own: the first value of a group as it
// was written. Equal values may look different (1.0 and 1.00), and a grouped
// column shows the first, as PostgreSQL's does. Rows may be taken back.
const FirstImage = "first image"

// OrderMatters tells whether the aggregate's result depends on the order of rows.
func OrderMatters(name string) bool { return name == "array_agg" || name == "string_agg" }

// New returns an empty accumulator. The error is 0A000 where rows cannot be taken
// back and deletes may come.
func New(c Call) (Acc, error) {
	switch c.Name {
	case "count":
		return &count{}, nil
	case FirstImage:
		return &anyValue{shape: c.Args[0].Shape()}, nil
	case "bool_and", "every":
		return &boolean{}, nil
	case "bool_or":
		return &boolean{or: true}, nil
	case "sum", "avg":
		return newSum(c), nil
	case "min", "max":
		return newExtreme(c), nil
	case "array_agg", "string_agg":
		a := &collect{text: c.Name == "string_agg", nargs: len(c.Args), desc: c.Order}
		for _, t := range c.Args {
			a.shapes = append(a.shapes, t.Shape())
		}
		return a, nil
	}
	return newAppendOnly(c)
}

func newAppendOnly(c Call) (Acc, error) {
	if c.Name != "any_value" && c.Args[0].ID == types.Numeric {
		return &varDecimal{varKind: varianceOf(c.Name)}, nil
	}
	if !c.AppendOnly {
		return nil, sqlerr.Unsupported("aggregate %s(%s) over rows that may be deleted is not supported", c.Name, c.Args[0]).
			WithHint("Aggregate an append-only relation, or cast the argument to numeric.")
	}
	if c.Name == "any_value" {
		return &anyValue{shape: c.Args[0].Shape()}, nil
	}
	return &varFloat{varKind: varianceOf(c.Name)}, nil
}

func newSum(c Call) Acc {
	avg := c.Name == "avg"
	switch c.Args[0].Layout() {
	case arrowbatch.Decimal:
		return &sumDecimal{avg: avg, retract: !c.AppendOnly}
	case arrowbatch.Interval:
		return &sumInterval{avg: avg}
	case arrowbatch.Float32, arrowbatch.Float64:
		if c.AppendOnly {
			return &sumFloat{avg: avg}
		}
		return &exactFloat{avg: avg}
	}
	return &sumInt{avg: avg}
}

func newExtreme(c Call) Acc {
	isMax, shape := c.Name == "max", c.Args[0].Shape()
	if !c.AppendOnly {
		return &extremeRetract{max: isMax, shape: shape}
	}
	switch shape.Layout {
	case arrowbatch.Int16:
		return &extremeFixed[int16]{max: isMax, shape: shape, vals: func(v *arrowbatch.Vec) []int16 { return v.I16 }}
	case arrowbatch.Int32:
		return &extremeFixed[int32]{max: isMax, shape: shape, vals: func(v *arrowbatch.Vec) []int32 { return v.I32 }}
	case arrowbatch.Int64:
		return &extremeFixed[int64]{max: isMax, shape: shape, vals: func(v *arrowbatch.Vec) []int64 { return v.I64 }}
	case arrowbatch.Float32:
		return &extremeFixed[float32]{max: isMax, shape: shape, vals: func(v *arrowbatch.Vec) []float32 { return v.F32 }}
	case arrowbatch.Float64:
		return &extremeFixed[float64]{max: isMax, shape: shape, vals: func(v *arrowbatch.Vec) []float64 { return v.F64 }}
	}
	return &extremeAny{max: isMax, shape: shape}
}
