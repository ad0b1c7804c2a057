package types

import (
	"github.com/apache/arrow/go/v17/arrow"
)

// ToArrow returns the Arrow type that says most about t and has its columns'
// bytes, so that a record of them is no copy: dates and timestamps are Arrow's,
// timestamptz with the zone UTC, numeric, interval and uuid 16 bytes, oids int64.
func ToArrow(t Type) arrow.DataType {
	switch t.ID {
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Time:
		return arrow.FixedWidthTypes.Time64us
	case Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case Timestamptz:
		return arrow.FixedWidthTypes.Timestamp_us
	case Array:
		return arrow.ListOf(ToArrow(*t.Elem))
	case Struct:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = arrow.Field{Name: f.Name, Type: ToArrow(f.Type), Nullable: true}
		}
		return arrow.StructOf(fields...)
	case Text, Varchar, Bpchar, Name, Char, JSON, JSONB, Unknown:
		return arrow.BinaryTypes.String
	}
	return t.Shape().DataType()
}

// ToArrowExchange returns the Arrow type by which other programs know t best,
// though it takes a copy: numeric(p,s) is a decimal128, interval months, days
// and nanoseconds.
func ToArrowExchange(t Type) arrow.DataType {
	switch {
	case t.ID == Numeric && t.Mod > 0 && t.Mod <= 38 && t.Scale >= 0 && t.Scale <= t.Mod:
		return &arrow.Decimal128Type{Precision: int32(t.Mod), Scale: int32(t.Scale)}
	case t.ID == Interval:
		return arrow.FixedWidthTypes.MonthDayNanoInterval
	case t.ID == Array:
		return arrow.ListOf(ToArrowExchange(*t.Elem))
	}
	return ToArrow(t)
}

// ArrowSchema returns the schema of columns with names and types.
func ArrowSchema(fields []Field) *arrow.Schema {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: ToArrow(f.Type), Nullable: true}
	}
	return arrow.NewSchema(out, nil)
}
