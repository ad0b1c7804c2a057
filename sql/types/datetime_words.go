package types

// wordKind is what a word in a date literal stands for.
type wordKind uint8

const (
	wordUnknown wordKind = iota
	wordReserved
	wordMonth
	wordDow
	wordAMPM
	wordADBC
	wordDST
	wordUnit
	wordISOTime
	wordIgnored
	wordZone // an abbreviation with a fixed offset, in seconds east
)

// dateWord is a word's kind and value.
type dateWord struct {
	kind wordKind
	val  int
}

// The values of reserved words.
const (
	resNow = iota
	resYesterday
	resToday
	resTomorrow
	resAllballs
	resEpoch
	resLate
	resEarly
)

// The values of AM and PM, AD and BC.
const (
	noMeridian = iota
	am
	pm
)

// dateWords are the words of date literals.
var dateWords = map[string]dateWord{
	"-infinity": {wordReserved, resEarly}, "infinity": {wordReserved, resLate},
	"now": {wordReserved, resNow}, "today": {wordReserved, resToday}, "epoch": {wordReserved, resEpoch},
	"yesterday": {wordReserved, resYesterday}, "tomorrow": {wordReserved, resTomorrow},
	"allballs": {wordReserved, resAllballs},
	"ad":       {wordADBC, 0}, "bc": {wordADBC, 1}, "am": {wordAMPM, am}, "pm": {wordAMPM, pm},
	"at": {wordIgnored, 0}, "on": {wordIgnored, 0}, "dst": {wordDST, 3600}, "t": {wordISOTime, int(unitTime)},
	"jan": {wordMonth, 1}, "january": {wordMonth, 1}, "feb": {wordMonth, 2}, "february": {wordMonth, 2},
	"mar": {wordMonth, 3}, "march": {wordMonth, 3}, "apr": {wordMonth, 4}, "april": {wordMonth, 4},
	"may": {wordMonth, 5}, "jun": {wordMonth, 6}, "june": {wordMonth, 6}, "jul": {wordMonth, 7},
	"july": {wordMonth, 7}, "aug": {wordMonth, 8}, "august": {wordMonth, 8}, "sep": {wordMonth, 9},
	"sept": {wordMonth, 9}, "september": {wordMonth, 9}, "oct": {wordMonth, 10}, "october": {wordMonth, 10},
	"nov": {wordMonth, 11}, "november": {wordMonth, 11}, "dec": {wordMonth, 12}, "december": {wordMonth, 12},
	"sun": {wordDow, 0}, "sunday": {wordDow, 0}, "mon": {wordDow, 1}, "monday": {wordDow, 1},
	"tue": {wordDow, 2}, "tues": {wordDow, 2}, "tuesday": {wordDow, 2}, "wed": {wordDow, 3},
	"weds": {wordDow, 3}, "wednesday": {wordDow, 3}, "thu": {wordDow, 4}, "thur": {wordDow, 4},
	"thurs": {wordDow, 4}, "thursday": {wordDow, 4}, "fri": {wordDow, 5}, "friday": {wordDow, 5},
	"sat": {wordDow, 6}, "saturday": {wordDow, 6},
	"d": {wordUnit, int(Day)}, "h": {wordUnit, int(Hour)}, "m": {wordUnit, int(Month)}, "y": {wordUnit, int(Year)},
	"mm": {wordUnit, int(Minute)}, "s": {wordUnit, int(Second)}, "j": {wordUnit, int(Julian)},
	"jd": {wordUnit, int(Julian)}, "julian": {wordUnit, int(Julian)}, "dow": {wordUnit, int(Dow)},
	"doy": {wordUnit, int(Doy)}, "isodow": {wordUnit, int(ISODow)}, "isoyear": {wordUnit, int(ISOYear)},
}

// Unit is a part of a date, time or interval, as date_trunc and extract name it.
type Unit uint8

// The units.
const (
	NoUnit Unit = iota
	Microsecond
	Millisecond
	Second
	Minute
	Hour
	Day
	Week
	Month
	Quarter
	Year
	Decade
	Century
	Millennium
	ISOYear
	Dow
	ISODow
	Doy
	Julian
	Epoch
	Timezone
	TimezoneHour
	TimezoneMinute
	unitTime // an ISO time that follows a T
)

// unitWords are the names of units in intervals; the long ones are cut to ten
// letters, as PostgreSQL compares them.
var unitWords = map[string]Unit{
	"c": Century, "cent": Century, "centuries": Century, "century": Century,
	"d": Day, "day": Day, "days": Day, "dec": Decade, "decade": Decade, "decades": Decade, "decs": Decade,
	"h": Hour, "hour": Hour, "hours": Hour, "hr": Hour, "hrs": Hour,
	"m": Minute, "min": Minute, "mins": Minute, "minute": Minute, "minutes": Minute,
	"microsecon": Microsecond, "us": Microsecond, "usec": Microsecond, "usecond": Microsecond,
	"useconds": Microsecond, "usecs": Microsecond,
	"mil": Millennium, "millennia": Millennium, "millennium": Millennium, "mils": Millennium,
	"millisecon": Millisecond, "ms": Millisecond, "msec": Millisecond, "msecond": Millisecond,
	"mseconds": Millisecond, "msecs": Millisecond,
	"mon": Month, "mons": Month, "month": Month, "months": Month, "qtr": Quarter, "quarter": Quarter,
	"s": Second, "sec": Second, "second": Second, "seconds": Second, "secs": Second,
	"timezone": Timezone, "timezone_h": TimezoneHour, "timezone_m": TimezoneMinute,
	"w": Week, "week": Week, "weeks": Week, "y": Year, "year": Year, "years": Year, "yr": Year, "yrs": Year,
}

// tokenLen is how many letters of a unit's name count.
const tokenLen = 10

func cutToken(s string) string { return s[:min(len(s), tokenLen)] }

// ParseUnit returns the unit that a name stands for in date_trunc and extract,
// in any letter case; ok is false for an unknown one.
func ParseUnit(name string) (u Unit, ok bool) {
	var buf [32]byte
	if len(name) > len(buf) {
		return NoUnit, false
	}
	for i := 0; i < len(name); i++ {
		buf[i] = lower(name[i])
	}
	w := string(buf[:len(name)])
	switch w {
	case "epoch":
		return Epoch, true
	case "timezone_hour":
		return TimezoneHour, true
	case "timezone_minute":
		return TimezoneMinute, true
	}
	if u, ok = unitWords[cutToken(w)]; ok {
		return u, true
	}
	if d := dateWords[w]; d.kind == wordUnit {
		return Unit(d.val), true
	}
	return NoUnit, false
}
