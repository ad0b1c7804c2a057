package session

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// NewSystemProvider returns what fills those relations of schema streamsql that
// tell about running queries.
func NewSystemProvider(m *stream.Manager, store *state.Store) catalog.SystemProvider {
	p := &systemProvider{m, store}
	fill := map[string]func(*catalog.Rows) error{"queries": p.queries, "progress": p.progress,
		"operators": p.operators, "state": p.state, "pools": p.pools, "splits": p.splits,
		"watermarks": p.watermarks, "checkpoints": p.checkpoints, "bad_rows": p.badRows,
		"failed_rows": p.failedRows, "late_rows": p.lateRows, "reads": p.reads,
		"savepoints": p.savepoints}
	return func(name string, cols []catalog.Column) (*arrowbatch.Batch, error) {
		rows := catalog.NewRows(cols)
		if fn := fill[name]; fn != nil {
			if err := fn(rows); err != nil {
				return nil, err
			}
		}
		return rows.Batch(), nil
	}
}

type systemProvider struct {
	m     *stream.Manager
	store *state.Store
}

// known returns t for a column of times, NULL for none.
func known(t arrowbatch.EventTime) any {
	if t == arrowbatch.NoTime || t == arrowbatch.MaxTime {
		return nil
	}
	return t
}

// deadLetters are all of a query: records that it could not read, and rows that it could
// not write.
func deadLetters(s *stream.Status) int64 {
	n := s.DeadLetters
	for _, op := range s.Operators {
		n += op.DeadLetters
	}
	return n
}

// totals adds up the figures of a query's operators.
func totals(s *stream.Status) (out, late, failed, bytes int64) {
	for _, op := range s.Operators {
		if op.ID == 1 { // the end of the plan: what comes in there is the result
			out += op.RowsIn
		}
		late, failed, bytes = late+op.Late, failed+op.Failed, bytes+op.Bytes
	}
	return out, late, failed, bytes
}

func (p *systemProvider) queries(r *catalog.Rows) error {
	for _, s := range p.m.Status() {
		out, late, failed, bytes := totals(&s)
		v := catalog.Vals{"id": int64(s.ID), "schema": s.Schema, "name": s.Name, "kind": s.Kind,
			"state": s.State.String(), "trigger": s.Trigger, "output_mode": s.OutputMode, "epoch": s.Epoch,
			"watermark": known(s.Watermark), "restarts": s.Restarts, "rows_in": s.RowsIn, "rows_out": out,
			"late_rows": late, "bad_rows": s.BadRows, "failed_rows": failed,
			"dead_letters": deadLetters(&s), "state_bytes": bytes}
		if s.Pool != "" {
			v["pool"] = s.Pool
		}
		if !s.Started.IsZero() {
			v["started_at"] = s.Started.UnixMicro()
		}
		if s.Err != nil {
			v["error_code"], v["error"] = string(s.Err.Code), s.Err.Error()
		}
		r.Row(v)
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (p *systemProvider) progress(r *catalog.Rows) error {
	for _, g := range p.m.Progress() {
		v := catalog.Vals{"query_id": int64(g.Query), "query": g.Name, "run": g.Run, "epoch": g.Epoch, "at": g.Begun,
			"idle": g.Idle, "rows_in": g.RowsIn, "bad_rows": g.BadRows, "dead_letters": g.DeadLetters, "rows_out": g.RowsOut,
			"processed_rows_per_second": g.ProcessedRate(g.RowsIn), "duration_ms": millis(g.Took),
			"look_ms": millis(g.Look), "work_ms": millis(g.Work), "store_ms": millis(g.Store),
			"deliver_ms": millis(g.Deliver), "watermark": known(g.Watermark), "progress": g.JSON()}
		if rate := g.InputRate(g.RowsIn); rate != nil {
			v["input_rows_per_second"] = *rate
		}
		r.Row(v)
	}
	return nil
}

func (p *systemProvider) operators(r *catalog.Rows) error {
	for _, s := range p.m.Status() {
		for _, op := range s.Operators {
			r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "operator": op.ID, "name": op.Name,
				"rows_in": op.RowsIn, "rows_out": op.RowsOut, "late_rows": op.Late, "partly_late_rows": op.Partial,
				"null_time_rows": op.NullTime, "duplicate_rows": op.Dups, "failed_rows": op.Failed,
				"dead_letters": op.DeadLetters, "state_rows": op.Groups, "state_bytes": op.Bytes})
		}
	}
	return nil
}

func (p *systemProvider) reads(r *catalog.Rows) error {
	for _, s := range p.m.Status() {
		for _, src := range s.Sources {
			r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "source": src.Operator, "name": src.Name,
				"rows_in": src.Rows, "bad_rows": src.Bad, "dead_letters": src.DeadLetters, "lost_offsets": src.Lost})
		}
	}
	return nil
}

func (p *systemProvider) state(r *catalog.Rows) error {
	for _, s := range p.m.Status() {
		for _, op := range s.Operators {
			if op.Groups > 0 || op.Bytes > 0 {
				r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "operator": op.ID, "name": op.Name,
					"rows": op.Groups, "bytes": op.Bytes})
			}
		}
	}
	return nil
}

