package types

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Interval arithmetic: months, days and microseconds stay apart; a month counts
// 30 days and a day 24 hours only where two intervals are compared or a
// fraction has to go somewhere.

func intervalRange() error {
	return sqlerr.New(sqlerr.DatetimeFieldOverflow, "interval out of range")
}

// IntervalSpan returns the length of iv in microseconds as a signed number of
// 128 bits: equal intervals ('1 mon', '30 days') have equal spans.
func IntervalSpan(iv arrowbatch.IntervalValue) (hi int64, lo uint64) {
	days := int64(iv.Months)*30 + int64(iv.Days)
	uh, ul := bits.Mul64(uint64(days), MicrosPerDay)
	if days < 0 {
		uh -= MicrosPerDay
	}
	lo, c := bits.Add64(ul, uint64(iv.Micros), 0)
	h, _ := bits.Add64(uh, uint64(iv.Micros>>63), c)
	return int64(h), lo
}

// CompareInterval returns -1, 0 or 1 by the spans.
func CompareInterval(a, b arrowbatch.IntervalValue) int {
	ah, al := IntervalSpan(a)
	bh, bl := IntervalSpan(b)
	if c := cmp.Compare(ah, bh); c != 0 {
		return c
	}
	return cmp.Compare(al, bl)
}

// NegInterval returns -iv.
func NegInterval(iv arrowbatch.IntervalValue) (arrowbatch.IntervalValue, error) {
	if iv.Months == math.MinInt32 || iv.Days == math.MinInt32 || iv.Micros == math.MinInt64 {
		return iv, intervalRange()
	}
	return arrowbatch.IntervalValue{Months: -iv.Months, Days: -iv.Days, Micros: -iv.Micros}, nil
}

// AddIntervals returns a+b.
func AddIntervals(a, b arrowbatch.IntervalValue) (arrowbatch.IntervalValue, error) {
	m, d := int64(a.Months)+int64(b.Months), int64(a.Days)+int64(b.Days)
	us := a.Micros + b.Micros
	if m != int64(int32(m)) || d != int64(int32(d)) || (us < a.Micros) != (b.Micros < 0) {
		return a, intervalRange()
	}
	return arrowbatch.IntervalValue{Months: int32(m), Days: int32(d), Micros: us}, nil
}

// SubIntervals returns a-b.
func SubIntervals(a, b arrowbatch.IntervalValue) (arrowbatch.IntervalValue, error) {
	m, d := int64(a.Months)-int64(b.Months), int64(a.Days)-int64(b.Days)
	us := a.Micros - b.Micros
	if m != int64(int32(m)) || d != int64(int32(d)) || (us > a.Micros) != (b.Micros < 0) {
		return a, intervalRange()
	}
	return arrowbatch.IntervalValue{Months: int32(m), Days: int32(d), Micros: us}, nil
}

// roundMicro rounds away what is below a microsecond in a float of seconds.
func roundMicro(x float64) float64 { return math.RoundToEven(x*MicrosPerSecond) / MicrosPerSecond }

// MulInterval returns iv*f; fractions of months become days, those of days
// become time.
func MulInterval(iv arrowbatch.IntervalValue, f float64) (arrowbatch.IntervalValue, error) {
	return scaleInterval(iv, func(x float64) float64 { return x * f })
}

// DivInterval returns iv/f, 22012 for a zero divisor.
func DivInterval(iv arrowbatch.IntervalValue, f float64) (arrowbatch.IntervalValue, error) {
	if f == 0 {
		return iv, sqlerr.New(sqlerr.DivisionByZero, "division by zero")
	}
	return scaleInterval(iv, func(x float64) float64 { return x / f })
}

func scaleInterval(iv arrowbatch.IntervalValue, by func(float64) float64) (out arrowbatch.IntervalValue, err error) {
	months, days := by(float64(iv.Months)), by(float64(iv.Days))
	if !inInt32(months) || !inInt32(days) {
		return iv, intervalRange()
	}
	out.Months, out.Days = int32(months), int32(days)
	// What is left of the months goes to the days, what is left of the days to
	// the time; both are cut to microseconds first, for a product of floats
	// misses whole numbers by a hair.
	monthDays := roundMicro((months - float64(out.Months)) * 30)
	sec := roundMicro((days - float64(out.Days) + monthDays - math.Trunc(monthDays)) * 86400)
	if math.Abs(sec) >= 86400 {
		whole := int32(sec / 86400)
		out.Days += whole
		sec -= float64(whole) * 86400
	}
	extra := int64(out.Days) + int64(monthDays)
	if extra != int64(int32(extra)) {
		return iv, intervalRange()
	}
	out.Days = int32(extra)
	us := math.RoundToEven(by(float64(iv.Micros)) + sec*MicrosPerSecond)
	if !(us >= -(1<<63) && us < 1<<63) {
		return iv, intervalRange()
	}
	out.Micros = int64(us)
	return out, nil
}

func inInt32(f float64) bool { return f >= math.MinInt32 && f < math.MaxInt32+1 }

// JustifyHours turns whole days of the time into days.
func JustifyHours(iv arrowbatch.IntervalValue) (arrowbatch.IntervalValue, error) {
	days := iv.Micros / MicrosPerDay
	iv.Micros -= days * MicrosPerDay
	d := int64(iv.Days) + days
	if d != int64(int32(d)) {
		return iv, intervalRange()
	}
	iv.Days = int32(d)
	if iv.Days > 0 && iv.Micros < 0 {
		iv.Micros += MicrosPerDay
		iv.Days--
	} else if iv.Days < 0 && iv.Micros > 0 {
		iv.Micros -= MicrosPerDay
		iv.Days++
	}
	return iv, nil
}

// JustifyDays turns 30 days into a month.
func JustifyDays(iv arrowbatch.IntervalValue) (arrowbatch.IntervalValue, error) {
	m := int64(iv.Months) + int64(iv.Days/30)
	if m != int64(int32(m)) {
		return iv, intervalRange()
	}
	iv.Months, iv.Days = int32(m), iv.Days%30
	if iv.Months > 0 && iv.Days < 0 {
		iv.Days += 30
		iv.Months--
	} else if iv.Months < 0 && iv.Days > 0 {
		iv.Days -= 30
		iv.Months++
	}
	return iv, nil
}

// JustifyInterval does both and gives all parts the same sign.
func JustifyInterval(iv arrowbatch.IntervalValue) (arrowbatch.IntervalValue, error) {
	months, days, us := int64(iv.Months), int64(iv.Days), iv.Micros
	days += us / MicrosPerDay
	us %= MicrosPerDay
	months += days / 30
	days %= 30
	switch {
	case months > 0 && (days < 0 || days == 0 && us < 0):
		days += 30
		months--
	case months < 0 && (days > 0 || days == 0 && us > 0):
		days -= 30
		months++
	}
	if days > 0 && us < 0 {
		us += MicrosPerDay
		days--
	} else if days < 0 && us > 0 {
		us -= MicrosPerDay
		days++
	}
	if months != int64(int32(months)) {
		return iv, intervalRange()
	}
	return arrowbatch.IntervalValue{Months: int32(months), Days: int32(days), Micros: us}, nil
}
