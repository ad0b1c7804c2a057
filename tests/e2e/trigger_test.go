package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// triggers are all of them; ends tells that a query over an endless source ends.
var triggers = []struct {
	text string
	ends bool
}{{"processing_time 0", false}, {"processing_time 50 ms", false}, {"available_now", true}, {"once", true}, {"real_time", false}}

// triggerViews are queries over bids, each with what the same SELECT gives.
var triggerViews = []struct{ name, query string }{
	{"by_channel", "SELECT channel, count(*) AS n, sum(price) AS total, max(price) AS most FROM bids GROUP BY channel"},
	{"by_window", "SELECT window_start, auction % 10 AS a, count(*) AS n, sum(price) AS total " +
		"FROM TUMBLE(bids, date_time, INTERVAL '2 seconds') GROUP BY window_start, auction % 10"},
	{"plain", "SELECT auction, bidder, price, date_time FROM bids WHERE auction % 20 = 0"},
	{"overall", "SELECT count(*) AS n, count(DISTINCT bidder) AS bidders FROM bids"},
}

// TestTriggers: whatever the trigger and however many tasks, the result is the
// same.
func TestTriggers(t *testing.T) {
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec("CREATE SOURCE bids WITH (connector = 'nexmark', kind = 'bid', number_of_events = '20000', splits = '4')")
	want := map[string][]string{}
	for _, v := range triggerViews {
		want[v.name] = c.rows(v.query)
	}
	for i, tr := range triggers {
		for _, parallel := range []int{1, 2, 4} {
			for _, v := range triggerViews {
				name := fmt.Sprintf("%s_%d_%d", v.name, i, parallel)
				c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW %s WITH (trigger = '%s', parallelism = %d) AS %s", name, tr.text, parallel, v.query))
			}
		}
	}
	for i, tr := range triggers {
		for _, parallel := range []int{1, 2, 4} {
			for _, v := range triggerViews {
				name := fmt.Sprintf("%s_%d_%d", v.name, i, parallel)
				c.exec("AWAIT " + name) // the source ends, so all queries do
				same(t, fmt.Sprintf("%s, trigger %s, parallelism %d", v.name, tr.text, parallel), c.rows("SELECT * FROM "+name), want[v.name])
			}
		}
	}
}

// TestTriggersOnKafka: over a topic, which has no end, available_now and once end
// at what was there at the start, and a restart takes in what has come since.
func TestTriggersOnKafka(t *testing.T) {
	k := kafka(t)
	topic := k.topic(3)
	c := serve(t, t.TempDir()).connect()
	c.exec(fmt.Sprintf(`CREATE SOURCE bids (auction bigint, bidder bigint, price bigint, channel text, date_time timestamp)
		WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT PLAIN ENCODE JSON`, k.addr, topic))
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 2 {
		k.produce(topic, 3, randomBids(rng, 3000)...)
		for i, tr := range triggers {
			for _, v := range triggerViews {
				name := fmt.Sprintf("%s_%d", v.name, i)
				switch {
				case round == 0:
					c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW %s WITH (trigger = '%s', parallelism = 2) AS %s", name, tr.text, v.query))
				case tr.ends:
					c.exec("RESTART " + name)
				}
			}
		}
		for i, tr := range triggers {
			for _, v := range triggerViews {
				if name := fmt.Sprintf("%s_%d", v.name, i); tr.ends {
					c.exec("AWAIT " + name)
				}
			}
		}
		c.exec("FLUSH")
		for _, v := range triggerViews {
			want := c.rows(v.query)
			for i, tr := range triggers {
				same(t, fmt.Sprintf("round %d: %s, trigger %s", round, v.name, tr.text), c.rows(fmt.Sprintf("SELECT * FROM %s_%d", v.name, i)), want)
			}
		}
	}
}

func randomBids(rng *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`{"auction":%d,"bidder":%d,"price":%d,"channel":"c%d","date_time":"2024-01-01T00:00:%02d"}`,
			rng.IntN(100), rng.IntN(500), rng.IntN(100000), rng.IntN(5), rng.IntN(60))
	}
	return out
}

// reading is a query over bids with another source.
func reading(query, source string) string {
	return strings.ReplaceAll(strings.ReplaceAll(query, "FROM bids", "FROM "+source), "TUMBLE(bids", "TUMBLE("+source)
}

// TestSwitchTriggers changes the triggers of running queries again and again while
// rows come: no row is lost, none counts twice, in views and in the files of a
// sink.
func TestSwitchTriggers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	k := kafka(t)
	topic := k.topic(2)
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(fmt.Sprintf(`CREATE SOURCE topic (auction bigint, bidder bigint, price bigint, channel text, date_time timestamp)
			WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT PLAIN ENCODE JSON;
		CREATE SOURCE nexmark WITH (connector = 'nexmark', kind = 'bid', number_of_events = '60000', rows_per_second = '20000', splits = '2');
		CREATE SOURCE nexmark_now WITH (connector = 'nexmark', kind = 'bid', number_of_events = '60000')`, k.addr, topic))
	var names []string
	for _, source := range []string{"topic", "nexmark"} {
		for i, v := range triggerViews {
			name := v.name + "_" + source
			names = append(names, "MATERIALIZED VIEW "+name)
			c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW %s WITH (parallelism = %d, checkpoint_interval = '50 ms') AS %s",
				name, 1+i%2, reading(v.query, source)))
		}
		names = append(names, "SINK files_"+source)
		c.exec(fmt.Sprintf(`CREATE SINK files_%s WITH (connector = 'file', path = '%s', checkpoint_interval = '50 ms') FORMAT PLAIN ENCODE JSON
			AS SELECT auction, bidder, price FROM %s`, source, filepath.Join(s.dir, "out", source), source))
	}
	switches := 0
	for begin := time.Now(); time.Since(begin) < 4*time.Second; switches++ {
		k.produce(topic, 2, randomBids(rng, 1+rng.IntN(200))...)
		tr := triggers[rng.IntN(len(triggers))]
		c.exec(fmt.Sprintf("ALTER %s SET (trigger = '%s')", names[rng.IntN(len(names))], tr.text))
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	}
	t.Logf("%d switches", switches)
	for _, n := range names {
		c.exec("ALTER " + n + " SET (trigger = 'processing_time 0')")
	}
	c.exec("FLUSH")
	for _, source := range []string{"topic", "nexmark"} {
		now := source
		if source == "nexmark" { // the same rows at once
			now = "nexmark_now"
			for _, v := range triggerViews {
				c.exec("AWAIT " + v.name + "_" + source)
			}
			c.exec("AWAIT files_" + source)
		}
		for _, v := range triggerViews {
			same(t, v.name+" of "+source, c.rows("SELECT * FROM "+v.name+"_"+source), c.rows(reading(v.query, now)))
		}
		var got []string
		for _, l := range partLines(t, filepath.Join(s.dir, "out", source)) {
			got = append(got, fmt.Sprintf("%d|%d|%d", jsonInt(t, l, "auction"), jsonInt(t, l, "bidder"), jsonInt(t, l, "price")))
		}
		same(t, "files of "+source, got, c.rows("SELECT auction, bidder, price FROM "+now))
	}
	if r := c.rows("SELECT name, restarts, error FROM streamsql.queries WHERE restarts > 0 OR error IS NOT NULL"); len(r) > 0 {
		t.Errorf("queries that were restarted by an error: %q", r)
	}
}
