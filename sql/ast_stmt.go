package sql

// ControlAction is what is done to a running query.
type ControlAction uint8

// The actions on running queries.
const (
	Pause ControlAction = iota
	Resume
	Restart
)

func (a ControlAction) String() string { return [...]string{"PAUSE", "RESUME", "RESTART"}[a] }

// Control is PAUSE, RESUME or RESTART query [FROM SAVEPOINT name].
type Control struct {
	Span
	Action ControlAction
	Name   QualifiedName
	// Savepoint is given with RESTART only.
	Savepoint Name
}

// Await is AWAIT query [TIMEOUT 'interval'], or AWAIT ANY (Any set, no Name).
type Await struct {
	Span
	Any     bool
	Name    QualifiedName
	Timeout Expr // *StringLit or interval *TypedLit, nil when absent
}

// Flush is FLUSH.
type Flush struct{ Span }

// Subscribe is SUBSCRIBE [TO] relation or query; one of Relation and Query is set.
type Subscribe struct {
	Span
	Relation *Relation
	Query    *Query
	Options  []Option
}

// Explain is EXPLAIN. ANALYZE and VERBOSE written as words arrive as options
// without a value, like those in parentheses.
type Explain struct {
	Span
	Options []Option
	Stmt    Statement
}

// ExplainWait is EXPLAIN WAIT query.
type ExplainWait struct {
	Span
	Name QualifiedName
}

// Show is SHOW parameter; Name is folded ("all", "time zone" is "timezone",
// "transaction isolation level" is "transaction_isolation").
type Show struct {
	Span
	Name Name
}

// ShowObjects is SHOW SOURCES, SHOW TABLES …; What is in lower case.
type ShowObjects struct {
	Span
	What string // "sources", "materialized views", "queries" …
	From QualifiedName
	Like *StringLit
}

// ShowCreate is SHOW CREATE kind name.
type ShowCreate struct {
	Span
	Kind ObjectKind
	Name QualifiedName
}

// ShowColumns is SHOW COLUMNS FROM relation.
type ShowColumns struct {
	Span
	Name QualifiedName
}

// ShowProgress is SHOW PROGRESS FOR query.
type ShowProgress struct {
	Span
	Name QualifiedName
}

// SetScope is SESSION (also the default) or LOCAL.
type SetScope uint8

// The scopes of SET.
const (
	ScopeSession SetScope = iota
	ScopeLocal
)

// Set is SET [SESSION|LOCAL] name = values. Values is nil for DEFAULT and else
// holds literals, with bare words as *StringLit. SET TIME ZONE is the parameter
// timezone, SET NAMES client_encoding, SET SCHEMA search_path, SET ROLE role,
// SET SESSION AUTHORIZATION session_authorization.
type Set struct {
	Span
	Scope  SetScope
	Name   Name
	Values []Expr
}

// Reset is RESET name; Name is "all" for RESET ALL.
type Reset struct {
	Span
	Name Name
}

// TxModes are the modes of a transaction; empty strings and nil mean not given.
type TxModes struct {
	Isolation  string // "serializable", "repeatable read", "read committed", "read uncommitted"
	ReadOnly   *bool
	Deferrable *bool
}

// SetTransaction is SET TRANSACTION modes, or SET SESSION CHARACTERISTICS AS
// TRANSACTION modes when Session is set.
type SetTransaction struct {
	Span
	Session  bool
	Modes    TxModes
	Snapshot string
}

// Begin is BEGIN or START TRANSACTION.
type Begin struct {
	Span
	Start bool // written START TRANSACTION
	Modes TxModes
}

// Commit is COMMIT or END.
type Commit struct {
	Span
	Chain bool
}

// Rollback is ROLLBACK or ABORT.
type Rollback struct {
	Span
	Chain bool
}

// Savepoint is SAVEPOINT name.
type Savepoint struct {
	Span
	Name Name
}

// ReleaseSavepoint is RELEASE [SAVEPOINT] name.
type ReleaseSavepoint struct {
	Span
	Name Name
}

// RollbackTo is ROLLBACK TO [SAVEPOINT] name.
type RollbackTo struct {
	Span
	Name Name
}

// DeclareCursor is DECLARE name CURSOR FOR query. Stmt is a *QueryStmt or a
// *Subscribe.
type DeclareCursor struct {
	Span
	Name        Name
	Binary      bool
	Insensitive bool
	Scroll      *bool // nil: neither SCROLL nor NO SCROLL
	Hold        bool
	Stmt        Statement
}

// FetchDirection says where a cursor goes.
type FetchDirection uint8

// Cursor movements; NEXT is forward 1, PRIOR backward 1, FIRST absolute 1, LAST
// absolute -1.
const (
	FetchForward FetchDirection = iota
	FetchBackward
	FetchAbsolute
	FetchRelative
)

