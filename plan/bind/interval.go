package bind

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// intervalUnits are the fields that an interval may be restricted to, in
// microseconds where they have a fixed length below a day.
var intervalUnits = map[string]int64{"year": 0, "month": 0, "day": 0, "hour": 3600e6, "minute": 60e6, "second": 1}

// restrictInterval reads INTERVAL '…' field: a bare number counts in the last
// field of the restriction, and finer fields are dropped.
func restrictInterval(text, fields string) (expr.Expr, error) {
	words := strings.Fields(fields)
	last := words[len(words)-1]
	unit, ok := intervalUnits[last]
	if !ok {
		return nil, sqlerr.New(sqlerr.SyntaxError, "invalid interval field %q", last)
	}
	s := strings.TrimSpace(text)
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		s += " " + last
	}
	iv, err := types.ParseInterval(s)
	if err != nil {
		return nil, err
	}
	switch last {
	case "year":
		iv.Months -= iv.Months % 12
		iv.Days, iv.Micros = 0, 0
	case "month":
		iv.Days, iv.Micros = 0, 0
	case "day":
		iv.Micros = 0
	default:
		iv.Micros -= iv.Micros % unit
	}
	return expr.ConstInterval(iv), nil
}
