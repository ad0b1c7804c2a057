package stream

import (
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec/build"
)

// identities are what the offsets of the sources belong to now, or did before where
// that is not known.
func identities(sources map[string]*build.Source, before map[string]string) map[string]string {
	var out map[string]string
	for name, s := range sources {
		i, ok := connector.As[connector.Identified](s.Source)
		if !ok || s.Static {
			continue
		}
		id := i.Identity()
		if id == "" {
			id = before[name]
		}
		if id == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = id
	}
	return out
}

// sameIdentity tells whether offsets that were written down under an identity still
// mean the same; "" is of a source that tells none.
func sameIdentity(s *build.Source, before string) bool {
	i, ok := connector.As[connector.Identified](s.Source)
	if !ok || before == "" {
		return true
	}
	now := i.Identity()
	return now == "" || now == before
}
