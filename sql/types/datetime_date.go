package types

import (
	"math"
	"strings"
)

func roundEven(x float64) float64 { return math.RoundToEven(x) }

// date reads a date whose parts are joined in one field.
func (l *literal) date(s string) (fieldMask, parseFault) {
	var parts [8]string
	n := 0
	for s != "" {
		for s != "" && !isAlnum(s[0]) {
			s = s[1:]
		}
		if s == "" || n == len(parts) {
			return 0, faultFormat
		}
		class := isDigit
		if isAlpha(s[0]) {
			class = isAlpha
		}
		i := 1
		for i < len(s) && class(s[i]) {
			i++
		}
		parts[n] = s[:i]
		n++
		// The byte behind a part goes, whatever it is.
		s = s[min(i+1, len(s)):]
	}
	// The caller merges what is returned, and a month's name in another field
	// does not count here.
	have, text := l.have, l.textMonth
	l.textMonth = false
	defer func() { l.have, l.textMonth = have, text }()
	var got fieldMask
	// A word is a month, whatever its place.
	for i := range n {
		if !isAlpha(parts[i][0]) {
			continue
		}
		w := dateWords[parts[i]]
		if w.kind == wordIgnored {
			continue
		}
		if w.kind != wordMonth || l.have&hasMonth != 0 {
			return 0, faultFormat
		}
		l.mon, l.textMonth = w.val, true
		l.have |= hasMonth
		got |= hasMonth
		parts[i] = ""
	}
	for _, p := range parts[:n] {
		if p == "" {
			continue
		}
		m, f := l.single(p, l.have)
		if f != faultNone {
			return 0, f
		}
		if l.have&m != 0 {
			return 0, faultFormat
		}
		l.have |= m
		got |= m
	}
	if l.have&^(hasDoy|hasZone) != hasDate {
		return 0, faultFormat
	}
	return got, faultNone
}

// single decides what one number is from what is there already.
func (l *literal) single(s string, have fieldMask) (fieldMask, parseFault) {
	val, rest, f := number(s)
	if f != faultNone {
		return 0, f
	}
	if rest != "" {
		if rest[0] != '.' {
			return 0, faultFormat
		}
		if len(s)-len(rest) > 2 {
			return l.runTogether(s, have|hasDate)
		}
		if l.frac, f = fraction(rest); f != faultNone {
			return 0, f
		}
	}
	if len(s) == 3 && have&hasDate == hasYear && val >= 1 && val <= 366 {
		l.doy = val
		return hasDoy | hasMonth | hasDay, faultNone
	}
	if have&hasDate == hasDate {
		return l.runTogether(s, have)
	}
	m := l.place(s, val, have)
	switch m {
	case hasYear:
		l.year = val
		l.shortYear = len(s) <= 2
	case hasMonth:
		l.mon = val
	case hasDay:
		l.day = val
	case 0:
		return 0, faultFormat
	case hasDate: // the year was taken for the day
		l.day, l.year, l.shortYear = l.year, val, false
		m = hasDay
	}
	return m, faultNone
}

// place returns which part of the date a number of the text s is.
func (l *literal) place(s string, val int, have fieldMask) fieldMask {
	order := l.env.Order
	switch have & hasDate {
	case 0:
		switch {
		case len(s) >= 3 || order == YMD:
			return hasYear
		case order == DMY:
			return hasDay
		}
		return hasMonth
	case hasYear, hasDay:
		return hasMonth
	case hasMonth:
		if l.textMonth && (len(s) >= 3 || order == YMD) {
			return hasYear
		}
		return hasDay
	case hasYear | hasMonth:
		if l.textMonth && len(s) >= 3 && l.shortYear {
			return hasDate
		}
		return hasDay
	case hasMonth | hasDay:
		return hasYear
	}
	return 0
}

// runTogether reads yymmdd, yyyymmdd, hhmm, hhmmss and hhmmss.f.
func (l *literal) runTogether(s string, have fieldMask) (fieldMask, parseFault) {
	if at := strings.IndexByte(s, '.'); at >= 0 {
		var f parseFault
		if l.frac, f = fraction(s[at:]); f != faultNone {
			return 0, f
		}
		s = s[:at]
	} else if have&hasDate != hasDate && len(s) >= 6 {
		n := len(s)
		l.day, l.mon = two(s, n-2), two(s, n-4)
		year, _, f := number(s[:n-4])
		if f != faultNone || l.day < 0 || l.mon < 0 {
			return 0, f
		}
		l.year = year
		if n-4 == 2 {
			l.shortYear = true
		}
		return hasDate, faultNone
	}
	if have&hasClock == hasClock {
		return 0, faultFormat
	}
	switch len(s) {
	case 6:
		l.hour, l.min, l.sec = two(s, 0), two(s, 2), two(s, 4)
	case 4:
		l.hour, l.min, l.sec = two(s, 0), two(s, 2), 0
	default:
		return 0, faultFormat
	}
	if l.hour|l.min|l.sec < 0 {
		return 0, faultFormat
	}
	return hasClock, faultNone
}

