package types

import (
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the binary runs where no tz database is installed
)

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

// zoneIndex finds a zone's canonical name by its lower-case one.
var zoneIndex = sync.OnceValue(func() map[string]string {
	m := make(map[string]string, 640)
	for _, n := range strings.Fields(zoneNames) {
		m[lowerName(n)] = n
	}
	return m
})

// ZoneNames returns the names of all time zones.
func ZoneNames() []string { return strings.Fields(zoneNames) }

var zoneCache sync.Map // lower-case name → *time.Location

// LoadZone returns the time zone of a name in any letter case: one of the tz
// database's, or one of POSIX's like UTC+3 or EST5 (whose sign counts west).
func LoadZone(name string) (*time.Location, bool) {
	low := lowerName(name)
	if loc, ok := zoneCache.Load(low); ok {
		return loc.(*time.Location), true
	}
	canon, ok := zoneIndex()[low]
	if !ok {
		return posixZone(low)
	}
	loc, err := time.LoadLocation(canon)
	if err != nil {
		return nil, false
	}
	zoneCache.Store(low, loc)
	return loc, true
}

// posixZone reads letters followed by a signed offset west of UTC.
func posixZone(low string) (*time.Location, bool) {
	i := 0
	for i < len(low) && isAlpha(low[i]) {
		i++
	}
	rest := low[i:]
	if i < 3 || rest == "" {
		return nil, false
	}
	sign := -1
	if rest[0] == '-' || rest[0] == '+' {
		if rest[0] == '-' {
			sign = 1
		}
		rest = rest[1:]
	}
	off := 0
	for unit := 3600; unit > 0; unit /= 60 {
		n, tail, f := number(rest)
		if f != faultNone || n > 167 || unit < 3600 && n > 59 {
			return nil, false
		}
		off += n * unit
		if rest = tail; rest == "" {
			off *= sign
			return time.FixedZone(strings.ToUpper(strings.Clone(low[:i])), off), true
		}
		if rest[0] != ':' {
			return nil, false
		}
		rest = rest[1:]
	}
	return nil, false
}
