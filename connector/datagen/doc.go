// Package datagen is a source of made-up rows with the columns that the statement
// declares, for tests, demonstrations and load.
//
// Options: rows_per_second (0: as fast as they are read; the default is 1000, or 0
// with number_of_rows), number_of_rows (0: no end), seed, splits; and for a column
// c of
//
//	any type          fields.c.kind = 'random' | 'sequence', fields.c.null_rate = 0 … 1
//	numbers           random: min, max; sequence: start, end (then again from start)
//	times, dates      sequence, the default: start, step, jitter (how much earlier a
//	                  time may be than its turn); random: start, end
//	text, bytea       random: length, or values = 'a,b,c'; sequence: prefix, start, end
//	boolean, uuid     random
//
// Invariants:
//
//	G1  Row n is a pure function of the seed, n and the column's name and options:
//	    neither the splits nor the other columns change it.
package datagen
