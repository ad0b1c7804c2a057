package plan

import (
	"math"
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql/types"
)

// clockCalls are the functions whose value is the epoch's time.
var clockCalls = map[string]bool{"now": true, "transaction_timestamp": true, "statement_timestamp": true,
	"proctime": true}

// IsClock tells whether e is now() or another name of it.
func IsClock(e expr.Expr) bool {
	name, args, ok := expr.AsCall(e)
	return ok && len(args) == 0 && clockCalls[name]
}

// ReadsClock tells whether e's value depends on now(): another epoch gives another
// one.
func ReadsClock(e expr.Expr) bool {
	reads := false
	expr.Walk(e, func(x expr.Expr) bool {
		name, args, ok := expr.AsCall(x)
		reads = reads || IsClock(x) || ok && name == "age" && len(args) == 1
		return !reads
	})
	return reads
}

// ClockStep is a step of an expression that follows now(): it maps times (or days,
// where a value is a date) to times so that a later one never gives an earlier one.
// Exactly one of its parts is set.
type ClockStep struct {
	// Shift is added, in microseconds or days.
	Shift int64
	// Every cuts to multiples of it from Origin.
	Every, Origin int64
	// Unit cuts to a calendar unit.
	Unit types.Unit
	// ToDays cuts to days, FromDays is the first moment of a day.
	ToDays, FromDays bool
}

// Least returns the least x that the step takes to y or beyond. Infinities, the
// greatest and the least number, stay.
func (s ClockStep) Least(y int64) int64 {
	if y == math.MaxInt64 || y == math.MinInt64 {
		return y
	}
	switch {
	case s.ToDays:
		return scale(y, dayMicros)
	case s.FromDays:
		return -floorDiv(-y, dayMicros)
	case s.Every != 0:
		return s.Origin - floorDiv(s.Origin-y, s.Every)*s.Every
	case s.Unit != types.NoUnit:
		return nextUnit(s.Unit, y)
	}
	return subSat(y, s.Shift)
}

