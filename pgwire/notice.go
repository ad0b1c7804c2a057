package pgwire

import "github.com/streamsql/streamsql/internal/sqlerr"

// Notice is a message that is no error: a warning, a notice.
type Notice struct {
	Severity Severity // "" is NOTICE
	Code     sqlerr.Code
	Message  string
	Detail   string
	Hint     string
}
