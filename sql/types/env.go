package types

import (
	"time"
	"unsafe"
)

// DateOrder is how a date of three numbers without a year in front is read.
type DateOrder uint8

// The orders of the DateStyle setting.
const (
	MDY DateOrder = iota
	DMY
	YMD
)

// Env holds the session settings that input and output depend on. A nil *Env
// stands for the defaults: UTC, ISO dates in order MDY, shortest floats, hex bytea.
type Env struct {
	TimeZone *time.Location // nil: UTC
	Order    DateOrder
	// Now is what the words now, today, yesterday and tomorrow refer to:
	// microseconds since the Unix epoch. HasNow false makes them an error.
	Now    int64
	HasNow bool
	// RoundFloats prints floats to 15+ExtraFloatDigits (float4: 6+) significant
	// digits; false: as many as are needed to read the same value back.
	RoundFloats      bool
	ExtraFloatDigits int
	// EscapeBytea prints bytea in the traditional escape format.
	EscapeBytea bool
}

var defaultEnv = &Env{}

func (e *Env) or() *Env {
	if e == nil {
		return defaultEnv
	}
	return e
}

// zone returns the time zone, nil for UTC.
func (e *Env) zone() *time.Location {
	if e == nil || e.TimeZone == time.UTC {
		return nil
	}
	return e.TimeZone
}

// view returns b as a string without a copy; it must not outlive b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
