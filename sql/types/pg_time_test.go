package types

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func genDay(r *rand.Rand) (y, m, d int) {
	switch r.IntN(6) {
	case 0:
		return 1 + r.IntN(9999), 1 + r.IntN(12), 1 + r.IntN(31)
	case 1:
		return 1970 + r.IntN(70), 2, 28 + r.IntN(3)
	case 2:
		return 10000 + r.IntN(280000), 1 + r.IntN(12), 1 + r.IntN(28)
	}
	return 1990 + r.IntN(50), 1 + r.IntN(13), 1 + r.IntN(31)
}

var monthWords = [...]string{"Jan", "feb", "March", "APR", "may", "June", "Jul", "august", "Sept", "oct",
	"November", "Dec", "Sep"}

func genDate(r *rand.Rand) string {
	y, m, d := genDay(r)
	mon := monthWords[m-1]
	switch r.IntN(16) {
	case 0:
		return fmt.Sprintf("%d/%d/%d", y, m, d)
	case 1:
		return fmt.Sprintf("%d/%d/%d", m, d, y)
	case 2:
		return fmt.Sprintf("%s %d, %d", mon, d, y)
	case 3:
		return fmt.Sprintf("%d %s %d", d, mon, y)
	case 4:
		return fmt.Sprintf("%d-%s-%d", d, mon, y)
	case 5:
		return fmt.Sprintf("%04d%02d%02d", y, m, d)
	case 6:
		return fmt.Sprintf("%02d%02d%02d", y%100, m, d)
	case 7:
		return fmt.Sprintf("%04d.%03d", y, r.IntN(370))
	case 8:
		return fmt.Sprintf("%d-%02d-%02d BC", y, m, d)
	case 9:
		return fmt.Sprintf("%s %s %d %d", pick(r, "Mon", "tuesday", "Fri"), mon, d, y)
	case 10:
		return fmt.Sprintf("J%d", r.IntN(3000000))
	case 11:
		return fmt.Sprintf("%02d-%02d-%02d", d, m, y%100)
	case 12:
		return pick(r, "infinity", "-infinity", "epoch", "Infinity ", "+infinity", "y2001m02d04", "2001 032",
			"Jan 5", "2020", "20 Jan", "99 Feb 1", "1 Feb 99", "2001-Feb", "Feb-29-2001", "29.02.2000", "1999.Jan.8")
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
}

func genClock(r *rand.Rand) string {
	h, m, s := r.IntN(25), r.IntN(60), r.IntN(61)
	switch r.IntN(9) {
	case 0:
		return fmt.Sprintf("%d:%02d", h, m)
	case 1:
		return fmt.Sprintf("%d:%02d %s", 1+r.IntN(13), m, pick(r, "AM", "pm", "am"))
	case 2:
		return fmt.Sprintf("%02d%02d%02d", h, m, s)
	case 3:
		return fmt.Sprintf("%02d:%02d:%02d.%d", h, m, s, r.IntN(100000000))
	case 4:
		return fmt.Sprintf("%02d%02d%02d.%d", h, m, s, r.IntN(1000))
	case 5:
		return pick(r, "24:00:00", "23:59:60", "allballs", "00:00:00.", "24:00:00.000001", "23:59:59.9999999",
			"04:05.678",
			"0405", "040506")
	}
	return fmt.Sprintf("%02d:%02d:%02d", h, m, s)
}

func genOffset(r *rand.Rand) string {
	return pick(r, "", "", "", "", "Z", "z", "+02", "-03:30", "+0530", " UTC", " Europe/Berlin",
		" america/new_york", " EST", " PDT",
		" CEST", "+16", "-15:59:59", " +01:02:03", " MSK", " America/Nowhere", " GMT", " Etc/GMT+5", " MET DST", " EST5EDT",
		"-1", " Japan", " zulu", "+5:5", " pst8pdt", " BST", " IST")
}

func genStamp(r *rand.Rand) string {
	d, c := genDate(r), genClock(r)
	sep := pick(r, " ", " ", " ", "T", "t", "  ", ", ", "")
	if bc, ok := strings.CutSuffix(d, " BC"); ok && r.IntN(2) == 0 {
		return bc + sep + c + genOffset(r) + " BC"
	}
	switch r.IntN(8) {
	case 0:
		return d
	case 1:
		return c + " " + d + genOffset(r)
	}
	return d + sep + c + genOffset(r)
}

func genInterval(r *rand.Rand) string {
	num := func() string {
		return pick(r, "", "", "-", "+") + fmt.Sprint(r.IntN(400)) + pick(r, "", "", "", ".5", ".25", ".123456789",
			".")
	}
	switch r.IntN(8) {
	case 0:
		s := "P"
		for _, u := range "YMWD" {
			if r.IntN(3) == 0 {
				s += num() + string(u)
			}
		}
		if r.IntN(2) == 0 {
			s += "T"
			for _, u := range "HMS" {
				if r.IntN(2) == 0 {
					s += num() + string(u)
				}
			}
		}
		return strings.ReplaceAll(s, "+", "")
	case 1:
		return pick(r, "P0001-02-03T04:05:06", "P00010203T040506", "P1-2-3", "PT1:2:3", "P20T30", "P", "PT", "P1Y2",
			"P-1Y-2M",
			"P1.5M", "PT0.0000005S", "P1W", "P1e1Y", "P.5Y", "PT1.1.1S", "P99999999999Y", "PT040506.7",
			"P1-2T3:4", "p1y", "P1T1")
	case 2:
		return num() + pick(r, "", " ") + pick(r, "", "-") + fmt.Sprintf("%d:%02d", r.IntN(100),
			r.IntN(60)) + pick(r, "", ":30", ":30.5")
	case 3:
		return pick(r, "1-2", "-1-2", "1-12", "+1-11 3 4:05:06", "1-2 3", "@ 1 minute", "@ 1 day ago",
			"1 y 2 mon 3d", "infinity",
			"1 day 1 day", "ago", "1 ago", "100 centuries", "1.5 decade", "2 millennia", "178956970 years", "178956971 years",
			"9223372036854775807 us", "9223372036854775808 us", "2147483647 days", "2147483648 days", "-2147483648 mons ago",
			"1.999999 year", "0.1 month", "1 quarter", "1:2:3:4", "1 2 3", "999999999:00", "2562047788:00:54.775807",
			"2562047788:00:54.775808", "04:05.678", "4:5", "1 day -04:05:06", "- 1 day", "1 microsecondx",
			"1 msecond", "'1'", "1,5 day")
	}
	s := ""
	for range 1 + r.IntN(4) {
		s += num() + pick(r, " ", " ", "") + pick(r, "year", "years", "mon", "months", "day", "d", "week", "h",
			"hours", "min",
			"m", "sec", "s", "ms", "us", "century", "decades", "y", "hrs", "foo") + pick(r, " ", " ", ", ")
	}
	return s + pick(r, "", "", "", "ago", "1:2:3", "-4:05:06.7")
}

func TestPGTimes(t *testing.T) {
	o, r := newOracle(t), newRand(t)
	const n = 4000
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		o.exec("SET TimeZone = '" + zone + "'")
		loc, _ := LoadZone(zone)
		compareInput(t, o, TTimestamptz, generate(r, n, genStamp), &Env{TimeZone: loc})
		compareInput(t, o, TTimestamptz, generate(r, n, func(r *rand.Rand) string {
			m, d := pick(r, "03", "04", "10", "11"), 1+r.IntN(30)
			return fmt.Sprintf("%d-%s-%02d %02d:%02d", 1950+r.IntN(100), m, d, r.IntN(5), r.IntN(60))
		}), &Env{TimeZone: loc})
	}
	o.exec("SET TimeZone = 'UTC'")
	compareInput(t, o, TTimestamp, generate(r, n, genStamp), nil)
	compareInput(t, o, TDate, generate(r, n, genDate, "5874897-12-31", "5874898-01-01", "4714-11-24 BC",
		"4714-11-23 BC"), nil)
	compareInput(t, o, TDate, generate(r, n/2, genStamp), nil)
	compareInput(t, o, TTime, generate(r, n, func(r *rand.Rand) string { return genClock(r) + genOffset(r) }), nil)
	compareInput(t, o, TTime, generate(r, n/2, genStamp), nil)
	compareInput(t, o, TInterval, generate(r, 2*n, genInterval), nil)
	for order, name := range map[DateOrder]string{DMY: "DMY", YMD: "YMD"} {
		o.exec("SET DateStyle = 'ISO, " + name + "'")
		compareInput(t, o, TDate, generate(r, n, genDate), &Env{Order: order})
	}
	o.exec("SET DateStyle = 'ISO, MDY'")
	for _, typ := range []Type{{ID: Timestamp, Mod: 3}, {ID: Timestamptz, Mod: -1}, {ID: Interval, Mod: 2},
		{ID: Time, Mod: 1}} {
		gen := map[ID]func(*rand.Rand) string{Interval: genInterval, Time: genClock}[typ.ID]
		if gen == nil {
			gen = genStamp
		}
		compareInput(t, o, typ, generate(r, n/4, gen), nil)
	}
}
