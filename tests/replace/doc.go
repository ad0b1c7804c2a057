// Package replace holds the engine to what it says of running queries whose definitions
// change: whatever replaces what, a view's rows are those of its definition over all
// that was ever read, its dependants have followed, and a savepoint gives back just what
// was there when it was made; also after a crash at any moment.
//
// Life of a case: an engine starts over a file system in memory, a script makes tables
// and queries, rows come, definitions change, and the result is compared with the same
// query run as a SELECT. Crashes are clones of the file system with what was synced.
//
// Invariants:
//
//	Y1  A replaced view has the rows of its new definition, once its query has absorbed
//	    what there is.
//	Y2  A notice tells what was kept and what is read again, and EXPLAIN told it before.
package replace
