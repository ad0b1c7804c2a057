// Package clock is the engine's only source of time: processing time is read
// through an interface that tests can hold still. time.Now elsewhere is a lint
// error.
package clock
