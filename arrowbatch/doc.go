// Package arrowbatch holds what flows between operators: Batch, a set of
// columns of one length with an op per row, and Vec, one column in Arrow's
// memory layout.
//
// Life of a batch: a source or an operator fills vectors from the pool (NewVec),
// sets them in a Batch and emits it. Whoever receives a batch owns one reference
// to it and either passes it on or calls Release; a column that is to live in two
// batches is Retained. A vector whose last reference is released goes back to
// the pool and must not be touched: in the checked build it is poisoned.
//
// Invariants:
//
//	A1  Every column has exactly Batch.Len rows; Ops is nil or has Len entries.
//	A2  Valid nil means that no row is NULL; a bit set means that the row has a
//	    value. The slot of a NULL row holds any value of the right shape: empty for
//	    bytes and lists.
//	A3  Bits past the length in the last word of a bitmap are unspecified.
//	A4  Off has N+1 entries and Off[0] is 0.
//	A5  A vector with more than one reference is not written to.
//	A6  An update is a Delete followed by an Insert; there is no update op.
//	A7  A column of bytes or lists has at most 2^31-1 bytes or elements: what would
//	    make it longer aborts the query with 54000.
//
// Arrow's own types appear in record.go, fromrecord.go and ipc.go alone: the layouts here
// are the same bytes (bitmaps are little-endian words), so a Record is a view
// and costs no copy.
package arrowbatch
