package main

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/metrics"
	"github.com/streamsql/streamsql/stream"
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
		q.Splits = splitReadings(s.Splits())
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

// splitReadings are the splits whose offsets count. A source that is read in several
// places of a query has one figure for each split: that of the place furthest behind.
func splitReadings(all []stream.SplitLag) []metrics.Split {
	var out []metrics.Split
	at := map[[2]string]int{}
	for _, l := range all {
		if !l.Counted {
			continue
		}
		key := [2]string{l.Name, l.Split}
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, metrics.Split{Source: l.Name, Split: l.Split})
		}
		out[i].Lag, out[i].Held = max(out[i].Lag, l.Lag), max(out[i].Held, l.Held)
	}
	return out
}
