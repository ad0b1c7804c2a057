package types

import "time"

// OffsetAt returns the seconds east of UTC in loc (nil: UTC) at a moment given
// in microseconds since the Unix epoch.
func OffsetAt(us int64, loc *time.Location) int {
	if loc == nil || loc == time.UTC {
		return 0
	}
	_, off := time.Unix(floorDiv(us, MicrosPerSecond), 0).In(loc).Zone()
	return off
}

// ToLocal returns the wall clock of loc at a moment: what timestamptz AT TIME
// ZONE gives. Infinities stay.
func ToLocal(us int64, loc *time.Location) int64 {
	if loc == nil || !IsFiniteTime(us) {
		return us
	}
	return us + int64(OffsetAt(us, loc))*MicrosPerSecond
}

// FromLocal returns the moment when the wall clock of loc shows local: what
// timestamp AT TIME ZONE gives. A time that a change of the clock skips is read
// with the offset before the change, one that occurs twice with the offset after
// it, as PostgreSQL does. Infinities stay.
func FromLocal(local int64, loc *time.Location) int64 {
	if loc == nil || loc == time.UTC || !IsFiniteTime(local) {
		return local
	}
	return local - int64(localOffset(local, loc))*MicrosPerSecond
}

func localOffset(local int64, loc *time.Location) int {
	sec := floorDiv(local, MicrosPerSecond)
	// The zone in force a day before the moment (taken as UTC) and the one that
	// follows it bracket every possible answer.
	before := time.Unix(sec-86400, 0).In(loc)
	_, offBefore := before.Zone()
	_, end := before.ZoneBounds()
	if end.IsZero() {
		return offBefore
	}
	boundary := end.Unix()
	_, offAfter := end.Zone()
	tBefore, tAfter := sec-int64(offBefore), sec-int64(offAfter)
	switch {
	case tBefore < boundary && tAfter < boundary:
		return offBefore
	case tBefore >= boundary && tAfter >= boundary:
		return offAfter
	case offBefore < offAfter: // the clock went forward: a skipped time
		return offBefore
	}
	return offAfter
}
