// Package state keeps everything that must survive a crash in one Pebble store:
// operator state, checkpoints, stored relations with their change feeds, and the
// catalog's objects. It also holds the hash tables that operators work in.
//
// Life of an epoch: operators change their own memory (Groups and flat slices).
// At the barrier each writes what changed into a Delta and goes on with the next
// epoch; the coordinator hands all Deltas with the Checkpoint record to Commit,
// which makes them durable in one synced batch; only then are offsets
// acknowledged and sinks committed.
//
// Invariants:
//
//	S1  An epoch is in the store whole or not at all: one batch, one sync.
//	S2  A reader's Snapshot shows whole epochs and whole transactions only.
//	S3  Epochs of one query are committed in order, without gaps.
//	S4  A relation's version rises by one with each commit that changes it, and
//	    its feed holds the changes of every version after the oldest that a
//	    registered reader still needs.
//	S5  The directory's format version is written first and checked first; a
//	    newer one is refused.
//	S6  A query's records (rows that it left out) are written with the epoch in
//	    which it did, and with the counts of that epoch.
//	S7  Whoever fails to commit has changed nothing.
//	S8  A directory has a whole store or, after a crash while it was made, the mark
//	    that there is none yet.
//	S9  A savepoint is seen when it is whole, and does not change then.
//	S10  A change of a query's state is done with the checkpoint that names it, and can be
//	    made again until then.
package state
