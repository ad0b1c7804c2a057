package operator

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// dueIndex finds the entries of a table that the watermark has come to, where they may be
// in the store alone: a table of the store by time and key. An entry is in it at or before
// its time, and is put in anew by who finds it too early. What the watermark has passed
// goes with one range delete, whose are the entries in it: all tasks pass the same
// watermark before a barrier.
type dueIndex struct {
	t      *tier
	prefix []byte
	first  int64 // before or at the first entry; MaxTime: there is none
	past   int64 // all before it was found
}

// open finds out where the index begins.
func (x *dueIndex) open(t *tier, prefix []byte) (err error) {
	x.t, x.prefix, x.past = t, prefix, arrowbatch.NoTime
	x.first, err = x.from(prefix)
	return err
}

// from is the time of the first entry from a key on.
func (x *dueIndex) from(lo []byte) (int64, error) {
	key, err := x.t.rt.Store.First(lo, state.After(x.prefix))
	if err != nil || key == nil {
		return arrowbatch.MaxTime, err
	}
	if len(key) < len(x.prefix)+9 {
		return 0, errState
	}
	return int64(binary.BigEndian.Uint64(key[len(x.prefix):]) ^ 1<<63), nil
}

func (x *dueIndex) at(t int64) []byte {
	return appendBucketEnd(append(make([]byte, 0, len(x.prefix)+40), x.prefix...), t)
}

// put adds an entry: vnode and key.
func (x *dueIndex) put(at int64, suffix []byte) {
	x.t.rt.Delta().Put(append(x.at(at), suffix...), nil)
	x.first = min(x.first, at)
}

// pass calls fn for the entries up to w that are in the store, and takes them out. Those
// of this epoch are not there: their keys are in memory.
func (x *dueIndex) pass(w arrowbatch.EventTime, fn func(suffix []byte) error) error {
	if x.first > w || w == arrowbatch.NoTime {
		return nil
	}
	if err := x.t.landed(); err != nil {
		return err
	}
	lo, hi := x.at(x.past), state.After(x.at(w))
	if w == arrowbatch.MaxTime {
		hi = state.After(x.prefix)
	}
	err := x.t.rt.Store.Scan(lo, hi, func(k, _ []byte) error {
		if k = k[len(x.prefix):]; len(k) < 9 {
			return errState
		}
		if !x.t.rt.Owns(k[8]) {
			return nil
		}
		return fn(k[8:])
	})
	if err != nil {
		return err
	}
	x.t.rt.Delta().DeleteRange(lo, hi)
	x.past = w
	if x.first = arrowbatch.MaxTime; w < arrowbatch.MaxTime {
		x.past++
		x.first, err = x.from(hi)
	}
	return err
}
