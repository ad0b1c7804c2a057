// Package session is one client's conversation with the engine: it turns text
// into statements, statements into portals, and keeps what lives between them:
// settings, the transaction, prepared statements and cursors.
//
// Life of a statement: Split parses the text; Prepare analyses one statement,
// for which each kind has a file do_*.go; Bind makes a portal; Next runs it.
// Errors go up as they are and the wire (or the script runner) tells the session
// by Abort.
//
// Life of a transaction: the first statement to run begins an implicit one,
// which Sync commits; BEGIN makes it a block, which COMMIT or ROLLBACK ends. It
// holds the changes of tables (a state.Txn), of the catalog (a catalog.Tx) and
// of the settings. Commit stores catalog changes first, then table changes, then
// starts and stops queries; what cannot be done undoes what was.
//
// Invariants:
//
//	N1  A session is used by one goroutine. What others may see of it (its row in
//	    pg_stat_activity, notifications) is behind a lock.
//	N2  In a failed block nothing runs but the end of it.
//	N3  After an error nothing of the statement remains: the transaction is
//	    rolled back, or failed, or taken back to a savepoint.
//	N4  A statement is analysed again when the catalog or the search path has
//	    changed since; other columns than promised are an error 0A000.
//	N5  No continuous query is started before its object is committed, and none
//	    runs whose object is gone.
package session