func (p *systemProvider) pools(r *catalog.Rows) error {
	type pool struct{ queries, running int64 }
	pools := map[string]*pool{}
	var names []string
	for _, s := range p.m.Status() {
		name := s.Pool
		if name == "" {
			name = "default"
		}
		if pools[name] == nil {
			pools[name] = &pool{}
			names = append(names, name)
		}
		pools[name].queries++
		if s.State == stream.Running {
			pools[name].running++
		}
	}
	slices.Sort(names)
	for _, n := range names {
		r.Row(catalog.Vals{"name": n, "queries": pools[n].queries, "running": pools[n].running})
	}
	return nil
}

// each calls fn with every query's last checkpoint.
func (p *systemProvider) each(fn func(s *stream.Status, c *state.Checkpoint) error) error {
	for _, s := range p.m.Status() {
		c, err := p.store.Last(s.ID)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if err := fn(&s, c); err != nil {
			return err
		}
	}
	return nil
}

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (p *systemProvider) splits(r *catalog.Rows) error {
	for _, s := range p.m.Status() {
		c, err := p.store.Last(s.ID)
		if err != nil {
			return err
		}
		if c == nil {
			c = &state.Checkpoint{}
		}
		rows := map[string]map[string]bool{}
		for _, l := range s.Splits() {
			v := catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "source": l.Operator, "split": l.Split,
				"name": l.Name}
			if l.Offset != "" {
				v["offset"] = l.Offset
			}
			if l.Latest != "" {
				v["latest"], v["looked_at"] = l.Latest, l.LookAt.UnixMicro()
			}
			if l.Counted {
				v["lag"], v["held_back"] = l.Lag, l.Held
			}
			r.Row(v)
			if rows[l.Operator] == nil {
				rows[l.Operator] = map[string]bool{}
			}
			rows[l.Operator][l.Split] = true
		}
		// Of a query that has not run since the server was started, the checkpoint knows.
		for _, src := range sortedKeys(c.Offsets) {
			for _, split := range sortedKeys(c.Offsets[src]) {
				if !rows[src][split] {
					r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "source": src, "split": split,
						"offset": c.Offsets[src][split]})
				}
			}
		}
	}
	return nil
}

func (p *systemProvider) watermarks(r *catalog.Rows) error {
	return p.each(func(s *stream.Status, c *state.Checkpoint) error {
		for _, op := range sortedKeys(c.Watermarks) {
			for _, split := range sortedKeys(c.Watermarks[op]) {
				w := known(c.Watermarks[op][split])
				if w == nil {
					continue
				}
				v := catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "operator": op, "watermark": w}
				if split != "" {
					v["split"] = split
				}
				r.Row(v)
			}
		}
		return nil
	})
}

func (p *systemProvider) checkpoints(r *catalog.Rows) error {
	return p.each(func(s *stream.Status, c *state.Checkpoint) error {
		offsets, err := json.Marshal(c.Offsets)
		if err != nil {
			return err
		}
		marks, err := json.Marshal(c.Watermarks)
		if err != nil {
			return err
		}
		r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "epoch": c.Epoch, "plan": c.Plan,
			"finished": c.Finished, "offsets": offsets, "watermarks": marks})
		return nil
	})
}

func (p *systemProvider) savepoints(r *catalog.Rows) error {
	all, err := p.m.Savepoints()
	if err != nil {
		return err
	}
	for _, sp := range all {
		c, err := p.store.Last(sp.ID)
		if err != nil {
			return err
		}
		o, err := catalog.DecodeObject(sp.Object)
		if err != nil {
			return err
		}
		if c == nil {
			continue // dropped meanwhile
		}
		offsets, err := json.Marshal(c.Offsets)
		if err != nil {
			return err
		}
		r.Row(catalog.Vals{"name": sp.Name, "query_id": int64(sp.Query), "query": sp.Of, "kind": sp.Kind, "epoch": sp.Epoch,
			"created_at": sp.Created, "bytes": sp.Bytes, "offsets": offsets, "definition": o.SQL})
	}
	return nil
}

func (p *systemProvider) badRows(r *catalog.Rows) error {
	all, err := p.m.Kept(state.BadRecord)
	for _, k := range all {
		for i := range k.Bad {
			v := k.Bad[i].Vals()
			v["query_id"], v["query"] = int64(k.Query), k.Name
			r.Row(v)
		}
	}
	return err
}

func (p *systemProvider) lateRows(r *catalog.Rows) error {
	all, err := p.m.Kept(state.LateRecord)
	for _, k := range all {
		for i := range k.Late {
			v := k.Late[i].Vals()
			v["query_id"], v["query"] = int64(k.Query), k.Name
			r.Row(v)
		}
	}
	return err
}

func (p *systemProvider) failedRows(r *catalog.Rows) error {
	all, err := p.m.Kept(state.FailedRecord)
	rows := p.m.StoppingRows()
	for _, k := range all {
		for _, f := range k.Failed {
			rows = append(rows, stream.FailedRow{Query: k.Query, Name: k.Name, FailedRow: f})
		}
	}
	for _, f := range rows {
		op := "insert"
		if f.Delete {
			op = "delete"
		}
		r.Row(catalog.Vals{"query_id": int64(f.Query), "query": f.Name, "operator": f.Operator,
			"at": f.Micros, "op": op, "code": f.Code, "error": f.Message, "row": f.Row})
	}
	return err
}
