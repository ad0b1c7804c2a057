package kafka

import (
	"context"
	"math"

	"github.com/streamsql/streamsql/connector"
)

// Limits tells whether the options bound micro-batches.
func (s *source) Limits() bool { return s.cfg.maxOffsets > 0 || s.cfg.minOffsets > 0 }

// Limit shares max_offsets_per_trigger out over the partitions in proportion to what
// each has to read.
func (s *source) Limit(ctx context.Context, at, latest map[string]connector.Offset) (connector.Limit, error) {
	begin, left := make(map[string]int64, len(latest)), make(map[string]int64, len(latest))
	total := int64(0)
	for split, off := range latest {
		end, err := parseOffset(off)
		if err != nil {
			return connector.Limit{}, err
		}
		if begin[split], err = s.begins(ctx, split, at[split]); err != nil {
			return connector.Limit{}, err
		}
		left[split] = max(0, end-begin[split])
		total += left[split]
	}
	l := connector.Limit{Until: latest}
	switch {
	case total > 0 && total < s.cfg.minOffsets:
		l.Wait = s.cfg.maxDelay
	case s.cfg.maxOffsets > 0 && total > s.cfg.maxOffsets:
		l.Less, l.Until = true, make(map[string]connector.Offset, len(latest))
		for split, n := range left {
			l.Until[split] = offsetText(begin[split] + share(s.cfg.maxOffsets, n, total))
		}
	}
	return l, nil
}

// share is what a partition with n of total offsets to read gets of limit, which is
// less than total: no partition with something to read goes without.
func share(limit, n, total int64) int64 {
	part := float64(limit) * (float64(n) / float64(total))
	if part < 1 {
		return min(n, int64(math.Ceil(part)))
	}
	return min(n, int64(part))
}

// begins returns where the next epoch begins to read a partition.
func (s *source) begins(ctx context.Context, split string, at connector.Offset) (int64, error) {
	p, err := parseSplit(connector.Split{ID: split})
	if err != nil {
		return 0, err
	}
	if at == "" {
		return s.resolve(ctx, p, &s.starts, &s.cfg.start, true)
	}
	pos, err := parseOffset(at)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	settled := s.settled[p]
	s.mu.Unlock()
	if settled { // at is the present topic's
		return pos, nil
	}
	return s.resume(ctx, p, pos)
}
