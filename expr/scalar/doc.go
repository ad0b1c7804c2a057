// Package scalar holds the functions on single values that are too long for a
// line of the function table: patterns, formatted dates and numbers, JSON, text.
//
// Life of a call: package expr has bound the arguments and found them not NULL;
// it calls a function here with values that alias its columns and appends what
// comes back to the result column. Nothing is kept but compiled patterns, which
// are immutable.
//
// Invariants:
//
//	X1  Functions are pure: what depends on the session is an argument.
//	X2  A string argument may alias a buffer that is reused: whoever keeps it,
//	    errors included, copies it.
//	X3  jsonb is its canonical text (see types.AppendJSONB); what comes in is
//	    canonical and so is what goes out.
package scalar
