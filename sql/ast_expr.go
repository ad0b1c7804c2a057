package sql

// Expr is an expression. The set of implementations is closed; see the types of
// this file. Position is where an error about the node points, as in PostgreSQL:
// the operator of an operator expression, the name of a call, else the first token.
type Expr interface {
	Position() int
	expr()
}

// ColumnRef is a possibly qualified column name: [[[catalog.]schema.]table.]column.
// A one-part name may also mean a whole row. Parts has 1 to 4 names.
type ColumnRef struct {
	Pos   int
	Parts []Name
}

// Star is * or t.*, in select lists and in row constructors; Qualifier may be empty.
type Star struct {
	Pos       int
	Qualifier []Name
}

// NumberLit is an unsigned number as written: digits with at most one point and
// one exponent. Without both it is an integer, else a numeric.
type NumberLit struct {
	Pos  int
	Text string
}

// StringLit is a string constant of unknown type, escapes resolved.
type StringLit struct {
	Pos   int
	Value string
}

// BoolLit is TRUE or FALSE.
type BoolLit struct {
	Pos   int
	Value bool
}

// NullLit is NULL.
type NullLit struct{ Pos int }

// BitLit is B'…' or X'…'; Digits are as written.
type BitLit struct {
	Pos    int
	Hex    bool
	Digits string
}

// TypedLit is type 'text': DATE '2020-01-01', INTERVAL '1' DAY.
type TypedLit struct {
	Pos   int
	Type  *TypeName
	Value string
}

// Default is DEFAULT as a value in INSERT and UPDATE.
type Default struct{ Pos int }

// Param is $n, n from 1.
type Param struct {
	Pos int
	N   int
}

// Operator names an operator; Schema is given by OPERATOR(schema.op) only.
// Spellings are PostgreSQL's own: != is <>, LIKE ANY is ~~ ANY.
type Operator struct {
	Schema Name
	Name   string
}

// Unary is a prefix operator with its operand.
type Unary struct {
	Pos int
	Op  Operator
	X   Expr
}

// Binary is an operator with two operands, comparisons included.
type Binary struct {
	Pos  int
	Op   Operator
	L, R Expr
}

// Logic is an AND or OR of two or more operands; chains are flat.
type Logic struct {
	Pos  int
	Or   bool
	Args []Expr
}

// Not is NOT x.
type Not struct {
	Pos int
	X   Expr
}

// Test is what IS asks for.
type Test uint8

// The tests of IS.
const (
	IsNull Test = iota
	IsTrue
	IsFalse
	IsUnknown
)

func (t Test) String() string { return [...]string{"NULL", "TRUE", "FALSE", "UNKNOWN"}[t] }

// IsTest is x IS [NOT] test.
type IsTest struct {
	Pos  int
	X    Expr
	Test Test
	Not  bool
}

// IsDistinct is l IS [NOT] DISTINCT FROM r.
type IsDistinct struct {
	Pos  int
	L, R Expr
	Not  bool
}

// Between is x [NOT] BETWEEN [SYMMETRIC] low AND high.
type Between struct {
	Pos          int
	X, Low, High Expr
	Not          bool
	Symmetric    bool
}

// In is x [NOT] IN (list) or x [NOT] IN (query); one of List and Query is set.
type In struct {
	Pos   int
	X     Expr
	List  []Expr
	Query *Query
	Not   bool
}

// LikeKind tells LIKE, ILIKE and SIMILAR TO apart.
type LikeKind uint8

// The pattern predicates.
const (
	PlainLike LikeKind = iota
	ILike
	SimilarTo
)

func (k LikeKind) String() string { return [...]string{"LIKE", "ILIKE", "SIMILAR TO"}[k] }

// Like is x [NOT] LIKE pattern [ESCAPE escape]; Escape may be nil.
type Like struct {
	Pos                int
	Kind               LikeKind
	X, Pattern, Escape Expr
	Not                bool
}

