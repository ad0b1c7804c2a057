package pgwire

import (
	"context"

	"github.com/jackc/pgproto3/v2"
)

// Authenticator decides who may start a session.
type Authenticator interface {
	// Authenticate talks to the client through x until it is sure of it. An error
	// refuses the client and reaches it as FATAL (28P01 for a wrong password).
	Authenticate(ctx context.Context, p *StartupParams, x Exchange) error
}

// Exchange carries the messages of an authentication.
type Exchange interface {
	// Ask sends an authentication request and returns the client's answer: a
	// *pgproto3.PasswordMessage, SASLInitialResponse, SASLResponse or
	// GSSResponse, as authType (pgproto3.AuthType…) makes it.
	Ask(m pgproto3.BackendMessage, authType uint32) (pgproto3.FrontendMessage, error)
	// Tell sends a message that has no answer (AuthenticationSASLFinal).
	Tell(m pgproto3.BackendMessage) error
}

// Trust lets everybody in under the name given.
type Trust struct{}

// Authenticate accepts.
func (Trust) Authenticate(context.Context, *StartupParams, Exchange) error { return nil }

// exchange is a connection during authentication.
type exchange struct{ c *conn }

func (x exchange) Ask(m pgproto3.BackendMessage, authType uint32) (pgproto3.FrontendMessage, error) {
	if err := x.Tell(m); err != nil {
		return nil, err
	}
	if err := x.c.be.SetAuthType(authType); err != nil {
		return nil, err
	}
	msg, err := x.c.receive()
	if err != nil {
		return nil, err
	}
	switch msg.(type) {
	case *pgproto3.PasswordMessage, *pgproto3.SASLInitialResponse, *pgproto3.SASLResponse, *pgproto3.GSSResponse:
		return msg, nil
	}
	return nil, protocolError("expected password response, got message type %d", x.c.typ)
}

func (x exchange) Tell(m pgproto3.BackendMessage) error {
	x.c.out.send(m)
	return x.c.out.flush()
}
