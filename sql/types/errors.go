package types

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// ioName is the name by which PostgreSQL's input functions call a type.
func ioName(t Type) string {
	switch t.ID {
	case Timestamp:
		return "timestamp"
	case Time:
		return "time"
	}
	return infos[t.ID].name
}

// badSyntax is the 22P02 (22007 for dates and times) for text that is no value
// of the type.
func badSyntax(t Type, s string) error {
	code := sqlerr.InvalidTextRepresentation
	switch t.ID {
	case Date, Time, Timestamp, Timestamptz, Interval:
		code = sqlerr.InvalidDatetimeFormat
	}
	return sqlerr.New(code, `invalid input syntax for type %s: "%s"`, ioName(t), strings.Clone(s))
}

// outOfRange is the 22003 for text whose value the type cannot hold.
func outOfRange(t Type, s string) error {
	return sqlerr.New(sqlerr.NumericValueOutOfRange, `value "%s" is out of range for type %s`,
		strings.Clone(s), ioName(t))
}

// badBinary is the 22P03 for bytes that are no value of the type.
func badBinary(t Type) error {
	return sqlerr.New(sqlerr.InvalidBinaryRepresentation, "incorrect binary data format for type %s", t)
}
