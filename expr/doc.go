// Package expr holds bound, typed expressions and evaluates them a column at a
// time with PostgreSQL's rules for NULL, overflow, casts and time.
//
// Life of an expression: the binder makes leaves (NewColumn, ConstUnknown,
// NewParam) and joins them with the constructors of build.go. Call, Binary and
// Unary pick an overload as PostgreSQL does and put the casts in; what cannot be
// typed is an error with a SQLSTATE. The planner looks into trees with Walk,
// Columns, Remap, Equal and Fold. An operator then calls Eval or Filter for each
// batch with a Ctx of its own.
//
// Invariants:
//
//	E1  Expressions are immutable; what an evaluation changes is in Ctx.
//	E2  A selection holds ascending row numbers without repeats. Rows outside it
//	    are never looked at where looking could fail, and cost nothing in kernels
//	    that are not dense.
//	E3  A row that fails is in Ctx and NULL in the result. An operand is evaluated
//	    for a row only if PostgreSQL would: AND, OR, CASE, COALESCE and IN narrow
//	    the selection.
//	E4  Constants are never spread into columns inside a tree: kernels read row 0.
//	E5  A kernel allocates nothing per row; the output vector comes from the pool.
//	E6  Text is compared byte by byte: the collation is "C" over UTF-8.
package expr
