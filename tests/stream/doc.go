// Package stream holds what the engine promises of time, windows, output modes and
// joins, as files of cases: rows that come epoch by epoch, and what must leave.
//
// TestCases runs every case of testdata/*.txt in a whole engine in this process,
// from the SQL text to a sink, in several ways that must all give the same: straight
// on; with a stop and a start before each epoch; with a crash at a changing moment
// of each epoch; with two and three tasks, rows in another order and batches of one
// and two rows; with another number of tasks from epoch to epoch, over the same
// state; and with the trigger switched midway, where what is folded up by the
// end of each epoch is compared. The clock is held still and epochs are cut by FLUSH
// alone, so every case is exact.
//
// TestMatrix runs every shape of query with every trigger in every output mode, compares
// the results with the right ones, and what is refused with docs/sql/support-matrix.md,
// which -update writes anew.
//
// A file is UTF-8 text, one statement a line; empty lines and lines that begin with
// # mean nothing. The first word says what the line is. Values are separated by
// blanks; one with blanks in it stands in single quotes. Times and watermarks are
// seconds since 1970-01-01T00:00:00Z; everything else is as PostgreSQL prints it.
//
//	title TEXT · note TEXT                for the reader
//	case NAME                             a new case, which stands alone
//	set NAME VALUE                        an option of the case, below
//	source NAME COL:TYPE … [watermark=COL delay=S] [splits=A,B,…] [declared]
//	       [idle=S] [over_splits=max] [bounded]
//	                                      an append-only source; with declared its
//	                                      DDL has the watermark, else the query; idle
//	                                      and over_splits are its idle_timeout
//	                                      (seconds or off) and watermark_splits; with
//	                                      bounded it ends after the first epoch; a
//	                                      word in quotes is a part of the DDL as
//	                                      it is: a computed column, of which rows have
//	                                      no value, or a watermark
//	table NAME COL:TYPE … [key=COL] [append_only]
//	setup STATEMENT                       a statement before the query: views
//	op NAME KIND N                        the Nth operator of a kind in the plan,
//	                                      named for op= below
//	sql TEXT                              the query, its lines joined in order
//	postgres SQL                          the same for PostgreSQL, where the
//	                                      translation of sql is not
//	postgres none WHY                     PostgreSQL has nothing like it
//	closes COL …                          the columns that end the windows of a row,
//	                                      else window_end and session_end
//	columns COL:TYPE …                    the result's columns; rows have this shape
//	key COL …                             the key that update mode goes by; without
//	                                      the line rows are only added
//	modes MODE …                          the output modes that the case states
//	error MODE SQLSTATE WORD              CREATE in the mode is refused
//	restart · crash                       before an epoch: stop and start, or kill
//	epoch N                               what follows comes in one epoch
//	poll                                  real time: what follows comes in one read
//	clock S                               the clock stands there from this epoch on
//	in REL[/SPLIT] VALUES                 a row comes
//	rows REL[/SPLIT] N VALUES             N rows come; {i*7%10+3} in a value is such
//	                                      a term of their number from 0, computed
//	                                      from the left to the right
//	del TABLE VALUES                      a table's row goes
//	end SOURCE[/SPLIT]                    read to the bound of the run, to the reader
//	finished                              after this epoch the run ends by itself
//	MODES + VALUES · MODES - VALUES       a row is added, or set; is taken back
//	MODES choose N · MODES ? VALUES       exactly N of the rows with ? come
//	wm S [source=X [split=Y]]             the watermark after the epoch; wm 0: none,
//	                                      or at most 0
//	late N · partial N · dups N · nulltime N · state N, each [op=X] [mode=M]
//	                                      the rows that operators counted in the
//	                                      epoch, and the state after it
//	kept SOURCE VALUES wm=S               a late row as it must be found kept, in
//	                                      streamsql.late_rows or the table that
//	                                      option late_rows names; as many rows must be
//	                                      there as the operators have counted
//
// A mode that is stated and has no lines in an epoch gives nothing there. partial,
// dups and nulltime without a line are 0. A line with mode= holds there instead of
// the one without.
//
// Options: state_ttl, watermark_policy, idle_timeout (seconds or off), trigger, late_rows and
// timezone as the engine knows them; files_per_epoch 1: an available_now run reads
// one epoch's rows of a split at a time; order fixed: rows come as they stand here
// in every run; switch off: not run with a changed trigger.
//
// TestCasesEqualPostgres holds the same files against PostgreSQL, without the engine:
// after each epoch, what the file states must come to the query's result there over
// all rows so far. Output lines can be derived from that result, so that none needs
// to come from the engine:
//
//	go test ./tests/stream -run EqualPostgres -derive 'union_*.txt'
//
// TestGenerated makes streams and queries from a seed: every aggregate, over every
// kind of window, in every output mode, with disorder, duplicates, NULLs, idle splits
// and late rows, in epochs with stops and crashes between them and within their
// commit. What comes of a stream must be PostgreSQL's answer to the same query over
// the rows that were in time, and the operators must have counted the others. Which
// those are is worked out from the rules for watermarks alone. STREAMSQL_GENERATED is
// the number of streams, STREAMSQL_GENERATED_SEED the seed of the first group of them;
// a failure names the seed of its group.
//
// testdata/refused.txt lists the cases that the engine refuses as yet, each with
// the error that it gives. A case that has come to work must leave the list.
package stream
