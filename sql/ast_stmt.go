package sql

// QueryStmt is a query as a statement.
type QueryStmt struct {
	Span
	Query *Query
}

// ObjectKind is a kind of catalog object that statements name.
type ObjectKind uint8

// The kinds of objects.
const (
	KindTable ObjectKind = iota
	KindSource
	KindView
	KindMaterializedView
	KindSink
	KindFlow
	KindColumn // COMMENT ON only
)

func (k ObjectKind) String() string {
	return [...]string{"TABLE", "SOURCE", "VIEW", "MATERIALIZED VIEW", "SINK", "FLOW", "COLUMN"}[k]
}

// Option is name = value. Name is folded and may be dotted; Value is nil when
// only the name was written, a literal, a *Unary minus of a number, a *ColumnRef
// for a bare word, or a *Row for a parenthesised list.
type Option struct {
	Name  Name
	Value Expr
}

// Format is FORMAT row ENCODE encoding (options); words are in lower case.
type Format struct {
	Pos     int
	Row     string // plain, upsert, debezium …; "" when only ENCODE was written
	Encode  string // json, csv, avro …; "" when absent
	Options []Option
	// KeyEncode is KEY ENCODE encoding (options), "" when absent.
	KeyEncode  string
	KeyOptions []Option
}

// ColumnDef is a column of CREATE TABLE or CREATE SOURCE.
type ColumnDef struct {
	Name       Name
	Type       *TypeName // nil only for a generated column without a type
	NotNull    bool
	PrimaryKey bool
	Unique     bool
	Default    Expr
	Generated  Expr // name type AS expr, GENERATED ALWAYS AS (expr) STORED
	Identity   bool // GENERATED … AS IDENTITY
	Check      Expr
	Collation  QualifiedName
}

// WatermarkDef is WATERMARK FOR column AS expr; X may be nil (the column itself).
type WatermarkDef struct {
	Pos    int
	Column Name
	X      Expr
}

// KeyDef is a table-level PRIMARY KEY (…) or UNIQUE (…).
type KeyDef struct {
	Pos     int
	Name    Name // CONSTRAINT name
	Columns []Name
}

// IncludeItem is one metadata column of INCLUDE.
type IncludeItem struct {
	Pos int
	// What is key, partition, offset, timestamp, headers, header or another word.
	What string
	// Key is the header's name in INCLUDE HEADER 'x'.
	Key string
	As  Name
}

// TableDef is what CREATE TABLE and CREATE SOURCE share.
type TableDef struct {
	Name        QualifiedName
	IfNotExists bool
	Columns     []ColumnDef
	PrimaryKey  *KeyDef
	Uniques     []KeyDef
	Checks      []Expr
	Watermarks  []WatermarkDef
	Include     []IncludeItem
	Options     []Option
	Format      *Format
}

// CreateSource is CREATE SOURCE.
type CreateSource struct {
	Span
	TableDef
}

// CreateTable is CREATE TABLE; As is the query of CREATE TABLE … AS.
type CreateTable struct {
	Span
	TableDef
	Temporary   bool
	AppendOnly  bool
	ColumnNames []Name // with As
	As          *Query
	AsSpan      Span
	WithNoData  bool
}

// Emit says what EMIT asks for.
type Emit uint8

// The EMIT clauses.
const (
	EmitDefault       Emit = iota
	EmitOnWindowClose      // = output_mode 'append'
	EmitChanges            // = output_mode 'update'
)

// CreateView is CREATE [MATERIALIZED] VIEW.
type CreateView struct {
	Span
	Name         QualifiedName
	Materialized bool
	OrReplace    bool
	IfNotExists  bool
	Temporary    bool
	Columns      []Name
	Options      []Option
	Query        *Query
	QuerySpan    Span
	Emit         Emit
}

// CreateSink is CREATE SINK. One of From and Query is set, or none (a sink that
// flows feed).
type CreateSink struct {
	Span
	Name        QualifiedName
	IfNotExists bool
	From        *Relation
	Query       *Query
	QuerySpan   Span
	Emit        Emit
	Options     []Option
	Format      *Format
}

// CreateFlow is CREATE FLOW name INTO sink AS query.
type CreateFlow struct {
	Span
	Name        QualifiedName
	IfNotExists bool
	Sink        QualifiedName
	Options     []Option
	Query       *Query
	QuerySpan   Span
	Emit        Emit
}

// OnConflict is ON CONFLICT [(keys)] DO NOTHING | DO UPDATE SET … [WHERE …].
type OnConflict struct {
	Pos        int
	Keys       []Expr
	Constraint Name // ON CONFLICT ON CONSTRAINT name
	KeyWhere   Expr
	Update     []SetItem // empty = DO NOTHING
	Where      Expr
}

// SetItem is column = value, or (columns) = row or subquery.
type SetItem struct {
	Columns []Name
	Multi   bool // written with parentheses around the columns
	Value   Expr // *Default, *Row or *Subquery for Multi, or any expression
}

// Insert is INSERT; Query is nil for DEFAULT VALUES.
type Insert struct {
	Span
	With       *With
	Table      QualifiedName
	Alias      Name
	Columns    []Name
	Overriding string // "", "SYSTEM", "USER"
	Query      *Query
	OnConflict *OnConflict
	Returning  []Target
}

// Update is UPDATE.
type Update struct {
	Span
	With      *With
	Table     *Relation
	Set       []SetItem
	From      []TableRef
	Where     Expr
	Returning []Target
}

// Delete is DELETE.
type Delete struct {
	Span
	With      *With
	Table     *Relation
	Using     []TableRef
	Where     Expr
	Returning []Target
}

// Truncate is TRUNCATE [TABLE] names.
type Truncate struct {
	Span
	Tables          []QualifiedName
	RestartIdentity bool
	Cascade         bool
}

// Drop is DROP kind [IF EXISTS] names [CASCADE].
type Drop struct {
	Span
	Kind     ObjectKind
	IfExists bool
	Names    []QualifiedName
	Cascade  bool
}

// AlterSet is ALTER kind name SET (options), and RESET (names) with nil values.
type AlterSet struct {
	Span
	Kind     ObjectKind
	IfExists bool
	Name     QualifiedName
	Reset    bool
	Options  []Option
}

// AlterRename is ALTER kind name RENAME TO name.
type AlterRename struct {
	Span
	Kind     ObjectKind
	IfExists bool
	Name     QualifiedName
	NewName  Name
}

// ControlAction is what is done to a running query.
type ControlAction uint8

// The actions on running queries.
const (
	Pause ControlAction = iota
	Resume
	Restart
)

func (a ControlAction) String() string { return [...]string{"PAUSE", "RESUME", "RESTART"}[a] }

// Control is PAUSE, RESUME or RESTART query.
type Control struct {
	Span
	Action ControlAction
	Name   QualifiedName
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