// Fetch is FETCH, or MOVE when Move is set.
type Fetch struct {
	Span
	Move      bool
	Direction FetchDirection
	All       bool
	Count     int64
	Cursor    Name
}

// CloseCursor is CLOSE name; All for CLOSE ALL.
type CloseCursor struct {
	Span
	All  bool
	Name Name
}

// CopyEnd is the far end of a COPY.
type CopyEnd uint8

// The far ends of COPY.
const (
	CopyStdio CopyEnd = iota // STDIN or STDOUT
	CopyFile
	CopyProgram
)

// Copy is COPY. One of Table and Stmt is set; Stmt (COPY (query) TO) is a
// *QueryStmt, *Subscribe, *Insert, *Update or *Delete. Both option syntaxes
// arrive as Options.
type Copy struct {
	Span
	Table   *QualifiedName
	Columns []Name
	Stmt    Statement
	From    bool // else TO
	End     CopyEnd
	Path    string // file or program
	Options []Option
	Where   Expr
}

// Prepare is PREPARE name [(types)] AS statement.
type Prepare struct {
	Span
	Name     Name
	Types    []*TypeName
	Stmt     Statement
	StmtSpan Span
}

// Execute is EXECUTE name [(args)].
type Execute struct {
	Span
	Name Name
	Args []Expr
}

// Deallocate is DEALLOCATE [PREPARE] name; All for DEALLOCATE ALL.
type Deallocate struct {
	Span
	All  bool
	Name Name
}

// Discard is DISCARD what: "all", "plans", "sequences", "temp".
type Discard struct {
	Span
	What string
}

// Listen is LISTEN channel.
type Listen struct {
	Span
	Channel Name
}

// Unlisten is UNLISTEN channel; All for UNLISTEN *.
type Unlisten struct {
	Span
	All     bool
	Channel Name
}

// Notify is NOTIFY channel [, 'payload'].
type Notify struct {
	Span
	Channel Name
	Payload string
}

// Comment is COMMENT ON kind name IS text; Text is nil for NULL. For
// KindColumn the last part of Column is the column and Name its relation.
type Comment struct {
	Span
	Kind   ObjectKind
	Name   QualifiedName
	Column Name
	Text   *string
}

// LockTable is LOCK [TABLE] names [IN mode MODE] [NOWAIT].
type LockTable struct {
	Span
	Tables []QualifiedName
	Mode   string // "ACCESS EXCLUSIVE" when not given
	NoWait bool
}

// Maintenance is VACUUM, ANALYZE, CHECKPOINT or REINDEX: accepted and without
// effect. Verb is in upper case.
type Maintenance struct {
	Span
	Verb   string
	Tables []QualifiedName
}

// Backup is BACKUP TO 'path'.
type Backup struct {
	Span
	Path    string
	Options []Option
}

func (*QueryStmt) statement()        {}
func (*CreateSource) statement()     {}
func (*CreateTable) statement()      {}
func (*CreateView) statement()       {}
func (*CreateSink) statement()       {}
func (*CreateFlow) statement()       {}
func (*Insert) statement()           {}
func (*Update) statement()           {}
func (*Delete) statement()           {}
func (*Truncate) statement()         {}
func (*Drop) statement()             {}
func (*AlterSet) statement()         {}
func (*AlterRename) statement()      {}
func (*Control) statement()          {}
func (*Await) statement()            {}
func (*Flush) statement()            {}
func (*Subscribe) statement()        {}
func (*Explain) statement()          {}
func (*ExplainWait) statement()      {}
func (*Show) statement()             {}
func (*ShowObjects) statement()      {}
func (*ShowCreate) statement()       {}
func (*ShowColumns) statement()      {}
func (*ShowProgress) statement()     {}
func (*Set) statement()              {}
func (*Reset) statement()            {}
func (*SetTransaction) statement()   {}
func (*Begin) statement()            {}
func (*Commit) statement()           {}
func (*Rollback) statement()         {}
func (*Savepoint) statement()        {}
func (*ReleaseSavepoint) statement() {}
func (*RollbackTo) statement()       {}
func (*DeclareCursor) statement()    {}
func (*Fetch) statement()            {}
func (*CloseCursor) statement()      {}
func (*Copy) statement()             {}
func (*Prepare) statement()          {}
func (*Execute) statement()          {}
func (*Deallocate) statement()       {}
func (*Discard) statement()          {}
func (*Listen) statement()           {}
func (*Unlisten) statement()         {}
func (*Notify) statement()           {}
func (*Comment) statement()          {}
func (*LockTable) statement()        {}
func (*Maintenance) statement()      {}
func (*Backup) statement()           {}
