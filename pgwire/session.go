package pgwire

import (
	"context"
	"net"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// Backend makes the sessions that connections talk to.
type Backend interface {
	// NewSession starts a session for an authenticated client. It reports the
	// initial value of every reported setting by c.Report, in the order in which
	// the client shall see them, and its limits by c.Limit, before it returns. An
	// error ends the connection as FATAL.
	NewSession(ctx context.Context, p StartupParams, c Client) (Session, error)
}

// StartupParams is what the client said at start-up.
type StartupParams struct {
	User     string
	Database string // the user's name when the client named none
	// Settings are the other parameters in the order sent (application_name,
	// client_encoding, DateStyle, …), followed by those of options='-c a=b'.
	Settings []Setting
	// PID is the number in BackendKeyData: pg_backend_pid().
	PID    uint32
	Remote net.Addr
}

// Setting is a run-time parameter and its value.
type Setting struct{ Name, Value string }

// Client is the session's way to the client besides results. Notify may be
// called from any goroutine and never blocks; the other methods only inside a
// call that the wire made to the session, a statement or a portal.
type Client interface {
	// Notice sends n, unless it is below the MinMessages limit.
	Notice(n *Notice)
	// Report sends a ParameterStatus: after SET, RESET, ROLLBACK of one of them.
	Report(name, value string)
	// Limit sets what the wire keeps for the session, from now on.
	Limit(l Limits)
	// Notify queues a NotificationResponse; it is sent when the session is idle
	// and outside a transaction. False: the client is gone or its queue is full.
	Notify(n Notification) bool
}

// Limits are settings of the session which the wire has to keep. 0: no limit.
type Limits struct {
	StatementTimeout  time.Duration // statement_timeout
	IdleInTransaction time.Duration // idle_in_transaction_session_timeout
	IdleSession       time.Duration // idle_session_timeout
	MinMessages       Severity      // client_min_messages; "" is NOTICE
}

// Notification is a message of NOTIFY.
type Notification struct {
	PID              uint32 // of the notifying session
	Channel, Payload string
}

// Session is one client's session. The wire calls it, its statements and its
// portals from one goroutine, one call at a time.
//
// A statement's errors go to the client as they are; when ctx has ended, the
// wire puts the reason (cancel, timeout, shutdown) in place of the error, so a
// session just returns ctx.Err() then. ctx ends with the call it was given to:
// what a portal keeps running between calls needs a context of its own.
type Session interface {
	Parser
	Transactor
	// Names holds the statements and portals of both the wire and SQL (PREPARE,
	// DECLARE): the session makes one with NewNames and keeps it for its life.
	Names() *Names
	// Env returns the settings that text output depends on now (TimeZone, …).
	Env() *types.Env
	// Close ends the session: rolls back, closes portals. Called once.
	Close() error
}

// Parser turns text into statements.
type Parser interface {
	// Split parses a query string; comments and empty statements are dropped, so
	// the result may be empty. A syntax error anywhere fails the whole string;
	// its position is one in sql.
	Split(sql string) ([]Parsed, error)
	// Prepare analyses one statement. params are the types which the client
	// declared for $1, $2, …, types.Unknown where it leaves the choice. It fails
	// with 25P02 in a failed transaction unless p ends the transaction.
	Prepare(ctx context.Context, p Parsed, params []types.Type) (Statement, error)
}

// Parsed is one statement of a query string. Positions of errors from Prepare,
// Bind and portals are positions in Text.
type Parsed struct {
	Text string
	Off  int // byte offset of Text in the string that was split
	Tree any // the session's own, handed back to Prepare
}

// TxStatus is the transaction state that ReadyForQuery carries.
type TxStatus byte

// The transaction states.
const (
	TxIdle   TxStatus = 'I' // no transaction block
	TxBlock  TxStatus = 'T' // in a block
	TxFailed TxStatus = 'E' // in a block that failed: only its end is accepted
)

// Transactor is the session's transaction state.
//
// Statements outside a block belong to an implicit transaction: the session
// starts it with the first statement and the wire ends it, by Sync at the end
// of a Query message or at a Sync message, or by Abort at the first error.
// BEGIN in between makes a block of it.
type Transactor interface {
	TxStatus() TxStatus
	// Sync commits the implicit transaction; nothing happens in a block or
	// without one. An error means that it was rolled back.
	Sync(ctx context.Context) error
	// Abort tells that a statement failed: an implicit transaction is rolled
	// back, a block becomes failed. Portals of the transaction are closed. The
	// error may have come from anywhere: the wire itself, Split, a failed Sync.
	Abort(cause error)
}

// Statement is an analysed statement. It may be bound many times.
type Statement interface {
	// Params are the types of $1, $2, …, each resolved (never types.Unknown).
	Params() []types.Type
	// Columns describe the result; nil for a statement that returns no rows and
	// for COPY. The same as those of every portal made from it.
	Columns() []Column
	// Bind starts an execution; 25P02 in a failed transaction unless the statement
	// ends it, 0A000 when a change of schema gave it other columns. args holds one row with a column per parameter,
	// nil without parameters; Bind takes it over and releases it.
	Bind(ctx context.Context, args *arrowbatch.Batch) (Portal, error)
}

// Column describes a result column.
type Column struct {
	Name     string
	Type     types.Type
	TableOID uint32 // 0 unless it is a plain column of a table
	AttNum   int16
}

// Portal is an execution of a statement, from Bind until Close.
type Portal interface {
	Columns() []Column
	Traits() Traits
	// Next returns the next rows, at most max of them if max is above 0, and
	// io.EOF at the end. It never returns a batch and an error. A statement
	// without rows runs in its first Next and returns io.EOF. The wire releases
	// the batch; its ops mean nothing. After an error only Close is called.
	Next(ctx context.Context, max int) (*arrowbatch.Batch, error)
	// Tag returns the command tag, called after io.EOF. sent is the number of
	// rows that this execution (Execute message) sent: SELECT 5, FETCH 5.
	Tag(sent int64) string
	// Close frees what the portal holds. Called once.
	Close() error
}

// Traits say how the wire runs a portal.
type Traits struct {
	// Live rows come over time (SUBSCRIBE): each batch is sent at once.
	Live bool
	// CopyOut: each row of the only column, of layout Bytes, is one CopyData.
	CopyOut *CopyFormat
	// CopyIn: the portal is a CopyReceiver. The wire calls Next after CopyDone.
	CopyIn *CopyFormat
}

// CopyFormat is what CopyInResponse and CopyOutResponse announce.
type CopyFormat struct {
	Binary  bool
	Columns int
}

// CopyReceiver is a portal of COPY … FROM STDIN. After the last chunk the wire
// calls Next until io.EOF, then Tag; when the client fails the copy or goes
// away, or when WriteCopy failed, it calls Abort on the session and Close.
type CopyReceiver interface {
	Portal
	// WriteCopy takes the next bytes of the stream, cut anywhere; chunk is valid
	// during the call only.
	WriteCopy(ctx context.Context, chunk []byte) error
}

// Severity is the severity of a notice, spelt as PostgreSQL does.
type Severity string

// The severities of notices, and the level of client_min_messages that lets no
// notice pass.
const (
	SeverityDebug   Severity = "DEBUG"
	SeverityLog     Severity = "LOG"
	SeverityInfo    Severity = "INFO" // always sent
	SeverityNotice  Severity = "NOTICE"
	SeverityWarning Severity = "WARNING"
	SeverityError   Severity = "ERROR"
)
