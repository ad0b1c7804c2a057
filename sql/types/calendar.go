package types

import "math"

// The time units in microseconds.
const (
	MicrosPerSecond = 1_000_000
	MicrosPerMinute = 60 * MicrosPerSecond
	MicrosPerHour   = 60 * MicrosPerMinute
	MicrosPerDay    = 24 * MicrosPerHour
)

// The infinite times: timestamps in microseconds and dates in days.
const (
	PosInfTime int64 = math.MaxInt64
	NegInfTime int64 = math.MinInt64
	PosInfDate int32 = math.MaxInt32
	NegInfDate int32 = math.MinInt32
)

// The bounds of finite values. PostgreSQL's timestamps end in the year 294276,
// counted from 2000; counted from 1970 in 64 bits they end in 294247.
const (
	MinTime int64 = -210866803200000000 // 4714-11-24 BC
	MaxTime int64 = math.MaxInt64 - 1   // 294247-01-10 04:00:54.775806
	MinDate int32 = -2440588            // 4714-11-24 BC
	MaxDate int32 = 2145042905          // 5874897-12-31
)

// pgEpochDays and pgEpochMicros lead from 1970-01-01 to PostgreSQL's 2000-01-01.
const (
	pgEpochDays   = 10957
	pgEpochMicros = pgEpochDays * MicrosPerDay
)

// IsFiniteTime tells whether a timestamp is neither infinity.
func IsFiniteTime(us int64) bool { return us != PosInfTime && us != NegInfTime }

// IsFiniteDate tells whether a date is neither infinity.
func IsFiniteDate(days int32) bool { return days != PosInfDate && days != NegInfDate }

// Civil returns the year (astronomical: 0 is 1 BC), month 1-12 and day 1-31 of a
// day counted from 1970-01-01 in the Gregorian calendar, reckoned back for ever.
func Civil(days int64) (year, month, day int) {
	// Years of the reckoning begin on 1 March, so that a leap day ends one.
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	if month > 12 {
		month -= 12
	}
	year = int(yoe + era*400)
	if month <= 2 {
		year++
	}
	return year, month, day
}

// Days returns the day, counted from 1970-01-01, of a date; the inverse of
// Civil. Months and days out of range run on into the next ones.
func Days(year, month, day int) int64 {
	y := int64(year) + floorDiv(int64(month)-1, 12)
	m := int64(month) - 1
	m = m - floorDiv(m, 12)*12 + 1
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + int64(day) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// IsLeap tells whether the (astronomical) year has a 29 February.
func IsLeap(year int) bool { return year&3 == 0 && (year%100 != 0 || year%400 == 0) }

var monthDays = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// DaysIn returns the number of days of a month 1-12.
func DaysIn(year, month int) int {
	if month == 2 && IsLeap(year) {
		return 29
	}
	return monthDays[month]
}

// SplitTime returns the day of a timestamp, counted from 1970-01-01, and the
// microseconds since its midnight.
func SplitTime(us int64) (days, micros int64) {
	days = floorDiv(us, MicrosPerDay)
	return days, us - days*MicrosPerDay
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
