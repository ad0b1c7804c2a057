// Package pgwire speaks the PostgreSQL wire protocol, version 3.0, to clients
// on one side and to a Session on the other. It knows no SQL: a Backend, which
// the layer above implements, parses, plans and runs.
//
// Life of a connection: Serve accepts it and starts its goroutine; encryption
// requests are answered, the start-up packet is read, the Authenticator asked,
// and the Backend makes a Session. Then messages are served one by one, each
// from start to end in that goroutine, until the client leaves, the protocol is
// violated or the server shuts down; finish tells the client why, and close
// gives everything back.
//
// While the goroutine waits for a message it sleeps in a read with small
// buffers; others reach it by ringing (wait.go). While a statement runs for
// longer, a watcher reads ahead to notice that the client has gone (watch.go).
//
// Invariants:
//
//	W1  Nothing is allocated by the size that a message claims: reader refuses it
//	    over the limit and grows with what arrives.
//	W2  No panic passes serve: one of a decoder is a violation of the protocol, any
//	    other ends this connection with XX000.
//	W3  The output buffer holds whole messages whenever something can fail.
//	W4  Output is written before every read that may block, so that the client
//	    never waits for something that we hold.
//	W5  After an error in the extended protocol nothing but Sync and Terminate is
//	    served until Sync.
//	W6  Session, Statement and Portal are called from the connection's goroutine
//	    alone; of Client, Notify alone may be called from elsewhere.
//	W7  An idle connection keeps one small read buffer and no write buffer.
//	W8  ReadyForQuery carries the transaction status after everything before it.
package pgwire
