// Package operator holds the operators, one a file, under the names of the
// physical plan's nodes.
//
// Life of an operator: made by exec/build from a plan node; Open restores its
// state; ProcessBatch, ProcessWatermark and ProcessBarrier as package exec says;
// Close.
//
// Invariants:
//
//	O1  The result does not depend on how rows are cut into batches or epochs.
//	O2  What an operator has emitted up to a barrier is a function of the rows and
//	    watermarks up to it: a restored operator goes on as if never stopped.
//	O3  No row is emitted behind the watermark that was forwarded.
//	O4  A row that fails leaves the result and is reported, never a silent NULL.
package operator
