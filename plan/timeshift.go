package plan

import (
	"math"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql/types"
)

const dayMicros = 86400_000_000

// SpanOf returns an interval as microseconds, a day being 24 hours. ok is false
// if it has months or is too long.
func SpanOf(iv arrowbatch.IntervalValue) (us int64, ok bool) {
	if iv.Months != 0 || max(iv.Days, -iv.Days) > math.MaxInt64/dayMicros || iv.Days == math.MinInt32 {
		return 0, false
	}
	d := int64(iv.Days) * dayMicros
	if iv.Micros > 0 && d > math.MaxInt64-iv.Micros || iv.Micros < 0 && d < math.MinInt64-iv.Micros {
		return 0, false
	}
	return d + iv.Micros, true
}

// truncLags is the longest span that date_trunc takes off, by unit: days and
// what is longer have an hour more where clocks are set back.
var truncLags = map[string]int64{"microseconds": 1, "milliseconds": 1e3, "second": 1e6, "minute": 60e6,
	"hour": 3600e6, "day": 25 * 3600e6, "week": 169 * 3600e6, "month": 745 * 3600e6}

// TimeOf recognises an expression that follows a time column: the column, the
// column moved by a constant, or date_trunc of it. lag is how much later than its
// value the column's may be (negative: earlier).
func TimeOf(e expr.Expr) (col int, lag int64, ok bool) {
	if c, isCol := ColumnOf(e); isCol {
		return c, 0, true
	}
	if c, shift, moved := TimeShift(e); moved {
		return c, -shift, true
	}
	name, args, ok := expr.AsCall(e)
	if !ok || name != "date_trunc" || len(args) != 2 || !args[1].Type().IsTimestamp() {
		return 0, 0, false
	}
	c, isCol := ColumnOf(args[1])
	v, isConst := expr.AsConst(args[0])
	if !isCol || !isConst || v.IsNull(0) {
		return 0, 0, false
	}
	lag, ok = truncLags[strings.ToLower(string(v.BytesAt(0)))]
	return c, lag, ok
}

// TimeShift recognises a time column plus or minus a constant interval without
// days and months (a day may have 23 or 25 hours in the session's time zone), or
// of a timestamp without time zone one without months. shift is what is added.
func TimeShift(e expr.Expr) (col int, shift int64, ok bool) {
	name, args, ok := expr.AsCall(e)
	if !ok || len(args) != 2 || name != "+" && name != "-" {
		return 0, 0, false
	}
	col, _, isCol := expr.AsColumn(args[0])
	t := args[0].Type()
	v, isConst := expr.AsConst(args[1])
	if !isCol || !isConst || !t.IsTimestamp() || args[1].Type().ID != types.Interval || v.IsNull(0) {
		return 0, 0, false
	}
	if t.ID == types.Timestamptz && v.Ivl[0].Days != 0 {
		return 0, 0, false
	}
	if shift, ok = SpanOf(v.Ivl[0]); !ok {
		return 0, 0, false
	}
	if name == "-" {
		shift = -shift
	}
	return col, shift, true
}
