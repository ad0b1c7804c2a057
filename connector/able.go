package connector

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
