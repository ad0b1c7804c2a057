package operator

import (
	"encoding/binary"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// generations cut the stored keys of a table, each of which is forgotten at a time of its
// own, into few parts that are forgotten at about the same time: a part whose end the
// watermark has passed goes with one range delete. A key is looked for in each part, so
// parts are as long as leaves few of them.
//
// A key that is forgotten stays in the store until its part goes, so who reads it must
// look at its time.
type generations struct {
	ends  []int64 // of those that the store may have, ascending
	never bool    // there may be keys that are never forgotten, in the part MaxTime
}

// leastGeneration is how long a part is at least, in microseconds.
const leastGeneration = 60e6

// of returns the end of the part of a key that is forgotten at until: after until. w is
// the watermark.
func (g *generations) of(until int64, w arrowbatch.EventTime) int64 {
	if until == arrowbatch.MaxTime {
		g.never = true
		return until
	}
	i, found := slices.BinarySearch(g.ends, until+1)
	if found || i < len(g.ends) {
		return g.ends[i]
	}
	span := int64(leastGeneration)
	if w != arrowbatch.NoTime && until > w {
		span = max(span, int64(uint64(until-w)/2))
	}
	end := arrowbatch.MaxTime - 1
	if until < end-span {
		end = until + span
	}
	g.add(end)
	return end
}

// add notes that the store has a part.
func (g *generations) add(end int64) {
	if end == arrowbatch.MaxTime {
		g.never = true
	} else if i, found := slices.BinarySearch(g.ends, end); !found {
		g.ends = slices.Insert(g.ends, i, end)
	}
}

// pass takes out the parts up to w and appends them to dropped.
func (g *generations) pass(w arrowbatch.EventTime, dropped []int64) []int64 {
	n := 0
	for n < len(g.ends) && g.ends[n] <= w {
		n++
	}
	dropped = append(dropped, g.ends[:n]...)
	g.ends = g.ends[n:]
	if w == arrowbatch.MaxTime && g.never {
		g.never = false
		dropped = append(dropped, w)
	}
	return dropped
}

// all are the ends of the parts, the latest first.
func (g *generations) all() []int64 {
	out := slices.Clone(g.ends)
	if g.never {
		out = append(out, arrowbatch.MaxTime)
	}
	slices.Reverse(out)
	return out
}

// find finds the parts that the store has behind a prefix.
func (g *generations) find(rt *exec.Runtime, prefix []byte) error {
	hi := state.After(prefix)
	for at := prefix; ; {
		key, err := rt.Store.First(at, hi)
		if err != nil || key == nil {
			return err
		}
		if len(key) < len(prefix)+9 {
			return errState
		}
		g.add(int64(binary.BigEndian.Uint64(key[len(prefix):]) ^ 1<<63))
		at = state.After(key[:len(prefix)+8])
	}
}
