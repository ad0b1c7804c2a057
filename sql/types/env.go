package types

import "time"

// Env holds the session settings that text input and output depend on. A nil
// *Env means the defaults: UTC, shortest-exact floats.
type Env struct {
	// TimeZone is the session's; nil: UTC.
	TimeZone *time.Location
	// Now is the statement's time in microseconds since the Unix epoch, for
	// 'now', 'today' and the like.
	Now int64
	// ExtraFloatDigits is PostgreSQL's setting; above 0 means shortest-exact.
	// The zero Env prints shortest-exact: see Env.floatDigits.
	ExtraFloatDigits int
}

// Zone returns the session's time zone.
func (e *Env) Zone() *time.Location {
	if e == nil || e.TimeZone == nil {
		return time.UTC
	}
	return e.TimeZone
}
