// Package exec is the dataflow machine: operators, the tasks that drive them,
// and the graph that connects tasks.
//
// Three things flow through a graph, in order: batches, watermarks and barriers.
// A barrier ends an epoch; when it has passed an operator, all that the operator
// changed in the epoch is in the task's Delta.
//
// Life of a message: a source task's pump reads a batch from a connector; the
// task drives it through its chain of fused operators by plain calls; at the
// chain's end an edge carries it over a bounded channel to the next task, which
// does the same. Only acknowledgements go the other way.
//
// A finite read (a SELECT) uses the same operators without tasks: Run drives the
// whole tree in one goroutine and ends with one final barrier.
//
// In a checked build (tag invariants) every operator is watched, see checked: what
// breaks X3, X4 or X5 ends the process.
//
// Invariants:
//
//	X1  One goroutine calls all methods of an operator.
//	X2  Whoever gets a batch in ProcessBatch or Emit owns it.
//	X3  An operator sees barriers in order; between two of them it sees the rows of
//	    one epoch from all its inputs and no others.
//	X4  Watermarks never fall. In micro-batch mode a watermark is applied when the
//	    epoch's rows of all inputs are in, just before the barrier.
//	    What an operator adds is ahead of the watermark that it has forwarded; late
//	    rows are passed on by those that do not judge, and dropped by those that do.
//	X5  Stopping is a flag on the barrier; cancelling is the context.
//	X6  Every goroutine is started by package spawn; its panic fails its query.
//	X7  An operator that judges rows by the watermark knows the checkpoint's before
//	    its first row (Resumer): what was late or closed then stays so.
//	X8  now() has one value for the rows of an epoch in all operators, or of a read where
//	    results are eager: messages carry it. It never falls.
//	X9  An operator whose output changes with time alone says at each barrier when it
//	    will next (WakeAt), and then there is an epoch.
package exec
