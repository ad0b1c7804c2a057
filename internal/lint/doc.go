// Package lint holds tests about the source itself: which package may import
// which, how long files and functions may be, what may not be called where, and
// whether the documentation names things that exist.
//
// What breaks a rule and stays is in exceptions.txt, one line each with its
// reason. An exception that is not needed any more fails the test too, so the
// list can only shrink.
package lint