// word reads a field of letters. skip is true for a word without a meaning.
func (l *literal) word(i int, full bool) (m fieldMask, skip bool, f parseFault) {
	s := l.fields[i].text
	w := dateWords[cutToken(s)]
	if z, ok := zoneWords[s]; ok {
		if z.zone != "" {
			l.abbrev = s
			m, f = l.namedZone(z.zone)
			return m, false, f
		}
		w = dateWord{wordZone, z.off}
	}
	if !full && (w.kind == wordMonth || w.kind == wordDow) {
		return 0, false, faultFormat
	}
	switch w.kind {
	case wordIgnored:
		return 0, true, faultNone
	case wordReserved:
		m, f = l.reserved(w.val, full)
	case wordMonth:
		m = hasMonth
		if l.have&hasMonth != 0 && !l.textMonth && l.have&hasDay == 0 && l.mon >= 1 && l.mon <= 31 {
			l.day = l.mon
			m = hasDay
		}
		l.textMonth, l.mon = true, w.val
	case wordDow:
		m = hasDow
	case wordAMPM:
		l.meridian = w.val
		m = hasAMPM
	case wordADBC:
		l.bc = w.val == 1
		m = hasADBC
	case wordDST:
		l.off += w.val
		m = hasDST
	case wordZone:
		l.off += w.val
		m = hasZone
	case wordUnit:
		l.label = Unit(w.val)
	case wordISOTime:
		f = l.isoTimeWord(i, full)
	default:
		if m, f = l.namedZone(s); f == faultZoneName {
			f = faultFormat
		}
	}
	return m, false, f
}

// isoTimeWord takes the T between a date and a time.
func (l *literal) isoTimeWord(i int, full bool) parseFault {
	if full && l.have&hasDate != hasDate || i+1 == len(l.fields) {
		return faultFormat
	}
	switch l.fields[i+1].kind {
	case numberField, timeField, dateField:
		l.label = unitTime
		return faultNone
	}
	return faultFormat
}

// reserved takes a word such as now or infinity.
func (l *literal) reserved(val int, full bool) (fieldMask, parseFault) {
	switch val {
	case resAllballs:
		l.hour, l.min, l.sec, l.frac, l.off, l.res = 0, 0, 0, 0, 0, -1
		return hasClock | hasZone, faultNone
	case resEpoch, resLate, resEarly:
		if !full {
			return 0, faultFormat
		}
		l.res = val
		return hasReserved, faultNone
	}
	if !l.env.HasNow || !full && val != resNow {
		return 0, faultFormat
	}
	l.res = -1
	loc := l.env.zone()
	days, us := SplitTime(ToLocal(l.env.Now, loc))
	m := fieldMask(hasDate)
	switch val {
	case resNow:
		l.off = OffsetAt(l.env.Now, loc)
		l.hour, us = int(us/MicrosPerHour), us%MicrosPerHour
		l.min, us = int(us/MicrosPerMinute), us%MicrosPerMinute
		l.sec, l.frac = int(us/MicrosPerSecond), int(us%MicrosPerSecond)
		m |= hasClock | hasZone
		if !full {
			return hasClock, faultNone
		}
	case resYesterday:
		days--
	case resTomorrow:
		days++
	}
	l.year, l.mon, l.day = Civil(days)
	l.julian = true // the year is settled
	return m, faultNone
}

// validDate settles the year and checks the date.
func (l *literal) validDate() parseFault {
	if l.have&hasYear != 0 && !l.julian {
		switch {
		case l.bc:
			if l.year <= 0 {
				return faultField
			}
			l.year = 1 - l.year
		case l.shortYear:
			if l.year < 70 {
				l.year += 2000
			} else if l.year < 100 {
				l.year += 1900
			}
		case l.year <= 0:
			return faultField
		}
	}
	if l.have&hasDoy != 0 {
		l.year, l.mon, l.day = Civil(Days(l.year, 1, 1) + int64(l.doy) - 1)
	}
	if l.have&hasMonth != 0 && (l.mon < 1 || l.mon > 12) {
		return faultMonthDay
	}
	if l.have&hasDay != 0 && (l.day < 1 || l.day > 31) {
		return faultMonthDay
	}
	if l.have&hasDate == hasDate && l.day > DaysIn(l.year, l.mon) {
		return faultField
	}
	return faultNone
}

func (l *literal) applyMeridian() parseFault {
	if l.meridian == noMeridian {
		return faultNone
	}
	if l.hour > 12 {
		return faultField
	}
	if l.meridian == am && l.hour == 12 {
		l.hour = 0
	} else if l.meridian == pm && l.hour != 12 {
		l.hour += 12
	}
	return faultNone
}

// settleZone finds the offset that a zone's name, or the session's zone, means
// on the literal's date.
func (l *literal) settleZone() parseFault {
	if l.zone == nil {
		if l.have&hasZone != 0 {
			return faultNone
		}
		if l.have&hasDST != 0 {
			return faultFormat
		}
		if l.zone = l.env.zone(); l.zone == nil {
			return faultNone
		}
	} else if l.have&hasDST != 0 {
		return faultFormat
	}
	if local, ok := l.local(); ok {
		l.off = localOffset(local, l.zone)
		if l.abbrev != "" {
			l.off = abbrevOffset(l.abbrev, local-int64(l.off)*MicrosPerSecond, l.zone, l.off)
		}
	}
	return faultNone
}

// local returns the wall clock in microseconds; ok is false when it is out of
// range.
func (l *literal) local() (us int64, ok bool) {
	days := Days(l.year, l.mon, l.day)
	if days < int64(MinDate)-1 || days > MaxTime/MicrosPerDay {
		return 0, false
	}
	us, t := days*MicrosPerDay, l.clockMicros()
	return us + t, us+t >= us || us < 0
}
