// Package aggregate holds the aggregate functions: their signatures, and
// accumulators that keep the state of one aggregate for all groups of a table in
// flat slices.
//
// Life of an accumulator: New for a call; Grow as groups appear; Update for each
// batch, with the group number of each row; Result when rows are emitted; Append
// and Merge to save, restore and combine states; Reset when the table is reused.
//
// Invariants:
//
//	G1  After any sequence of inserts and deletes that leaves a multiset of rows,
//	    Result equals the aggregate over that multiset (floating point: see float.go).
//	G2  Merge of an Append into a neutral entry gives the same Result and the same
//	    later behaviour.
//	G3  Update never fails: what has no result (overflow) fails in Result, for its
//	    group alone, and heals when rows are taken back.
package aggregate
