// Package types is SQL's types: their names, oids and layouts, how their values
// are written and read, how one type becomes another, and the calendar.
//
// Life of a value: an input function (ParseText, ParseString, ParseBinary)
// appends it to a column, kernels work on the column, an output function
// (AppendText, AppendBinary) writes it from there. There is no value by itself;
// the functions for a single type (ParseTimestamp, AppendInterval …) serve
// kernels that hold plain numbers. What depends on the session comes in an Env.
//
// Times are microseconds since 1970-01-01 00:00:00, of UTC for timestamptz and
// of a clock without a zone for timestamp; dates are days since then. Infinities
// are the least and the greatest number. Text that may not be kept is read in
// place: no function here keeps its argument.
//
// Invariants:
//
//	T1  What AppendText writes, ParseText reads back as the same value; the same
//	    for AppendBinary and ParseBinary.
//	T2  Text, errors and SQLSTATEs are PostgreSQL 15's. Known exceptions: numeric
//	    holds 36 digits (see package decimal), timestamps end in the year 294247,
//	    arrays have one dimension that begins at 1, and the few of PostgreSQL's own
//	    slips that the comparison in pg_test.go lists.
//	T3  On an error the column is as it was before.
//	T4  jsonb is kept in its canonical text: equal documents are equal bytes.
//	T5  char(n) is kept with its blanks, varchar(n) and char(n) within n characters,
//	    and every text type but "char" holds valid UTF-8 without a zero byte.
//	T6  No time zone is looked up and no clock is read but through Env.
package types
