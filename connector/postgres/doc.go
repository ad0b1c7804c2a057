// Package postgres writes tables of PostgreSQL.
//
// Life of a sink: checkSink parses the options at CREATE and looks at the table in a
// transaction that leaves nothing; newSink parses them again and starts nothing; Open
// connects, makes the table if the options say so, and reads which epoch the database
// has; Write encodes rows as tuples of COPY's binary format and, a piece at a time, puts
// them into the outbox; Prepare puts the rest there; Commit copies an epoch's pieces from
// there into the table, and the epoch's number into the table of progress, in one
// transaction. Close ends the connections.
//
// Rows whose columns have the very types of the table's are copied into it. Others,
// and those of FORMAT UPSERT, are copied into a temporary table and brought into their
// own by INSERT … SELECT, which casts them, with ON CONFLICT over the key; the keys of
// rows that are gone are deleted before.
//
// A part has one connection. What fails on one that was used before is tried again on
// a new one at once, and then, if waiting can heal it, with growing pauses.
//
// Invariants:
//
//	P1  An epoch's rows and its number are written in one transaction, which begins with a
//	    lock of the part's row of progress: what an earlier connection has sent comes to
//	    its end before.
//	P2  An epoch is written if and only if the number there is that of the epoch before
//	    which had rows; if it is the epoch's own, it is in the table already; anything else
//	    is an error.
//	P3  Pieces leave the outbox after their transaction's commit has been answered.
//	P4  A key has one tuple in a piece, that of its last change; pieces are written in order.
//	P5  Tuples go into a table directly only while its columns have the types that they are
//	    encoded in: the types are looked at again in the same transaction, after the copy.
//	P6  Memory is bounded by a piece: what an epoch has more lies in the outbox.
//	P7  A server that is away, restarts, takes no writes or ends a transaction for another's
//	    sake is waited for; what it says of a row or of the table ends the query.
package postgres
