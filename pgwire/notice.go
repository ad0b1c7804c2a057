package pgwire

import (
	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Notice is a message that is no error: a warning, a notice.
type Notice struct {
	Severity Severity    // "" is NOTICE
	Code     sqlerr.Code // "" is 00000, 01000 for a warning
	Message  string
	Detail   string
	Hint     string
}

// rank orders the severities as client_min_messages does.
func (s Severity) rank() int {
	switch s {
	case SeverityDebug:
		return 0
	case SeverityLog:
		return 1
	case SeverityWarning:
		return 3
	case SeverityError:
		return 4
	}
	return 2
}

// passes tells whether a notice of severity s reaches a client whose
// client_min_messages is least.
func (s Severity) passes(least Severity) bool {
	return s == SeverityInfo || s.rank() >= least.rank()
}

func (n *Notice) message() *pgproto3.NoticeResponse {
	sev, code := n.Severity, n.Code
	if sev == "" {
		sev = SeverityNotice
	}
	if code == "" {
		code = sqlerr.SuccessfulCompletion
		if sev == SeverityWarning {
			code = sqlerr.Warning
		}
	}
	return &pgproto3.NoticeResponse{
		Severity:            string(sev),
		SeverityUnlocalized: string(sev),
		Code:                string(code),
		Message:             clean(n.Message),
		Detail:              clean(n.Detail),
		Hint:                clean(n.Hint),
	}
}
