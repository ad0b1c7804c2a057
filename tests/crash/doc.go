// Package crash holds the engine against a file system that loses what was not
// synced.
//
// TestCrashPoints runs a whole engine over a file system in memory: a stream into a
// view, a view on it and a two-phase sink, transactions of a client on two tables,
// a view on one of them, objects that come and go. Before every sync of any file the
// file system is cloned as a machine would find it after a power failure at that
// moment, with none, half or all of what was not synced; from time to time the
// engine itself goes on from such a clone, so that recovery is crashed too. In each
// clone:
//
//	the store opens, and every object in the catalog can be read;
//	the stream's views are those of exactly the rows before the checkpoint's offset;
//	the sink has every epoch up to the checkpoint's once, the last one committed or
//	prepared;
//	of a stream of which a part is late and a part cannot be read, every record is in
//	its window or in the table for such rows, once, and counted once;
//	every transaction that a client was told of is there, and none in part.
//
// STREAMSQL_CRASH_POINTS sets how many syncs are crashed.
package crash
