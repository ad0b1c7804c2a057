package kafka

import "github.com/streamsql/streamsql/connector"

// Behind returns the number of offsets from at to latest: of records, transaction
// markers and what compaction took.
func (s *source) Behind(split string, at, latest connector.Offset) int64 {
	p, err := parseSplit(connector.Split{ID: split})
	if err != nil {
		return -1
	}
	end, err := parseOffset(latest)
	if err != nil {
		return -1
	}
	begin, err := parseOffset(at)
	if err != nil {
		s.mu.Lock()
		start, known := s.starts[p]
		s.mu.Unlock()
		if !known {
			return -1
		}
		begin = start
	}
	return max(0, end-begin)
}

// Held returns the number of offsets that an open transaction keeps from being read,
// as the last fetch told.
func (s *source) Held(split string) int64 {
	p, err := parseSplit(connector.Split{ID: split})
	if err != nil {
		return 0
	}
	s.fetch.mu.Lock()
	defer s.fetch.mu.Unlock()
	held := int64(0)
	for _, sub := range s.fetch.subs {
		if sub.partition == p {
			held = max(held, sub.held)
		}
	}
	return held
}