// When is one branch of a CASE.
type When struct {
	Cond, Result Expr
}

// Case is CASE [arg] WHEN … [ELSE …] END; Arg and Else may be nil.
type Case struct {
	Pos   int
	Arg   Expr
	Whens []When
	Else  Expr
}

// Cast is CAST(x AS type) or x::type.
type Cast struct {
	Pos  int
	X    Expr
	Type *TypeName
}

// FuncCall is a function, aggregate or window call, and every construct that
// PostgreSQL itself reads as one: EXTRACT is pg_catalog.extract, SUBSTRING is
// pg_catalog.substring, TRIM is btrim, ltrim or rtrim, POSITION(a IN b) is
// position(b, a), OVERLAPS is overlaps(a, b, c, d). COALESCE, NULLIF, GREATEST,
// LEAST and GROUPING are calls without a schema.
type FuncCall struct {
	Pos    int
	Schema Name
	Name   Name
	// Args may hold *NamedArg, and *RelationArg in FROM.
	Args     []Expr
	Star     bool // f(*)
	Distinct bool
	Variadic bool // the last argument is marked VARIADIC
	// OrderBy belongs to the arguments, or to WITHIN GROUP when WithinGroup is set.
	OrderBy     []SortItem
	WithinGroup bool
	Filter      Expr
	IgnoreNulls bool
	Over        *WindowSpec
}

// NamedArg is name => value among call arguments.
type NamedArg struct {
	Pos   int
	Name  Name
	Value Expr
}

// RelationArg is a relation as a call argument: TABLE t, STREAM t, a bare name
// or parenthesised query as first argument of a window function. Rel is a
// *Relation or *DerivedTable.
type RelationArg struct {
	Pos         int
	Rel         TableRef
	PartitionBy []Expr
	OrderBy     []SortItem
}

// ValueFunc is a function written without parentheses: current_timestamp,
// current_user … Name is in lower case; Precision is -1 when not given.
type ValueFunc struct {
	Pos       int
	Name      string
	Precision int
}

// SubqueryKind tells the uses of a subquery as a value apart.
type SubqueryKind uint8

// The uses of a subquery as a value.
const (
	ScalarSubquery SubqueryKind = iota
	ExistsSubquery
	ArraySubquery
)

// Subquery is (query), EXISTS (query) or ARRAY(query).
type Subquery struct {
	Pos   int
	Kind  SubqueryKind
	Query *Query
}

// Quantified is x op ANY|ALL (query or array); one of Query and Array is set.
// LIKE ANY arrives with the operator ~~, ILIKE ~~*, and !~~, !~~* when negated.
type Quantified struct {
	Pos   int
	X     Expr
	Op    Operator
	All   bool
	Query *Query
	Array Expr
}

// ArrayLit is ARRAY[…]; nested brackets are nested ArrayLits.
type ArrayLit struct {
	Pos   int
	Elems []Expr
}

// Row is ROW(…) or (a, b, …). Explicit is set for the former; the latter has at
// least two fields.
type Row struct {
	Pos      int
	Explicit bool
	Fields   []Expr
}

// Subscript is x[i], or x[lower:upper] when Slice is set (either may be nil).
type Subscript struct {
	Pos          int
	X            Expr
	Index        Expr
	Slice        bool
	Lower, Upper Expr
}

// Field is (x).name, Pos that of the name.
type Field struct {
	Pos  int
	X    Expr
	Name Name
}

// FieldStar is (x).*.
type FieldStar struct {
	Pos int
	X   Expr
}

// AtTimeZone is x AT TIME ZONE zone; Zone is nil for AT LOCAL.
type AtTimeZone struct {
	Pos     int
	X, Zone Expr
}

// Collate is x COLLATE name.
type Collate struct {
	Pos  int
	X    Expr
	Name QualifiedName
}

