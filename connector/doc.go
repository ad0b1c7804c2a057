// Package connector is the contract between the engine and the outside world:
// what a source and a sink must do, and the options and specs they are made from.
//
// Life of a source: CheckSource at CREATE; Factory.Source when a query that reads
// it starts; Splits and Latest by the query's coordinator; Open for each split at
// its checkpointed offset; Read until the query stops; Close.
//
// Life of a sink: CheckSink at CREATE; Factory.Sink at start; Commit for the last
// epoch of the checkpoint (again, if need be), then Abort, then Open; Write and, at
// each barrier, Prepare; Commit once the checkpoint is durable; Close.
//
// Invariants:
//
//	C1  A split read from an offset gives the same rows in the same order, however
//	    it is cut into batches.
//	C2  Rows before an offset that Read returned are never returned after it.
//	C3  Nothing that was written after the last Prepare is visible after Abort, for
//	    sinks that promise exactly-once.
//	C4  Commit with the same arguments twice is the same as once.
//	C5  An unreachable end is waited for with backoff, not failed; it is reported
//	    through the reader's status.
package connector
