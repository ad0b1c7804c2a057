// Package reference writes the parts of the documentation that the code knows
// best: tables of functions, operators, aggregates, settings and error codes, and
// the invariants of all packages.
//
// Such a part stands in a page between the comments
//
//	<!-- begin generated: NAME -->
//	<!-- end generated -->
//
// and is written by `go run ./tests/docs/reference/write`. A test holds that every
// page is current.
package reference
