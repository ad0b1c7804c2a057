package connector

import (
	"context"
	"time"
)

// As finds what a source can do beside the methods of Source, also where another
// wraps it and gives it by Unwrap.
func As[T any](s Source) (t T, ok bool) {
	for s != nil {
		if t, ok = any(s).(T); ok {
			return t, true
		}
		w, wraps := s.(interface{ Unwrap() Source })
		if !wraps {
			break
		}
		s = w.Unwrap()
	}
	return t, false
}

// Identified is a source whose offsets belong to a thing that another may replace
// under the same name, as a topic that is deleted and made anew.
type Identified interface {
	// Identity names the thing, "" while it is not known. Once known it stays.
	Identity() string
	// Resume tells, before anything else is asked, what the offsets of the checkpoint
	// belong to.
	Resume(identity string)
}

// Limited is a source whose options may bound what an epoch reads of it.
type Limited interface {
	// Limits tells whether they do.
	Limits() bool
	// Limit bounds an epoch that would read from at, the offsets that were reached, to
	// latest. A split that at lacks has not been read.
	Limit(ctx context.Context, at, latest map[string]Offset) (Limit, error)
}

// Limit is how far an epoch reads.
type Limit struct {
	// Until has the splits of latest, with those offsets or lower ones; Less tells that
	// some are lower.
	Until map[string]Offset
	Less  bool
	// Wait is how long after the last epoch one is worth its while all the same, since
	// there is less to read than the options want; 0: there is enough, or nothing.
	Wait time.Duration
}

// Measured is a source whose offsets count. Its methods may be called at any time,
// by anybody.
type Measured interface {
	// Behind returns how many offsets lie between at, up to which a split was read, or
	// its beginning for "", and latest; -1 where that is not known.
	Behind(split string, at, latest Offset) int64
	// Held returns how many more there are that may not be read yet.
	Held(split string) int64
}
