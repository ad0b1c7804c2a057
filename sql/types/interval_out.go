package types

import (
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
)

// AppendInterval appends an interval in the style "1 year 2 mons 3 days 04:05:06".
func AppendInterval(dst []byte, iv arrowbatch.IntervalValue) []byte {
	start := len(dst)
	before := false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if before && n > 0 {
			dst = append(dst, '+')
		}
		dst = append(strconv.AppendInt(dst, n, 10), unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		// A negative part makes the next one show its plus.
		before = n < 0
	}
	part(int64(iv.Months/12), " year")
	part(int64(iv.Months%12), " mon")
	part(int64(iv.Days), " day")
	if iv.Micros == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	us := uint64(iv.Micros)
	switch {
	case iv.Micros < 0:
		dst = append(dst, '-')
		us = -us
	case before:
		dst = append(dst, '+')
	}
	hours := us / MicrosPerHour
	if hours < 100 {
		dst = append2(dst, int(hours))
	} else {
		dst = strconv.AppendUint(dst, hours, 10)
	}
	dst = append2(append(dst, ':'), int(us/MicrosPerMinute%60))
	dst = append2(append(dst, ':'), int(us/MicrosPerSecond%60))
	return appendFraction(dst, int(us%MicrosPerSecond))
}
