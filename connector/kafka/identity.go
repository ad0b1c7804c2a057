package kafka

import (
	"encoding/hex"
	"errors"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// errAnew is the cause of the error of a source that goes on with a recreated topic:
// no request can be tried again, but the query begins again.
var errAnew = errors.New("the query begins again, at the start of the new topic")

// recognize compares the id that a broker tells of the topic with the one known.
func (cl *client) recognize(id [idBytes]byte) error {
	if id == ([idBytes]byte{}) {
		return nil // a broker older than topic ids
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	resumed := cl.resumed
	cl.resumed = false
	switch {
	case cl.id == id:
	case cl.id == [idBytes]byte{}:
		cl.id = id
	case !cl.goOn:
		e := sqlerr.New(sqlerr.ObjectNotInState, `topic "%s" was recreated`, cl.topic)
		if cl.reads {
			e.Detail = "Offsets of the old topic mean nothing in the new one."
			e.Hint = "ALTER the source to SET (on_data_loss = 'continue') and RESTART the query to read the new topic " +
				"from its start, or DROP the query and CREATE it again to begin anew."
		}
		return e.AsPermanent()
	case !resumed:
		return sqlerr.Wrap(errAnew, sqlerr.ConnectionFailure, `topic "%s" was recreated`, cl.topic)
	default:
		cl.id, cl.another = id, true
	}
	return nil
}

// Identity is the topic's id, as a checkpoint keeps it.
func (s *source) Identity() string {
	s.cl.mu.Lock()
	defer s.cl.mu.Unlock()
	if s.cl.id == ([idBytes]byte{}) {
		return ""
	}
	return hex.EncodeToString(s.cl.id[:])
}

// Resume tells the id of the topic that the checkpoint's offsets belong to.
func (s *source) Resume(identity string) {
	id, err := hex.DecodeString(identity)
	if err != nil || len(id) != idBytes {
		return // not ours: as a checkpoint without one
	}
	s.cl.mu.Lock()
	defer s.cl.mu.Unlock()
	copy(s.cl.id[:], id)
	s.cl.resumed = true
}

// unsure tells whether the topic has yet to be compared with the checkpoint's.
func (cl *client) unsure() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.resumed
}

// isAnother tells whether the topic is another than that of the checkpoint's
// offsets.
func (cl *client) isAnother() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.another
}

// noteAnother puts into the bad rows that a partition is read from its start, since
// its topic was recreated.
func (r *reader) noteAnother(was, start int64) {
	if r.src.spec.BadRows == nil {
		return
	}
	r.src.spec.BadRows.Add(connector.BadRow{Gap: true, Split: r.split, Offset: offsetText(was),
		Micros: clock.Micros(r.src.spec.Clock),
		Reason: "the topic was recreated: reading goes on at its start, offset " + itoa(start)})
}
