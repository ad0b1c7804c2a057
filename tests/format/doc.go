// Package format holds the engine to what it wrote before: a data directory of every
// format that there was is opened, asked for everything, given more rows, and asked
// again.
//
// Life of a directory: testdata/script.sql has made it, with each kind of rows and state
// that the store has, in a program of that format; testdata/format-N.tgz is what was in it
// when that program had ended. Run with -update when the format has changed, to add the
// archive of the new one:
//
//	go test ./tests/format -update
//
// Archives of formats before are never made again.
package format
