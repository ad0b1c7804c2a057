// Package stream is the life of continuous queries: how they are planned and
// started, paced into epochs, made durable, restarted and stopped.
//
// Life of a query: Create plans it and starts its loop. Each run of the loop reads
// the last checkpoint, settles the sinks with it, connects sources and sinks,
// starts the graph, and paces it epoch by epoch. A run ends with an orderly stop
// (DROP, PAUSE, the end of a bounded run) or with an error, which is retried with
// growing pauses unless it is of a kind that comes back.
//
// Life of an epoch: the pacer says how far to read; source tasks read to there and
// send the barrier; every task acknowledges; the commit writes state, offsets,
// watermarks and rows in one batch, in the background; then the sinks commit and
// whoever waits is told.
//
// Invariants:
//
//	Q1  Epochs of a query are numbered without gaps and committed in order; at most
//	    one commit is outstanding.
//	Q2  A sink's Commit for epoch n comes after the checkpoint of n is durable and
//	    before that of n+1.
//	Q3  The first epoch of a run has a bound, whatever the trigger: stored rows and
//	    static sides are read whole before results leave.
//	Q4  What a query has counted and left out by epoch n is stored with epoch n, so
//	    that a crash neither loses nor doubles it.
//	Q5  What fails here fails one query.
//	Q6  A query whose definition was replaced runs when its state has been brought to the
//	    new one. Of a plan's operators, those keep their state whose like the old plan had,
//	    down to the sources; sources are read on from where they are below these alone.
//	Q7  What is made of records that change rows shows nothing before they have been read
//	    to where they reached when the query began, over restarts.
package stream
