package kafka

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connector"
)

// How much of a micro-batch each partition gets, as Spark shares it out.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		limit int64
		left  []int64
		want  []int64
	}{
		{100, []int64{1000, 10, 0, 1}, []int64{98, 1, 0, 1}},
		{10, []int64{5, 5, 5, 5}, []int64{2, 2, 2, 2}},
		{2, []int64{1, 1, 1, 1, 1}, []int64{1, 1, 1, 1, 1}}, // each that has something goes on
		{3, []int64{1 << 60, 1}, []int64{3, 1}},
		{1 << 61, []int64{1 << 61, 1 << 61}, []int64{1 << 60, 1 << 60}},
	} {
		total := int64(0)
		for _, n := range c.left {
			total += n
		}
		var got []int64
		for _, n := range c.left {
			got = append(got, share(c.limit, n, total))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%d of %v: %v, not %v", c.limit, c.left, got, c.want)
		}
	}
}

func TestLimit(t *testing.T) {
	_, addr := cluster(t, 3)
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(0, 30)...)
	produceTo(t, kc, 1, ids(0, 6)...)
	spec := idSpec(addr, "max_offsets_per_trigger", "12", "min_offsets_per_trigger", "5", "max_trigger_delay", "3 s",
		"starting_offsets", `{"0": 6}`)
	s := open(t, spec)
	if plain := open(t, idSpec(addr)); plain.Limits() || !s.Limits() {
		t.Fatal("limits")
	}
	latest, err := s.Latest(testContext(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   map[string]connector.Offset
		want string
		wait time.Duration
	}{
		{nil, "map[0:15 1:2 2:0]", 0}, // of 24 and 6
		{map[string]connector.Offset{"0": "15", "1": "2", "2": "0"}, "map[0:24 1:4 2:0]", 0}, // of 15 and 4
		{map[string]connector.Offset{"0": "24", "1": "4", "2": "0"}, "map[0:30 1:6 2:0]", 0},
		{map[string]connector.Offset{"0": "26", "1": "6", "2": "0"}, "map[0:30 1:6 2:0]", 3 * time.Second},
		{map[string]connector.Offset{"0": "30", "1": "6", "2": "0"}, "map[0:30 1:6 2:0]", 0}, // nothing waits
		{map[string]connector.Offset{"0": "40", "1": "6"}, "map[0:30 1:6 2:0]", 0},           // beyond the end
	} {
		l, err := s.Limit(testContext(t), c.at, latest)
		if err != nil || fmt.Sprint(l.Until) != c.want || l.Wait != c.wait || l.Less != (c.want != "map[0:30 1:6 2:0]") {
			t.Errorf("at %v: %+v, %v", c.at, l, err)
		}
	}
}
