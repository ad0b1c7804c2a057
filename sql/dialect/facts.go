package dialect

import (
	"sort"
	"strconv"
)

// Fragment is text for the parser behind, with the way back to the tokens.
type Fragment struct {
	Text  string
	marks []mark
}

// mark says that the output from out on came from token tok.
type mark struct{ out, tok int32 }

// TokenAt returns the index of the token whose output holds byte off.
func (f *Fragment) TokenAt(off int) int {
	k := f.markAt(off)
	if k < 0 {
		return 0
	}
	return int(f.marks[k].tok)
}

// TokenBefore returns the index of the token whose output ends at byte off.
func (f *Fragment) TokenBefore(off int) int {
	k := f.markAt(off) - 1
	if k < 0 {
		return 0
	}
	return int(f.marks[k].tok)
}

func (f *Fragment) markAt(off int) int {
	return sort.Search(len(f.marks), func(i int) bool { return int(f.marks[i].out) > off }) - 1
}

// Facts holds what a fragment's text only refers to. Token indexes are -1 where
// nothing was written.
type Facts struct {
	Selects []SelectFact // `s0` as first field
	Queries []QueryFact  // `q0` as order item
	Items   []ItemFact   // `a0` as alias
	Joins   []JoinFact   // `j0` as condition
	CTEs    []CTEFact    // `c0` as CTE name
	Windows []WindowFact // `w0` as window name or MAX(`w0`) OVER
}

// SelectFact belongs to one SELECT.
type SelectFact struct {
	Tok           int
	Hint          int
	Distinct      bool
	DistinctOn    bool // the second field is `don`(keys)
	NoFrom        bool
	GroupDistinct bool
	Dedup         int // token of DEDUPLICATE
	DedupKeys     *Fragment
	// DedupWithin is an expression after WITHIN; DedupWatermark stands for WATERMARK.
	DedupWithin    *Fragment
	DedupWatermark bool
}

// QueryFact belongs to the end of a query.
type QueryFact struct {
	WithTies bool
	Locks    []LockFact
}

// LockFact is one FOR UPDATE clause; Of are name tokens.
type LockFact struct {
	Tok      int
	Strength string
	Of       []int
	Wait     string
}

// ItemKind is what kind of FROM item an ItemFact describes.
type ItemKind uint8

// The kinds of FROM items that carry a fact.
const (
	ItemRelation ItemKind = iota
	ItemQuery
	ItemFunc
	ItemRowsFrom
	ItemJoin // a parenthesised join with an alias
)

// ItemFact belongs to one FROM item.
type ItemFact struct {
	Kind       ItemKind
	Tok        int // the first token of the item; of a relation, of its name
	Start      int // the first word: LATERAL, ONLY, STREAM or Tok
	Lateral    bool
	Only       bool
	Stream     bool
	Ordinality bool
	Alias      int
	Columns    []ColumnFact
	AsOf       *Fragment
	Watermark  *WatermarkFact
	// CallColumns are the column definitions of each function of ROWS FROM.
	CallColumns [][]ColumnFact
}

// ColumnFact is a column of an alias; Type is a handle of ParseType or -1.
type ColumnFact struct{ Tok, Type int }

// WatermarkFact is WATERMARK time [AS name] DELAY OF delay.
type WatermarkFact struct {
	Tok         int
	As          int // the name, -1 for none
	Time, Delay *Fragment
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The join kinds, in the order of package sql's.
const (
	JoinInner JoinKind = iota
	JoinLeft
	JoinRight
	JoinFull
	JoinCross
)

// JoinFact belongs to one join.
type JoinFact struct {
	Tok        int
	Kind       JoinKind
	Asof       bool
	Natural    bool
	UsingAlias int
}

// CTEFact belongs to one common table expression.
type CTEFact struct {
	Tok         int
	Columns     []int
	Materialize int8 // 0 not said, 1 MATERIALIZED, 2 NOT MATERIALIZED
}

// WindowFact belongs to one window specification.
type WindowFact struct {
	Tok     int // of the name in WINDOW, of what follows OVER else
	Frame   int // token of ROWS, RANGE or GROUPS
	Start   int // tokens of the bounds
	End     int
	Between bool
	Exclude int8 // 0 no others, 1 current row, 2 group, 3 ties
}

// Ref splits a name from a fragment's tree: a token index (letter 0), or the
// letter and index of a fact, or a marker word (letter 'm').
func Ref(name string) (letter byte, index int) {
	if name == "" {
		return 'm', 0
	}
	if isDigit(name[0]) {
		n, _ := strconv.Atoi(name)
		return 0, n
	}
	if len(name) > 1 && isDigit(name[1]) {
		n, err := strconv.Atoi(name[1:])
		if err == nil {
			return name[0], n
		}
	}
	return 'm', 0
}
