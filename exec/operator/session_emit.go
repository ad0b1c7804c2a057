package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// emit sends the sessions that changed since the last emission.
func (o *SessionAgg) emit() error {
	if len(o.changed) == 0 {
		return nil
	}
	var del, ins pick
	var live []int32
	for _, id := range o.changed {
		s := &o.s[id]
		s.flags &^= toEmit
		if s.old >= 0 {
			del.add(id, s.old)
			s.old = -1
		}
		if s.flags&dead == 0 {
			live = append(live, id)
		}
	}
	o.changed = o.changed[:0]
	res, errs := o.results(live)
	defer res.Release()
	for k, id := range live {
		if err := errs[int32(k)]; err != nil {
			if err := o.report(id, err); err != nil {
				return err
			}
			o.s[id].flags &^= emitted
			continue
		}
		o.s[id].flags |= emitted
		ins.add(id, int32(k))
	}
	out, err := o.build(del, ins, res)
	o.old.Release()
	o.old = arrowbatch.NewLike(o.aggShapes)
	o.oldSpan = o.oldSpan[:0]
	if err != nil || out == nil {
		return err
	}
	return o.out.Emit(out)
}

func (o *SessionAgg) results(ids []int32) (*arrowbatch.Batch, map[int32]*sqlerr.Error) {
	res := arrowbatch.NewLike(o.aggShapes)
	res.Len = len(ids)
	var errs map[int32]*sqlerr.Error
	for i, a := range o.accs {
		a.Result(ids, res.Cols[i], func(k int, err *sqlerr.Error) {
			if errs == nil {
				errs = map[int32]*sqlerr.Error{}
			}
			errs[int32(k)] = err
		})
	}
	return res, errs
}

// report tells of a session that has no result, once.
func (o *SessionAgg) report(id int32, err *sqlerr.Error) error {
	if o.s[id].flags&failed != 0 {
		return nil
	}
	o.s[id].flags |= failed
	key := arrowbatch.NewLike(o.keyShapes)
	defer key.Release()
	if e := o.groups.AppendColumns(key.Cols, []int32{o.s[id].group}); e != nil {
		return e
	}
	key.AppendOp(arrowbatch.Insert)
	return o.rt.Fail(o.rt, key, []expr.RowError{{Row: 0, Err: err}})
}

// build makes the output rows: deletes of old rows, then inserts.
func (o *SessionAgg) build(del, ins pick, res *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	n := len(del.ids) + len(ins.ids)
	if n == 0 {
		return nil, nil
	}
	spans := make([]spanOf, 0, n)
	for _, r := range del.rows {
		spans = append(spans, o.oldSpan[r])
	}
	for _, id := range ins.ids {
		spans = append(spans, spanOf{o.s[id].group, o.s[id].start, o.s[id].end})
	}
	groups := make([]int32, n)
	for i, s := range spans {
		groups[i] = s.group
	}
	keys := arrowbatch.NewLike(o.keyShapes)
	defer keys.Release()
	if err := o.groups.AppendColumns(keys.Cols, groups); err != nil {
		return nil, err
	}
	out := deletesFirst(len(del.ids), n, len(o.Out))
	for i, c := range o.Out {
		switch c.Kind {
		case OutKey:
			out.Cols[i] = keys.Cols[c.N].Retain()
		case OutAgg:
			out.Cols[i] = aggColumn(o.old, res, c.N, del.rows, ins.rows)
		default:
			v := arrowbatch.NewVec(o.outShapes[i], n)
			for k, s := range spans {
				v.I64[k] = s.start
				if c.Kind == OutEnd {
					v.I64[k] = s.end
				}
			}
			out.Cols[i] = v
		}
	}
	return out, nil
}

func (o *SessionAgg) emitFinal(ids []int32) error {
	res, errs := o.results(ids)
	defer res.Release()
	var ins pick
	for k, id := range ids {
		if err := errs[int32(k)]; err != nil {
			if err := o.report(id, err); err != nil {
				return err
			}
			continue
		}
		ins.add(id, int32(k))
	}
	out, err := o.build(pick{}, ins, res)
	if err != nil || out == nil {
		return err
	}
	return o.out.Emit(out)
}
