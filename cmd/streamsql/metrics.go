package main

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/metrics"
)

// reading reads the server's figures for a scrape.
func (e *engine) reading(sessions int) metrics.Server {
	out := metrics.Server{Sessions: sessions}
	for _, s := range e.queries.Status() {
		q := metrics.Query{Name: s.Name, Kind: s.Kind, State: s.State.String(), Epoch: s.Epoch, Restarts: int64(s.Restarts),
			RowsIn: s.RowsIn, BadRows: s.BadRows, LostOffsets: s.Lost, EpochSeconds: s.Duration.Seconds(),
			CommitSeconds: s.Commit.Seconds()}
		if s.Watermark != arrowbatch.NoTime && s.Watermark != arrowbatch.MaxTime {
			q.Watermark, q.HasWatermark = float64(s.Watermark)/1e6, true
		}
		q.DeadLetters = s.DeadLetters
		for _, o := range s.Operators {
			q.DeadLetters += o.DeadLetters
			q.LateRows, q.FailedRows, q.StateBytes = q.LateRows+o.Late, q.FailedRows+o.Failed, q.StateBytes+o.Bytes
			if o.ID == 1 { // the end of the plan: what comes in there is the result
				q.RowsOut = o.RowsIn
			}
		}
		out.Queries = append(out.Queries, q)
	}
	return out
}
