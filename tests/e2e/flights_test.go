package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	flightColumns = `(date text, delay int, distance int, origin text, destination text,
		ts timestamp AS to_timestamp(date, 'YYYY/MM/DD HH24:MI')::timestamp)`
	airportColumns = `(iata text%s, name text, city text, state text, country text,
		latitude double precision, longitude double precision)`
	perDay = `SELECT window_start AS day, a.state, count(*) AS n, avg(delay) AS mean, max(delay) AS most
		FROM %s f JOIN airports a ON a.iata = f.origin GROUP BY window_start, a.state`
	tumbled    = "TUMBLE(flights, ts, INTERVAL '1 day')"
	pgTumbled  = "(SELECT *, date_trunc('day', ts) AS window_start FROM flights)"
	selectDays = "SELECT day, state, n, mean, most FROM "
)

// flightsOracle returns PostgreSQL's answer for flights per day and state.
func flightsOracle(t *testing.T) (flights []string, answer []string) {
	t.Helper()
	flights = dataLines(t, "flights.ndjson")
	pg := oracle(t, flights)
	pg.exec(`CREATE TABLE flights AS SELECT to_timestamp(l->>'date', 'YYYY/MM/DD HH24:MI')::timestamp AS ts,
		(l->>'delay')::int AS delay, l->>'origin' AS origin FROM lines`)
	pg.exec("CREATE TABLE airports " + fmt.Sprintf(airportColumns, " PRIMARY KEY"))
	pg.copyIn("COPY airports FROM STDIN WITH (FORMAT csv, HEADER)", readFile(t, dataFile(t, "airports.csv")))
	return flights, pg.rows(fmt.Sprintf(perDay, pgTumbled))
}

func fileSource(path string) string {
	return fmt.Sprintf("WITH (connector = 'file', path = '%s')", path)
}

// airportsAs declares the airports as a table or as a source.
func airportsAs(t *testing.T, kind string) string {
	key := ""
	if kind == "TABLE" {
		key = " PRIMARY KEY"
	}
	return "CREATE " + kind + " airports " + fmt.Sprintf(airportColumns, key) + " " +
		fileSource(dataFile(t, "airports.csv")) + " FORMAT PLAIN ENCODE CSV (header = 'true')"
}

// TestFlightsFromFiles: a continuous query over a file joined with a file equals
// PostgreSQL's answer, however the airports are declared.
func TestFlightsFromFiles(t *testing.T) {
	_, want := flightsOracle(t)
	for _, kind := range []string{"TABLE", "SOURCE"} {
		t.Run(kind, func(t *testing.T) {
			c := serve(t, t.TempDir()).connect()
			c.exec(airportsAs(t, kind))
			c.exec("CREATE SOURCE flights " + flightColumns + fileSource(dataFile(t, "flights.ndjson")) + " FORMAT PLAIN ENCODE JSON")
			c.exec("CREATE MATERIALIZED VIEW per_day AS " + fmt.Sprintf(perDay, tumbled))
			c.exec("FLUSH")
			same(t, "view", c.rows(selectDays+"per_day"), want)
			same(t, "batch", c.rows(fmt.Sprintf(perDay, tumbled)), want)
		})
	}
}

// TestFlightsRun: the same by `run`, to the end and without FLUSH.
func TestFlightsRun(t *testing.T) {
	_, want := flightsOracle(t)
	script := filepath.Join(t.TempDir(), "flights.sql")
	text := airportsAs(t, "TABLE") + ";\nCREATE SOURCE flights " + flightColumns + fileSource(dataFile(t, "flights.ndjson")) +
		" FORMAT PLAIN ENCODE JSON;\nCREATE MATERIALIZED VIEW per_day AS " + fmt.Sprintf(perDay, tumbled) +
		";\n" + selectDays + "per_day;\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := program(t, "", "run", "--format", "csv", script)
	if r.code != 0 || r.errOut != "" {
		t.Fatal(r.code, r.errOut)
	}
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if lines[0] != "day,state,n,mean,most" {
		t.Fatal(lines[0])
	}
	got := lines[1:]
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], ",", "|")
	}
	same(t, "run", got, want)
}

// TestFlightsThroughKafka: topic, join, view, view over it, and a topic of the
// results, which says the same when it is folded by key.
func TestFlightsThroughKafka(t *testing.T) {
	flights, want := flightsOracle(t)
	k := kafka(t)
	in, out := k.topic(3), k.topic(2)
	c := serve(t, t.TempDir()).connect()
	c.exec(airportsAs(t, "TABLE"))
	c.exec(fmt.Sprintf("CREATE SOURCE flights %s WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT PLAIN ENCODE JSON",
		flightColumns, k.addr, in))
	c.exec("CREATE MATERIALIZED VIEW per_day AS " + fmt.Sprintf(perDay, tumbled))
	c.exec("CREATE MATERIALIZED VIEW worst AS SELECT state, max(most) AS most, sum(n) AS n FROM per_day GROUP BY state")
	c.exec(fmt.Sprintf("CREATE SINK days WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT UPSERT ENCODE JSON AS %s",
		k.addr, out, "SELECT day, state, n, mean, most FROM per_day"))
	for lo := 0; lo < len(flights); lo += 500 {
		k.produce(in, 3, flights[lo:min(lo+500, len(flights))]...)
	}
	c.exec("FLUSH")
	same(t, "view", c.rows(selectDays+"per_day"), want)
	same(t, "batch", c.rows(fmt.Sprintf(perDay, tumbled)), want)
	same(t, "topic", foldedDays(t, k.fold(out)), want)
	same(t, "view over view", c.rows("SELECT state, most, n FROM worst"),
		c.rows("SELECT state, max(most), sum(n) FROM per_day GROUP BY state"))
}

// foldedDays are the rows of an upsert topic as the view shows them.
func foldedDays(t *testing.T, topic map[string]string) []string {
	t.Helper()
	var out []string
	for _, v := range topic {
		var r struct {
			Day, State    string
			N, Mean, Most json.Number
		}
		if err := json.Unmarshal([]byte(v), &r); err != nil {
			t.Fatalf("%v: %s", err, v)
		}
		day, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(r.Day, "Z"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Join([]string{day.Format(time.DateTime), r.State, r.N.String(), r.Mean.String(), r.Most.String()}, "|"))
	}
	return out
}
