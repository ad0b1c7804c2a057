package sql

import "github.com/streamsql/streamsql/sql/dialect"

// MaxDepth bounds how many expressions, operators, queries and joins may be
// inside one another on any path of a tree; deeper texts are refused with 54001.
// Left-deep chains (a + b + c …, UNION …) count one per link; those of AND and OR
// are flat.
const MaxDepth = dialect.MaxHeight

// Span is a half-open range of byte offsets in the source text.
type Span struct{ Start, End int }

// Extent returns the range; embedding a Span gives a statement this method.
func (s Span) Extent() Span { return s }

// Of returns the part of text that the span covers.
func (s Span) Of(text string) string { return text[s.Start:s.End] }

// Statement is one SQL statement. The set of implementations is closed.
type Statement interface {
	// Extent is where the statement's text lies, without its semicolon.
	Extent() Span
	statement()
}

// Name is an identifier. Text is folded to lower case unless it was quoted.
// The zero Name (empty Text) stands for an absent name.
type Name struct {
	Text string
	Pos  int
}

// Given tells whether the name is present.
func (n Name) Given() bool { return n.Text != "" }

// QualifiedName is [[catalog.]schema.]name.
type QualifiedName struct {
	Catalog, Schema, Name Name
}

// Pos is the offset of the first part that is present.
func (q QualifiedName) Pos() int {
	switch {
	case q.Catalog.Given():
		return q.Catalog.Pos
	case q.Schema.Given():
		return q.Schema.Pos
	}
	return q.Name.Pos
}

// Query is a complete query expression: WITH, body, ORDER BY, LIMIT.
type Query struct {
	Pos     int
	With    *With
	Body    QueryBody
	OrderBy []SortItem
	// Limit and Offset are nil when absent; LIMIT ALL and LIMIT NULL give a *NullLit.
	Limit, Offset Expr
	// WithTies is set by FETCH FIRST n ROWS WITH TIES.
	WithTies bool
	Locks    []LockClause
}

// QueryBody is what a Query orders and limits: *Select, *SetOp, *Values,
// *TableBody, or a parenthesised *Query that has its own WITH, ORDER BY or LIMIT
// (parentheses without these leave no trace).
type QueryBody interface {
	Position() int
	queryBody()
}

// Select is one SELECT core.
type Select struct {
	Pos   int
	Hints []Hint
	// Distinct is set for DISTINCT and DISTINCT ON; DistinctOn holds the latter's keys.
	Distinct   bool
	DistinctOn []Expr
	// Targets may be empty (SELECT FROM t).
	Targets []Target
	// From holds the comma-separated items.
	From          []TableRef
	Where         Expr
	GroupBy       []GroupItem
	GroupDistinct bool
	Having        Expr
	Windows       []NamedWindow
	Dedup         *Dedup
}

// Hint is one hint of a /*+ NAME(arg, …) */ comment after SELECT; Name is folded.
type Hint struct {
	Name Name
	Args []Name
}

// Dedup is DEDUPLICATE BY keys [WITHIN WATERMARK | WITHIN interval].
type Dedup struct {
	Pos  int
	Keys []Expr
	// WithinWatermark keeps keys until the watermark has passed their event time.
	WithinWatermark bool
	// Within is the time a key is remembered, nil when not given.
	Within Expr
}

// Target is an item of a select list or RETURNING list. X is a *Star for * and t.*.
type Target struct {
	X     Expr
	Alias Name
}

// SetOpKind is UNION, INTERSECT or EXCEPT.
type SetOpKind uint8

// The set operations.
const (
	Union SetOpKind = iota
	Intersect
	Except
)

func (k SetOpKind) String() string { return [...]string{"UNION", "INTERSECT", "EXCEPT"}[k] }

// SetOp combines two bodies. INTERSECT binds tighter than the other two.
type SetOp struct {
	Pos         int // of the operator word
	Op          SetOpKind
	All         bool
	Left, Right QueryBody
}

// Values is VALUES (…), (…). Rows may hold *Default inside an INSERT.
type Values struct {
	Pos  int
	Rows [][]Expr
}

// TableBody is TABLE name.
type TableBody struct {
	Pos int
	Rel *Relation
}

// With is WITH [RECURSIVE] ctes.
type With struct {
	Pos       int
	Recursive bool
	CTEs      []CTE
}

// Materialization says what AS [NOT] MATERIALIZED asked for.
type Materialization uint8

// The choices of AS [NOT] MATERIALIZED.
const (
	MaterializeDefault Materialization = iota
	MaterializeAlways
	MaterializeNever
)

// CTE is one common table expression.
type CTE struct {
	Name        Name
	Columns     []Name
	Materialize Materialization
	Query       *Query
}

// SortOrder and NullsOrder say how an ORDER BY item sorts.
type (
	SortOrder  uint8
	NullsOrder uint8
)

// Sort directions; SortUsing comes with an operator.
const (
	Ascending SortOrder = iota
	Descending
	SortUsing
)

// Where nulls go; NullsDefault is last for ascending and first for descending.
const (
	NullsDefault NullsOrder = iota
	NullsFirst
	NullsLast
)

// SortItem is one item of an ORDER BY list.
type SortItem struct {
	X     Expr
	Order SortOrder
	Using Operator // with SortUsing
	Nulls NullsOrder
}

