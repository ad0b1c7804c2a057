package stream

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Event is something that befalls a query, by the name of the channel that tells it.
type Event string

// The events. A restart is a termination and a start.
const (
	QueryStarted    Event = "query_started"
	QueryProgress   Event = "query_progress"
	QueryIdle       Event = "query_idle"
	QueryTerminated Event = "query_terminated"
)

// tell publishes an event, whose text is made only if somebody listens.
func (m *Manager) tell(e Event, p *Progress) {
	if m.cfg.Events != nil {
		m.cfg.Events(string(e), func() string { return string(p.event(e)) })
	}
}

// eventJSON is what a start, an idle time and an end tell.
type eventJSON struct {
	ID        uint32  `json:"id"`
	RunID     string  `json:"runId"`
	Name      string  `json:"name"`
	Timestamp string  `json:"timestamp"`
	Exception *string `json:"exception,omitempty"`
	SQLState  string  `json:"sqlState,omitempty"`
}

func (p *Progress) event(e Event) []byte {
	if e == QueryProgress {
		return p.JSON()
	}
	j := eventJSON{ID: p.Query, RunID: p.Run, Name: p.Name, Timestamp: isoTime(p.Begun)}
	if err := sqlerr.From(p.Err); err != nil {
		text := err.Error()
		j.Exception, j.SQLState = &text, string(err.Code)
	}
	return marshal(j)
}

// marshal encodes v, which has nothing that cannot be; if it had, the text would say so.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return strconv.AppendQuote(nil, err.Error())
	}
	return b
}

func isoTime(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000Z")
}

// progressJSON has the names and the order of Spark's StreamingQueryProgress.
type progressJSON struct {
	ID                     uint32            `json:"id"`
	RunID                  string            `json:"runId"`
	Name                   string            `json:"name"`
	Timestamp              string            `json:"timestamp"`
	BatchID                uint64            `json:"batchId"`
	BatchDuration          int64             `json:"batchDuration"`
	NumInputRows           int64             `json:"numInputRows"`
	InputRowsPerSecond     *float64          `json:"inputRowsPerSecond,omitempty"`
	ProcessedRowsPerSecond float64           `json:"processedRowsPerSecond"`
	DurationMs             map[string]int64  `json:"durationMs,omitempty"`
	EventTime              map[string]string `json:"eventTime,omitempty"`
	StateOperators         []operatorJSON    `json:"stateOperators"`
	Sources                []sourceJSON      `json:"sources"`
	Sink                   sinkJSON          `json:"sink"`
	Latencies              latenciesJSON     `json:"latencies"`
}

type latenciesJSON struct {
	Processing    *quantilesJSON `json:"processingLatencyMs,omitempty"`
	SourceQueuing *quantilesJSON `json:"sourceQueuingLatencyMs,omitempty"`
	EndToEnd      *quantilesJSON `json:"e2eLatencyMs,omitempty"`
	Tasks         []taskJSON     `json:"_taskMetrics"`
}

type quantilesJSON struct{ P0, P50, P90, P95, P99 float64 }

type taskJSON struct {
	Stage            string  `json:"stage"`
	Task             int     `json:"task"`
	BusyTimeFraction float64 `json:"busyTimeFraction"`
}

func quantiles(q *exec.LatencyQuantiles) *quantilesJSON {
	if q.Rows == 0 {
		return nil
	}
	ms := func(i int) float64 { return float64(q.At[i]) / 1000 }
	return &quantilesJSON{ms(0), ms(1), ms(2), ms(3), ms(4)}
}

type operatorJSON struct {
	OperatorName              string `json:"operatorName"`
	OperatorID                int    `json:"operatorId"`
	NumRowsTotal              int64  `json:"numRowsTotal"`
	NumRowsDroppedByWatermark int64  `json:"numRowsDroppedByWatermark"`
	MemoryUsedBytes           int64  `json:"memoryUsedBytes"`
}

