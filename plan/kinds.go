package plan

// JoinKind is a kind of join.
type JoinKind uint8

// The kinds of joins. Semi and anti give left rows only.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
	SemiJoin
	AntiJoin
)

func (k JoinKind) String() string {
	return [...]string{"inner", "left", "right", "full", "cross", "semi", "anti"}[k]
}

// ApplyKind says what becomes of a subquery's rows.
type ApplyKind uint8

// The kinds of Apply. The first five add one column to each left row, ApplyRow
// the subquery's columns, the last two join.
const (
	// ApplyScalar: the one column of the one row, NULL for no row; more than one
	// row is 21000.
	ApplyScalar ApplyKind = iota
	// ApplyExists: whether there is a row.
	ApplyExists
	// ApplyAny: OR of Test over the rows, with three-valued logic (IN, op ANY).
	ApplyAny
	// ApplyAll: AND of Test over the rows.
	ApplyAll
	// ApplyArray: the one column of all rows as an array, empty for no rows.
	ApplyArray
	// ApplyRow: the columns of the one row as added columns, NULLs for no row; more
	// than one row is 21000. (UPDATE … SET (a, b) = (SELECT …))
	ApplyRow
	// ApplyCross: the left row with each of the rows (CROSS JOIN LATERAL).
	ApplyCross
	// ApplyLeft: the same; a left row without rows gets NULLs (LEFT JOIN LATERAL).
	ApplyLeft
)

func (k ApplyKind) String() string {
	return [...]string{"scalar", "exists", "any", "all", "array", "row", "cross", "left"}[k]
}