// nextUnit is the first start of a unit at or after us.
func nextUnit(u types.Unit, us int64) int64 {
	start, err := types.DateTrunc(u, us, nil)
	if err != nil {
		return math.MinInt64 // before the first day that there is
	}
	if start == us {
		return us
	}
	// A start later by more than a unit and less than two is of the next one.
	days := map[types.Unit]int64{types.Day: 1, types.Week: 7, types.Month: 31, types.Quarter: 92, types.Year: 366,
		types.Decade: 3653, types.Century: 36525, types.Millennium: 365250}[u]
	next, err := types.DateTrunc(u, start+days*dayMicros, nil)
	if err != nil {
		return math.MaxInt64
	}
	return next
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func scale(a, b int64) int64 {
	switch {
	case a > math.MaxInt64/b:
		return math.MaxInt64
	case a < math.MinInt64/b:
		return math.MinInt64
	}
	return a * b
}

func subSat(a, b int64) int64 {
	switch c := a - b; {
	case b > 0 && c > a:
		return math.MinInt64
	case b < 0 && c < a:
		return math.MaxInt64
	default:
		return c
	}
}

// ClockSteps takes an expression of now() apart. The steps are in the order in which
// they are taken from now(); ok is false for an expression that is not of this kind,
// with a hint where there is a better one to write.
//
// Continuous queries run in UTC, so a day has 24 hours; months have no one length.
func ClockSteps(e expr.Expr) (steps []ClockStep, hint string, ok bool) {
	if IsClock(e) {
		return nil, "", true
	}
	if x, isCast := expr.AsCast(e); isCast {
		steps, hint, ok = ClockSteps(x)
		if !ok || e.Type().Mod != 0 {
			return nil, hint, false
		}
		from, to := x.Type().ID, e.Type().ID
		switch {
		case x.Type().IsTimestamp() && e.Type().IsTimestamp():
			return steps, "", true
		case x.Type().IsTimestamp() && to == types.Date:
			return append(steps, ClockStep{ToDays: true}), "", true
		case from == types.Date && e.Type().IsTimestamp():
			return append(steps, ClockStep{FromDays: true}), "", true
		}
		return nil, "", false
	}
	name, args, isCall := expr.AsCall(e)
	if !isCall {
		return nil, "", false
	}
	switch {
	case (name == "+" || name == "-") && len(args) == 2:
		return clockShift(name, args)
	case name == "date_trunc" && len(args) == 2:
		return clockTrunc(args)
	case name == "date_bin" && len(args) == 3:
		return clockBin(args)
	case name == "timezone" && len(args) == 2:
		if z, isConst := ConstOf(args[0]); isConst && isUTC(z.Text) {
			return ClockSteps(args[1])
		}
	}
	return nil, "", false
}

func isUTC(zone string) bool {
	switch strings.ToUpper(zone) {
	case "UTC", "GMT", "Z", "ETC/UTC":
		return true
	}
	return false
}

const monthHint = "An interval of months has no one length. Add it to the row's side, where it has: " +
	"ts + INTERVAL '1 month' > now() instead of ts > now() - INTERVAL '1 month'."

func clockShift(name string, args []expr.Expr) ([]ClockStep, string, bool) {
	clock, by := args[0], args[1]
	if name == "+" && ReadsClock(by) {
		clock, by = by, clock
	}
	c, isConst := ConstOf(by)
	if !isConst {
		return nil, "", false
	}
	steps, hint, ok := ClockSteps(clock)
	if !ok {
		return nil, hint, false
	}
	day := clock.Type().ID == types.Date
	var shift int64
	switch {
	case c.Type == types.Interval && (day || clock.Type().IsTimestamp()):
		if shift, ok = SpanOf(c.Interval); !ok {
			return nil, monthHint, false
		}
		if day { // date ± interval is a timestamp
			steps = append(steps, ClockStep{FromDays: true})
		}
	case day && c.Type == types.Int4:
		shift = c.Int
	default:
		return nil, "", false
	}
	if name == "-" {
		shift = -shift
	}
	return append(steps, ClockStep{Shift: shift}), "", true
}

func clockTrunc(args []expr.Expr) ([]ClockStep, string, bool) {
	c, isConst := ConstOf(args[0])
	if !isConst || !args[1].Type().IsTimestamp() {
		return nil, "", false
	}
	u, err := types.TruncUnit(c.Text, args[1].Type())
	if err != nil {
		return nil, "", false
	}
	steps, hint, ok := ClockSteps(args[1])
	if !ok {
		return nil, hint, false
	}
	if every := unitMicros[u]; every != 0 {
		return append(steps, ClockStep{Every: every}), "", true
	}
	return append(steps, ClockStep{Unit: u}), "", true
}

var unitMicros = map[types.Unit]int64{types.Microsecond: 1, types.Millisecond: 1e3, types.Second: 1e6,
	types.Minute: 60e6, types.Hour: 3600e6}

func clockBin(args []expr.Expr) ([]ClockStep, string, bool) {
	stride, a := ConstOf(args[0])
	origin, b := ConstOf(args[2])
	if !a || !b || !args[1].Type().IsTimestamp() || !types.IsFiniteTime(origin.Int) {
		return nil, "", false
	}
	every, ok := SpanOf(stride.Interval)
	if !ok || every <= 0 {
		return nil, "", false
	}
	steps, hint, ok := ClockSteps(args[1])
	if !ok {
		return nil, hint, false
	}
	return append(steps, ClockStep{Every: every, Origin: origin.Int}), "", true
}

// LeastClock returns the least now() that the steps take to y or beyond.
func LeastClock(steps []ClockStep, y int64) int64 {
	for i := len(steps) - 1; i >= 0; i-- {
		y = steps[i].Least(y)
	}
	return y
}
