package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestCollect(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(New(func() Server {
		return Server{Sessions: 3, Queries: []Query{{Name: "v", Kind: "materialized view", State: "running", RowsIn: 7,
			Watermark: 1.5, HasWatermark: true, Splits: []Split{{Source: "s", Split: "0", Lag: 3}, {Source: "s", Split: "1",
				Lag: 4, Held: 2}}}, {Name: "s", Kind: "sink", State: "failed"}}}
	}))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	count, sum := map[string]int{}, map[string]float64{}
	for _, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", f.GetName())
		}
		for _, m := range f.GetMetric() {
			count[f.GetName()]++
			sum[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]struct {
		n   int
		sum float64
	}{"streamsql_sessions": {1, 3}, "streamsql_query_rows_in_total": {2, 7}, "streamsql_query_watermark_seconds": {1, 1.5},
		"streamsql_query_state": {2, 2}, "streamsql_source_lag": {2, 7}, "streamsql_source_held_back": {2, 2}} {
		if count[name] != want.n || sum[name] != want.sum {
			t.Errorf("%s: %d figures with sum %v, want %d and %v", name, count[name], sum[name], want.n, want.sum)
		}
	}
	if want := 5 + len(figures); len(families) != want {
		t.Errorf("%d families, want %d", len(families), want)
	}
}
