package types

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// rangeError is the 22008 for a value past the end of its type.
func rangeError(t Type, s string) error {
	what := "timestamp"
	if t.ID == Date {
		what = "date"
	}
	return sqlerr.New(sqlerr.DatetimeFieldOverflow, `%s out of range: "%s"`, what, strings.Clone(s))
}

// readDateTime reads a literal that has a date.
func readDateTime(t Type, s string, env *Env) (*literal, error) {
	var buf [maxFields]literalField
	l, f := newLiteral(s, env, buf[:0])
	if f == faultNone {
		if f = l.dateTime(); f == faultNone {
			return l, nil
		}
		return nil, faultError(f, t, s, l.badZone)
	}
	return nil, faultError(f, t, s, "")
}

// ParseDate reads a date: days since 1970-01-01.
func ParseDate(s string, env *Env) (int32, error) {
	if iso, ok := parseISO(s); ok {
		return int32(iso.days), nil
	}
	l, err := readDateTime(TDate, s, env)
	if err != nil {
		return 0, err
	}
	switch l.res {
	case resEpoch:
		return 0, nil
	case resLate:
		return PosInfDate, nil
	case resEarly:
		return NegInfDate, nil
	}
	days := Days(l.year, l.mon, l.day)
	if days < int64(MinDate) || days > int64(MaxDate) {
		return 0, rangeError(TDate, s)
	}
	return int32(days), nil
}

// ParseTimestamp reads a timestamp: microseconds since 1970-01-01 00:00:00 on
// the same clock. An offset in the text is read and has no effect.
func ParseTimestamp(s string, env *Env) (int64, error) {
	if iso, ok := parseISO(s); ok {
		return iso.days*MicrosPerDay + iso.micros, nil
	}
	return parseStamp(TTimestamp, s, env)
}

// ParseTimestamptz reads a moment: microseconds since the Unix epoch. Without an
// offset in the text the clock of env's time zone is meant.
func ParseTimestamptz(s string, env *Env) (int64, error) {
	if iso, ok := parseISO(s); ok {
		us := iso.days*MicrosPerDay + iso.micros
		if !iso.hasOff {
			return FromLocal(us, env.zone()), nil
		}
		return us - int64(iso.off)*MicrosPerSecond, nil
	}
	return parseStamp(TTimestamptz, s, env)
}

func parseStamp(t Type, s string, env *Env) (int64, error) {
	l, err := readDateTime(t, s, env)
	if err != nil {
		return 0, err
	}
	switch l.res {
	case resEpoch:
		return 0, nil
	case resLate:
		return PosInfTime, nil
	case resEarly:
		return NegInfTime, nil
	}
	us, ok := l.local()
	if ok && t.ID == Timestamptz {
		off := int64(l.off) * MicrosPerSecond
		ok = (us-off < us) == (off > 0)
		us -= off
	}
	if !ok || !inTimeRange(us) {
		return 0, rangeError(t, s)
	}
	return us, nil
}

// ParseTime reads a time of day: microseconds since midnight, up to 24:00:00. A
// date in front is read and has no effect.
func ParseTime(s string, env *Env) (int64, error) {
	var iso isoTime
	if rest, ok := iso.clock(s); ok && rest == "" {
		return iso.micros, nil
	}
	var buf [maxFields]literalField
	l, f := newLiteral(s, env, buf[:0])
	if f == faultNone {
		if f = l.timeOnly(); f == faultNone {
			return l.clockMicros(), nil
		}
		return 0, faultError(f, TTime, s, l.badZone)
	}
	return 0, faultError(f, TTime, s, "")
}

// timeOnly reads a literal whose date, if it has one, does not matter.
func (l *literal) timeOnly() parseFault {
	for i := range l.fields {
		if f := l.field(i, false); f != faultNone {
			return f
		}
	}
	if l.res >= 0 {
		return faultFormat
	}
	if f := l.validDate(); f != faultNone {
		return f
	}
	if f := l.applyMeridian(); f != faultNone {
		return f
	}
	if l.clockOverflows() {
		return faultField
	}
	if date := l.have & hasDate; l.have&hasClock != hasClock || date != 0 && date != hasDate {
		return faultFormat
	}
	// The name of a zone that changes its clock means nothing without a date.
	if l.zone != nil && (l.have&hasDST != 0 || l.abbrev == "" && l.have&hasDate != hasDate && !fixedZone(l.zone)) {
		return faultFormat
	}
	return faultNone
}
