package plan

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql/types"
)

// Const is the value, not NULL, of an expression that has one for a whole query.
// The part that Type asks for is set.
type Const struct {
	Type     types.ID
	Interval arrowbatch.IntervalValue
	Int      int64 // of an int4 and a timestamp
	Text     string
}

// ConstOf computes an expression without columns, calls of now() and parameters;
// ok is false if e is none, fails, is NULL or of a type that Const does not hold.
func ConstOf(e expr.Expr) (Const, bool) {
	if !expr.IsConst(e) || ReadsClock(e) || hasParams(e) {
		return Const{}, false
	}
	v, err := expr.EvalConst(&expr.Ctx{}, e)
	if err != nil {
		return Const{}, false
	}
	defer v.Release()
	if v.IsNull(0) {
		return Const{}, false
	}
	t := e.Type()
	c := Const{Type: t.ID}
	switch {
	case t.ID == types.Interval:
		c.Interval = v.Ivl[0]
	case t.ID == types.Int4:
		c.Int = int64(v.I32[0])
	case t.IsTimestamp():
		c.Int = v.I64[0]
	case t.ID == types.Text:
		c.Text = string(v.BytesAt(0))
	default:
		return Const{}, false
	}
	return c, true
}

func hasParams(e expr.Expr) bool {
	has := false
	expr.Walk(e, func(x expr.Expr) bool {
		_, isParam := expr.AsParam(x)
		_, _, isOuter := expr.AsOuter(x)
		has = has || isParam || isOuter
		return !has
	})
	return has
}
