// Package spawn starts every goroutine of the engine: it names it, recovers its
// panic and reports it as an error, so that a panic is one query's failure and
// never the server's end. A bare go statement elsewhere is a lint error.
package spawn