// LockClause is FOR UPDATE, FOR SHARE and the like.
type LockClause struct {
	Pos      int
	Strength string // "UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"
	Of       []QualifiedName
	Wait     string // "", "NOWAIT", "SKIP LOCKED"
}

// GroupKind tells the forms of a GROUP BY item apart.
type GroupKind uint8

// The forms of a GROUP BY item.
const (
	GroupExpr  GroupKind = iota // X
	GroupEmpty                  // ()
	GroupRollup
	GroupCube
	GroupSets
)

// GroupItem is one item of GROUP BY. Rollup and cube hold GroupExpr items (a
// parenthesised list is one *Row); sets may hold any kind.
type GroupItem struct {
	Pos   int
	Kind  GroupKind
	X     Expr
	Items []GroupItem
}

// NamedWindow is one item of the WINDOW clause.
type NamedWindow struct {
	Name Name
	Spec *WindowSpec
}

// WindowSpec is what stands after OVER or in a WINDOW clause.
type WindowSpec struct {
	Pos int
	// Ref is the window named by OVER w (then Bare is set) or copied by OVER (w …).
	Ref         Name
	Bare        bool
	PartitionBy []Expr
	OrderBy     []SortItem
	Frame       *Frame
}

// FrameUnit is ROWS, RANGE or GROUPS.
type FrameUnit uint8

// The frame units.
const (
	FrameRows FrameUnit = iota
	FrameRange
	FrameGroups
)

// BoundKind tells frame bounds apart.
type BoundKind uint8

// The frame bounds.
const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameExclude is the EXCLUDE clause of a frame.
type FrameExclude uint8

// The EXCLUDE clauses.
const (
	ExcludeNoOthers FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// FrameBound is one end of a frame; Offset is set for the two offset kinds.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr
}

// Frame is a window frame. Without BETWEEN, End is CurrentRow.
type Frame struct {
	Pos        int
	Unit       FrameUnit
	Start, End FrameBound
	Exclude    FrameExclude
}

// TableRef is an item of FROM: *Relation, *DerivedTable, *TableFunc or *Join.
type TableRef interface {
	Position() int
	tableRef()
}

// Alias is AS name [(columns)].
type Alias struct {
	Name    Name
	Columns []Name
}

// Relation is a named relation.
type Relation struct {
	Pos  int
	Name QualifiedName
	// Stream is set by STREAM name: read it as an unbounded stream of inserts.
	Stream bool
	// Only is set by ONLY name.
	Only      bool
	AsOf      Expr // FOR SYSTEM_TIME AS OF, else nil
	Watermark *WatermarkClause
	Alias     *Alias
}

// WatermarkClause is WATERMARK expr [AS name] DELAY OF delay in a query.
type WatermarkClause struct {
	Pos   int
	Time  Expr
	As    Name
	Delay Expr
}

// DerivedTable is a parenthesised query in FROM; Alias may be nil.
type DerivedTable struct {
	Pos       int
	Lateral   bool
	Query     *Query
	Watermark *WatermarkClause
	Alias     *Alias
}

// TableFunc is a function in FROM, or several in ROWS FROM (…). TABLE(f(…)) is
// the same as f(…). A *RelationArg among the arguments is a relation: the first
// argument of TUMBLE, HOP, SESSION and CUMULATE always is one.
type TableFunc struct {
	Pos        int
	Lateral    bool
	RowsFrom   bool
	Calls      []TableCall
	Ordinality bool
	Watermark  *WatermarkClause
	Alias      *Alias
	// Columns is the column definition list AS x(a int, b text), nil when absent.
	Columns []ColumnType
}

// TableCall is one function of a TableFunc. Call is a *FuncCall, or a *ValueFunc
// (FROM current_date) or *Cast, which PostgreSQL also admits.
type TableCall struct {
	Call    Expr
	Columns []ColumnType // ROWS FROM (f() AS (a int))
}

// ColumnType is a column name with its type.
type ColumnType struct {
	Name Name
	Type *TypeName
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The join kinds; CrossJoin has no condition.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
)

func (k JoinKind) String() string {
	return [...]string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"}[k]
}

// Join joins two items. Exactly one of Natural, Using, On is given, none for a
// cross join.
type Join struct {
	Pos         int // of the first word of the join (LEFT, JOIN, NATURAL, ASOF …)
	Kind        JoinKind
	Asof        bool
	Natural     bool
	Left, Right TableRef
	Using       []Name
	UsingAlias  Name // JOIN … USING (…) AS alias
	On          Expr
	Alias       *Alias // (a JOIN b …) AS alias
}

// Position returns the node's offset in the text.
func (q *Query) Position() int        { return q.Pos }
func (s *Select) Position() int       { return s.Pos }
func (s *SetOp) Position() int        { return s.Pos }
func (v *Values) Position() int       { return v.Pos }
func (t *TableBody) Position() int    { return t.Pos }
func (r *Relation) Position() int     { return r.Pos }
func (d *DerivedTable) Position() int { return d.Pos }
func (t *TableFunc) Position() int    { return t.Pos }
func (j *Join) Position() int         { return j.Pos }

func (*Query) queryBody()     {}
func (*Select) queryBody()    {}
func (*SetOp) queryBody()     {}
func (*Values) queryBody()    {}
func (*TableBody) queryBody() {}

func (*Relation) tableRef()     {}
func (*DerivedTable) tableRef() {}
func (*TableFunc) tableRef()    {}
func (*Join) tableRef()         {}
