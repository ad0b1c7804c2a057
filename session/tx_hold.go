package session

import (
	"context"
	"slices"

	"github.com/streamsql/streamsql/catalog"
)

// changeOf is the number of the last change of an object's query, 0 for none.
func changeOf(o *catalog.Object) uint32 {
	if o == nil || o.Origin == nil {
		return 0
	}
	return o.Origin.Change
}

// hold stops the queries whose definitions the transaction replaces, and keeps the
// savepoints that it begins with. done must be called: it lets the queries go on, with
// the new definitions if these are in force.
func (t *tx) hold(ctx context.Context) (done func(applied bool), err error) {
	var ends []func(bool)
	done = func(applied bool) {
		for _, end := range slices.Backward(ends) {
			end(applied)
		}
	}
	var pins []uint32
	var replaced []*catalog.Object
	for _, o := range append(t.cat.Created(), t.cat.Replaced()...) {
		old := t.cat.Before(o.ID)
		if changeOf(o) == changeOf(old) {
			continue
		}
		if o.Origin.Savepoint != 0 {
			pins = append(pins, o.Origin.Savepoint)
		}
		if old != nil {
			replaced = append(replaced, o)
		}
	}
	if len(pins) == 0 && len(replaced) == 0 {
		return done, nil
	}
	st, err := t.s.states()
	if err != nil {
		return nil, err
	}
	release, err := st.Pin(ctx, pins)
	if err != nil {
		return nil, err
	}
	ends = append(ends, func(bool) { release() })
	for _, o := range replaced {
		end, err := st.Hold(ctx, t.cat.Before(o.ID), o)
		if err != nil {
			done(false)
			return nil, err
		}
		ends = append(ends, end)
	}
	return done, nil
}
