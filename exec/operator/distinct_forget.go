package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
)

// expire forgets the keys that no row has touched for TTL. The row that stood for
// its key by Order goes with it; a row that was passed because it was the first
// stays, for nothing of it is kept.
func (d *DistinctOn) expire(now int64) error {
	if d.exp == nil {
		return nil
	}
	for _, id := range d.save {
		if d.until[id] != arrowbatch.NoTime {
			d.exp.touch(id, now)
		}
	}
	ids, more := d.exp.due(now)
	d.rt.WakeAt(d.exp.wake(now, more))
	if len(ids) == 0 {
		return nil
	}
	out := arrowbatch.NewLike(d.Shapes)
	for _, id := range ids {
		if d.Order != nil {
			if _, err := arrowbatch.DecodeRow(d.rows[id].row, out.Cols); err != nil {
				out.Release()
				return errState
			}
			out.AppendOp(arrowbatch.Delete)
			d.held -= cap(d.rows[id].order) + cap(d.rows[id].row)
			d.rows[id] = keptRow{}
		}
		d.until[id] = arrowbatch.NoTime
		d.live--
		d.touch(id)
	}
	if out.Len == 0 {
		out.Release()
		return nil
	}
	return d.out.Emit(out)
}
