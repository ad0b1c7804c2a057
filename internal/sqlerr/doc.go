// Package sqlerr is the error that reaches a client: a SQLSTATE, a message in
// PostgreSQL's style, a position in the statement's text, a detail and a hint.
//
// Every error that a user can cause is made here, with its code, where it is
// found. Layers above add what they know (position, query, operator) and pass
// it on; errors of other kinds become XX000 at the edge by From.
package sqlerr