// TypeName names a type. The spellings of the SQL standard are replaced by the
// system's: integer is int4, double precision is float8, character varying is
// varchar, timestamp with time zone is timestamptz, char is bpchar(1), float(p)
// is float4 or float8. The quoted "char" stays char.
type TypeName struct {
	Pos    int
	Schema Name
	Name   Name
	// Mods are the modifiers in parentheses: *NumberLit, *Unary minus of one,
	// *StringLit or *ColumnRef.
	Mods []Expr
	// Interval is the field restriction of an interval type, "" when there is none:
	// "year", "day to second" …; a precision is in Mods.
	Interval string
	// Dims has one element for each array dimension, -1 when no bound is given.
	Dims []int
	// Struct holds the fields of STRUCT<name type, …>; then Name is "struct".
	Struct []ColumnType
	SetOf  bool
}

// Position returns the node's offset in the text.
func (e *ColumnRef) Position() int   { return e.Pos }
func (e *Star) Position() int        { return e.Pos }
func (e *NumberLit) Position() int   { return e.Pos }
func (e *StringLit) Position() int   { return e.Pos }
func (e *BoolLit) Position() int     { return e.Pos }
func (e *NullLit) Position() int     { return e.Pos }
func (e *BitLit) Position() int      { return e.Pos }
func (e *TypedLit) Position() int    { return e.Pos }
func (e *Default) Position() int     { return e.Pos }
func (e *Param) Position() int       { return e.Pos }
func (e *Unary) Position() int       { return e.Pos }
func (e *Binary) Position() int      { return e.Pos }
func (e *Logic) Position() int       { return e.Pos }
func (e *Not) Position() int         { return e.Pos }
func (e *IsTest) Position() int      { return e.Pos }
func (e *IsDistinct) Position() int  { return e.Pos }
func (e *Between) Position() int     { return e.Pos }
func (e *In) Position() int          { return e.Pos }
func (e *Like) Position() int        { return e.Pos }
func (e *Case) Position() int        { return e.Pos }
func (e *Cast) Position() int        { return e.Pos }
func (e *FuncCall) Position() int    { return e.Pos }
func (e *NamedArg) Position() int    { return e.Pos }
func (e *RelationArg) Position() int { return e.Pos }
func (e *ValueFunc) Position() int   { return e.Pos }
func (e *Subquery) Position() int    { return e.Pos }
func (e *Quantified) Position() int  { return e.Pos }
func (e *ArrayLit) Position() int    { return e.Pos }
func (e *Row) Position() int         { return e.Pos }
func (e *Subscript) Position() int   { return e.Pos }
func (e *Field) Position() int       { return e.Pos }
func (e *FieldStar) Position() int   { return e.Pos }
func (e *AtTimeZone) Position() int  { return e.Pos }
func (e *Collate) Position() int     { return e.Pos }

func (*ColumnRef) expr()   {}
func (*Star) expr()        {}
func (*NumberLit) expr()   {}
func (*StringLit) expr()   {}
func (*BoolLit) expr()     {}
func (*NullLit) expr()     {}
func (*BitLit) expr()      {}
func (*TypedLit) expr()    {}
func (*Default) expr()     {}
func (*Param) expr()       {}
func (*Unary) expr()       {}
func (*Binary) expr()      {}
func (*Logic) expr()       {}
func (*Not) expr()         {}
func (*IsTest) expr()      {}
func (*IsDistinct) expr()  {}
func (*Between) expr()     {}
func (*In) expr()          {}
func (*Like) expr()        {}
func (*Case) expr()        {}
func (*Cast) expr()        {}
func (*FuncCall) expr()    {}
func (*NamedArg) expr()    {}
func (*RelationArg) expr() {}
func (*ValueFunc) expr()   {}
func (*Subquery) expr()    {}
func (*Quantified) expr()  {}
func (*ArrayLit) expr()    {}
func (*Row) expr()         {}
func (*Subscript) expr()   {}
func (*Field) expr()       {}
func (*FieldStar) expr()   {}
func (*AtTimeZone) expr()  {}
func (*Collate) expr()     {}
