package expr

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// Expr is a bound, typed expression over the columns of a batch. Expressions
// are immutable and may be shared between goroutines; all that an evaluation
// changes is in Ctx.
type Expr interface {
	// Type is the type of the result.
	Type() types.Type
	// Eval returns a column of in.Len rows, one reference of which is the
	// caller's. Only the rows in sel are computed (nil: all); the others hold
	// unspecified values. A row that fails is NULL in the result and has its error
	// in ctx. in is not changed and not released.
	Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec
	// Children returns the operands.
	Children() []Expr
	// WithChildren returns a copy with other operands of the same types.
	WithChildren(c []Expr) Expr
	// String returns SQL text, for EXPLAIN and for generated names.
	String() string
}

// Volatility says when two evaluations of one function give one result.
type Volatility uint8

// PostgreSQL's three volatilities. Stable: the same within one statement or one
// epoch (now(), time zone).
const (
	Immutable Volatility = iota
	Stable
	Volatile
)
