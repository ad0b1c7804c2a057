package metrics

import "github.com/prometheus/client_golang/prometheus"

// Query is a reading of one continuous query. Rows are counted since its creation.
type Query struct {
	Name, Kind, State                                                    string
	Epoch                                                                uint64
	Restarts, RowsIn, RowsOut, LateRows, BadRows, FailedRows, StateBytes int64
	DeadLetters                                                          int64
	// LostOffsets are those that the sources no longer had.
	LostOffsets int64
	// Watermark is in seconds since the Unix epoch; HasWatermark tells whether there
	// is one.
	Watermark    float64
	HasWatermark bool
	// EpochSeconds and CommitSeconds are those of the last epoch.
	EpochSeconds, CommitSeconds float64
	// Splits are those whose offsets count.
	Splits []Split
}

// Split is a reading of a source's split, by the last look at it.
type Split struct {
	Source, Split string
	// Lag is how many offsets it is behind, Held how many more may not be read yet.
	Lag, Held int64
}

// Server is a reading of the server.
type Server struct {
	Sessions int
	Queries  []Query
}

type figure struct {
	desc  *prometheus.Desc
	typ   prometheus.ValueType
	value func(*Query) float64
}

func perQuery(name, help string, typ prometheus.ValueType, value func(*Query) float64) figure {
	return figure{prometheus.NewDesc("streamsql_query_"+name, help, []string{"query", "kind"}, nil), typ, value}
}

var (
	sessions = prometheus.NewDesc("streamsql_sessions", "Connected sessions.", nil, nil)
	states   = prometheus.NewDesc("streamsql_query_state", "1 for the state that the query is in.",
		[]string{"query", "kind", "state"}, nil)
	watermark = prometheus.NewDesc("streamsql_query_watermark_seconds",
		"Watermark in seconds since the Unix epoch.", []string{"query", "kind"}, nil)

	lag = prometheus.NewDesc("streamsql_source_lag", "Offsets that a query has yet to read of a split.",
		[]string{"query", "kind", "source", "split"}, nil)
	heldBack = prometheus.NewDesc("streamsql_source_held_back",
		"Offsets of a split behind an open transaction, which may not be read yet.",
		[]string{"query", "kind", "source", "split"}, nil)

	figures = []figure{
		perQuery("epoch", "Last committed epoch.", prometheus.GaugeValue, func(q *Query) float64 { return float64(q.Epoch) }),
		perQuery("restarts_total", "Runs that ended with an error and were tried again.", prometheus.CounterValue,
			func(q *Query) float64 { return float64(q.Restarts) }),
		perQuery("rows_in_total", "Rows read from sources.", prometheus.CounterValue,
			func(q *Query) float64 { return float64(q.RowsIn) }),
		perQuery("rows_out_total", "Rows that reached the end of the plan.", prometheus.CounterValue,
			func(q *Query) float64 { return float64(q.RowsOut) }),
		perQuery("late_rows_total", "Rows dropped as late.", prometheus.CounterValue,
			func(q *Query) float64 { return float64(q.LateRows) }),
		perQuery("bad_rows_total", "Records of sources that could not be decoded.", prometheus.CounterValue,
			func(q *Query) float64 { return float64(q.BadRows) }),
		perQuery("lost_offsets_total", "Offsets that sources no longer had (on_data_loss = 'continue').",
			prometheus.CounterValue, func(q *Query) float64 { return float64(q.LostOffsets) }),
		perQuery("failed_rows_total", "Rows whose expressions failed.", prometheus.CounterValue,
			func(q *Query) float64 { return float64(q.FailedRows) }),
		perQuery("dead_letters_total", "Records and rows that were sent to topics of dead letters.",
			prometheus.CounterValue, func(q *Query) float64 { return float64(q.DeadLetters) }),
		perQuery("state_bytes", "Memory of the operators' state.", prometheus.GaugeValue,
			func(q *Query) float64 { return float64(q.StateBytes) }),
		perQuery("epoch_seconds", "How long the last epoch took.", prometheus.GaugeValue,
			func(q *Query) float64 { return q.EpochSeconds }),
		perQuery("commit_seconds", "How long the last epoch's commit took.", prometheus.GaugeValue,
			func(q *Query) float64 { return q.CommitSeconds }),
	}
)

// Collector publishes readings of a server.
type Collector struct{ read func() Server }

// New returns a collector that reads the server with read.
func New(read func() Server) *Collector { return &Collector{read} }

// Describe lists the figures.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sessions, states, watermark, lag, heldBack} {
		ch <- d
	}
	for _, f := range figures {
		ch <- f.desc
	}
}

// Collect reads the server and sends its figures.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.read()
	ch <- prometheus.MustNewConstMetric(sessions, prometheus.GaugeValue, float64(s.Sessions))
	for i := range s.Queries {
		q := &s.Queries[i]
		ch <- prometheus.MustNewConstMetric(states, prometheus.GaugeValue, 1, q.Name, q.Kind, q.State)
		if q.HasWatermark {
			ch <- prometheus.MustNewConstMetric(watermark, prometheus.GaugeValue, q.Watermark, q.Name, q.Kind)
		}
		for _, s := range q.Splits {
			ch <- prometheus.MustNewConstMetric(lag, prometheus.GaugeValue, float64(s.Lag), q.Name, q.Kind, s.Source, s.Split)
			ch <- prometheus.MustNewConstMetric(heldBack, prometheus.GaugeValue, float64(s.Held), q.Name, q.Kind, s.Source,
				s.Split)
		}
		for _, f := range figures {
			ch <- prometheus.MustNewConstMetric(f.desc, f.typ, f.value(q), q.Name, q.Kind)
		}
	}
}
