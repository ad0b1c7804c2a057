package main

import (
	"encoding/json"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/stream"
)

// systemRows makes the rows of schema streamsql's relations that tell about
// running queries.
func (e *engine) systemRows(name string, cols []catalog.Column) (*arrowbatch.Batch, error) {
	r := catalog.NewRows(cols)
	switch name {
	case "bad_rows":
		for _, b := range e.queries.BadRows() {
			r.Row(catalog.Vals{"query_id": int64(b.Query), "query": b.Name, "source": b.Source, "split": b.Split,
				"offset": string(b.Offset), "at": b.Micros, "reason": b.Reason, "bytes": b.Bytes})
		}
	case "failed_rows":
		for _, f := range e.queries.FailedRows() {
			op := "insert"
			if f.Delete {
				op = "delete"
			}
			r.Row(catalog.Vals{"query_id": int64(f.Query), "query": f.Name, "operator": f.Operator, "at": f.Micros,
				"op": op, "code": f.Code, "error": f.Message, "row": f.Row})
		}
	default:
		for _, s := range e.queries.Status() {
			if rows := queryRows[name]; rows != nil {
				rows(r, &s)
			}
		}
	}
	return r.Batch(), nil
}

// queryRows add a query's rows to a relation.
var queryRows = map[string]func(*catalog.Rows, *stream.Status){
	"queries": func(r *catalog.Rows, s *stream.Status) {
		v := catalog.Vals{"id": int64(s.ID), "schema": s.Schema, "name": s.Name, "kind": s.Kind, "state": s.State.String(),
			"trigger": s.Trigger, "output_mode": s.OutputMode, "epoch": int64(s.Epoch), "watermark": timeOf(s.Watermark),
			"restarts": int64(s.Restarts), "rows_in": s.RowsIn}
		if s.Pool != "" {
			v["pool"] = s.Pool
		}
		if !s.Started.IsZero() {
			v["started_at"] = s.Started.UnixMicro()
		}
		var out, late, failed, bytes int64
		for _, o := range s.Operators {
			late, failed, bytes = late+o.Late, failed+o.Failed, bytes+o.Bytes
			if o.ID <= 2 {
				out = max(out, o.RowsIn)
			}
		}
		v["rows_out"], v["late_rows"], v["failed_rows"], v["state_bytes"] = out, late, failed, bytes
		if s.Err != nil {
			v["error_code"], v["error"] = string(s.Err.Code), s.Err.Error()
		}
		r.Row(v)
	},
	"operators": func(r *catalog.Rows, s *stream.Status) {
		for _, o := range s.Operators {
			r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "operator": int64(o.ID), "name": o.Name,
				"tasks": int32(1), "rows_in": o.RowsIn, "rows_out": o.RowsOut, "state_rows": o.Groups,
				"state_bytes": o.Bytes, "late_rows": o.Late})
		}
	},
	"splits": func(r *catalog.Rows, s *stream.Status) {
		for source, by := range s.Offsets {
			for split, off := range by {
				r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "source": source, "split": split, "offset": off})
			}
		}
	},
	"watermarks": func(r *catalog.Rows, s *stream.Status) {
		if s.Watermark != arrowbatch.NoTime {
			r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "input": "query", "watermark": s.Watermark})
		}
	},
	"state": func(r *catalog.Rows, s *stream.Status) {
		for _, o := range s.Operators {
			if o.Groups > 0 {
				r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "operator": int64(o.ID),
					"table": o.Name + " " + strconv.Itoa(o.ID), "rows": o.Groups, "bytes": o.Bytes})
			}
		}
	},
	"checkpoints": func(r *catalog.Rows, s *stream.Status) {
		if s.Epoch == 0 {
			return
		}
		off, _ := json.Marshal(s.Offsets) // a map of strings always has a text
		r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "epoch": int64(s.Epoch),
			"duration_ms": float64(s.Commit.Microseconds()) / 1000, "offsets": string(off), "watermarks": "{}"})
	},
	"progress": func(r *catalog.Rows, s *stream.Status) {
		r.Row(catalog.Vals{"query_id": int64(s.ID), "query": s.Name, "epoch": int64(s.Epoch), "rows_in": s.RowsIn,
			"duration_ms": float64(s.Duration.Microseconds()) / 1000, "commit_ms": float64(s.Commit.Microseconds()) / 1000,
			"watermark": timeOf(s.Watermark), "progress": "{}"})
	},
}

// timeOf is a watermark as a value: nil where there is none.
func timeOf(w arrowbatch.EventTime) any {
	if w == arrowbatch.NoTime {
		return nil
	}
	return w
}