type sourceJSON struct {
	Description            string            `json:"description"`
	StartOffset            map[string]string `json:"startOffset"`
	EndOffset              map[string]string `json:"endOffset"`
	LatestOffset           map[string]string `json:"latestOffset"`
	NumInputRows           int64             `json:"numInputRows"`
	NumBadRows             int64             `json:"numBadRows"`
	NumDeadLetters         int64             `json:"numDeadLetters,omitempty"`
	InputRowsPerSecond     *float64          `json:"inputRowsPerSecond,omitempty"`
	ProcessedRowsPerSecond float64           `json:"processedRowsPerSecond"`
}

type sinkJSON struct {
	Description   string `json:"description"`
	NumOutputRows int64  `json:"numOutputRows"`
}

// JSON returns the progress as Spark's StreamingQueryProgress says it, as far as the
// same things are known; names of our own are numBadRows,
// numDeadLetters and operatorId.
func (p *Progress) JSON() []byte {
	j := progressJSON{ID: p.Query, RunID: p.Run, Name: p.Name, Timestamp: isoTime(p.Begun), BatchID: p.Epoch,
		BatchDuration: p.Took.Milliseconds(), NumInputRows: p.RowsIn, InputRowsPerSecond: p.InputRate(p.RowsIn),
		ProcessedRowsPerSecond: p.ProcessedRate(p.RowsIn), StateOperators: []operatorJSON{}, Sources: []sourceJSON{},
		Sink: sinkJSON{p.Name, p.RowsOut}}
	if !p.Idle {
		j.DurationMs = map[string]int64{"latestOffset": p.Look.Milliseconds(), "addBatch": p.Work.Milliseconds(),
			"walCommit": p.Store.Milliseconds(), "commitOffsets": p.Deliver.Milliseconds(),
			"triggerExecution": p.Took.Milliseconds()}
	}
	if p.Watermark != arrowbatch.NoTime && p.Watermark != arrowbatch.MaxTime {
		j.EventTime = map[string]string{"watermark": isoTime(p.Watermark)}
	}
	for _, op := range p.Operators {
		if op.Groups > 0 || op.Bytes > 0 {
			j.StateOperators = append(j.StateOperators,
				operatorJSON{op.Name, op.ID, op.Groups, op.Late, op.Bytes})
		}
	}
	for _, s := range p.Sources {
		j.Sources = append(j.Sources, sourceJSON{s.Name, s.From, s.Until, s.Latest, s.Rows, s.Bad, s.DeadLetters,
			p.InputRate(s.Rows), p.ProcessedRate(s.Rows)})
	}
	l := &p.Latencies
	j.Latencies = latenciesJSON{quantiles(&l.Processing), quantiles(&l.Queuing), quantiles(&l.EndToEnd), []taskJSON{}}
	for _, t := range p.Tasks {
		j.Latencies.Tasks = append(j.Latencies.Tasks, taskJSON{t.Name, t.Part, p.busy(t)})
	}
	return marshal(j)
}

// busy is the share of the epoch that a task was at work.
func (p *Progress) busy(t TaskProgress) float64 {
	if p.Work <= 0 {
		return 0
	}
	return min(math.Round(1000*float64(t.Busy)/float64(p.Work))/1000, 1)
}

// InputRate is rows a second since the epoch before began, to a tenth; nil where there
// is none before.
func (p *Progress) InputRate(rows int64) *float64 {
	if p.Before == 0 || p.Begun <= p.Before {
		return nil
	}
	r := tenths(float64(rows) / (float64(p.Begun-p.Before) / 1e6))
	return &r
}

// ProcessedRate is rows a second of the epoch's duration, of a millisecond at least.
func (p *Progress) ProcessedRate(rows int64) float64 {
	return tenths(float64(rows) / max(p.Took, time.Millisecond).Seconds())
}

func tenths(x float64) float64 { return math.Round(x*10) / 10 }
