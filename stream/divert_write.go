package stream

import (
	"cmp"
	"maps"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/state"
)

// diverted are the rows of an epoch for one table.
type diverted struct {
	table   *catalog.Object
	batches []*arrowbatch.Batch
}

func (v *diverted) release() {
	for _, b := range v.batches {
		b.Release()
	}
	v.batches = nil
}

// writeTables adds the rows that tables take to the delta, a version of each table.
// done lets others write the tables again.
func (k *keeper) writeTables(d *state.Delta, acks []*exec.Ack, sources map[string]*catalog.Object) (
	done func(), err error,
) {
	all := map[catalog.ObjectID]*diverted{}
	defer func() {
		for _, v := range all {
			v.release()
		}
	}()
	if err := k.divertRows(all, acks, sources); err != nil {
		return nil, err
	}
	var locks []func()
	done = func() {
		for _, unlock := range locks {
			unlock()
		}
	}
	// One order for all who write several tables, so that they never wait for each
	// other.
	for _, id := range slices.Sorted(maps.Keys(all)) {
		unlock, err := k.writeTable(d, all[id])
		if err != nil {
			done()
			return nil, err
		}
		locks = append(locks, unlock)
	}
	return done, nil
}

// divertRows makes rows of tables of what the acknowledgements have.
func (k *keeper) divertRows(all map[catalog.ObjectID]*diverted, acks []*exec.Ack,
	sources map[string]*catalog.Object,
) error {
	put := func(into *diversion, rows *arrowbatch.Batch, known []catalog.Vals) error {
		b, err := into.batch(rows, len(known), known)
		if err != nil {
			return err
		}
		v := all[into.table.ID]
		if v == nil {
			v = &diverted{table: into.table}
			all[into.table.ID] = v
		}
		v.batches = append(v.batches, b)
		return nil
	}
	o, _ := k.q.options()
	var late []exec.LateRows
	for _, a := range acks {
		late = append(late, a.Late...)
		if into := k.bad[a.Source].into; into != nil && len(a.Bad) > 0 {
			if err := put(into, nil, k.badVals(o, sources[a.Source], a.Bad)); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(late, func(a, b exec.LateRows) int { return cmp.Compare(a.Micros, b.Micros) })
	for _, l := range late {
		into := k.late[l.Operator].into
		if into == nil {
			continue
		}
		known := make([]catalog.Vals, l.Rows.Len)
		for i := range known {
			r := lateRow(&l, i, into.wants("row"))
			known[i] = ofQuery(o, r.Vals())
		}
		if err := put(into, l.Rows, known); err != nil {
			return err
		}
	}
	return nil
}

// ofQuery adds what tells the query.
func ofQuery(o *catalog.Object, v catalog.Vals) catalog.Vals {
	v["query_id"], v["query"] = int64(o.ID), o.Name.Name
	return v
}

func (k *keeper) badVals(query, source *catalog.Object, rows []connector.BadRow) []catalog.Vals {
	out := make([]catalog.Vals, len(rows))
	for i, r := range rows {
		b := BadRow{r, source.Name.String()}
		out[i] = ofQuery(query, b.Vals())
	}
	return out
}

// writeTable adds rows to a table.
func (k *keeper) writeTable(d *state.Delta, v *diverted) (unlock func(), err error) {
	rel, err := build.Relation(k.store, v.table)
	if err != nil {
		return nil, err
	}
	b := arrowbatch.Concat(v.batches)
	v.batches = nil
	defer b.Release()
	b.Ops = nil // the taking back of a row is a row here
	for _, c := range v.table.Key {
		if !k.beyond[v.table.ID] {
			if err := k.store.Beyond(rel, c); err != nil {
				return nil, err
			}
			k.beyond[v.table.ID] = true
		}
		ids := arrowbatch.NewFlat(arrowbatch.Int64, b.Len)
		first := k.store.RowIDs(b.Len, clock.Micros(k.q.m.cfg.Clock))
		for i := range ids.I64 {
			ids.I64[i] = first + int64(i)
		}
		b.Cols[c].Release()
		b.Cols[c] = ids
	}
	return rel.Apply(d, b)
}
