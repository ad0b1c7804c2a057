package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
)

// The nested GeoJSON is read as columns of jsonb or as a structure; in both the
// event time is computed.
var quakeColumns = map[string]struct{ columns, net, mag string }{
	"jsonb": {`(id text, properties jsonb, geometry jsonb,
		time timestamptz AS to_timestamp((properties->>'time')::bigint / 1000.0),
		WATERMARK FOR time AS time)`, "properties->>'net'", "(properties->>'mag')::numeric"},
	"struct": {`(id text, properties STRUCT<mag numeric, time bigint, net text>,
		time timestamptz AS to_timestamp((properties).time / 1000.0),
		WATERMARK FOR time AS time)`, "(properties).net", "(properties).mag"},
}

const (
	perHour = `SELECT window_start AS hour, %s AS net, count(*) AS n, max(%s) AS most
		FROM TUMBLE(quakes, time, INTERVAL '1 hour') GROUP BY 1, 2`
	pgPerHour = `SELECT date_trunc('hour', to_timestamp((l#>>'{properties,time}')::bigint / 1000.0)), l#>>'{properties,net}',
		count(*), max((l#>>'{properties,mag}')::numeric) FROM lines GROUP BY 1, 2`
)

// TestEarthquakes: an append view over rows in order of time holds the whole
// answer once a bounded source has ended, and drops no row as late.
func TestEarthquakes(t *testing.T) {
	quakes := earthquakes(t)
	want := oracle(t, quakes).rows(pgPerHour)
	path := filepath.Join(t.TempDir(), "quakes.ndjson")
	writeLines(t, path, quakes)
	for name, q := range quakeColumns {
		for _, mode := range []string{"append", "update"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				c := serve(t, t.TempDir()).connect()
				c.exec("SET TIME ZONE 'UTC'")
				c.exec("CREATE SOURCE quakes " + q.columns + fileSource(path) + " FORMAT PLAIN ENCODE JSON")
				c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW per_hour WITH (output_mode = '%s') AS ", mode) + fmt.Sprintf(perHour, q.net, q.mag))
				c.exec("AWAIT per_hour")
				same(t, "view", c.rows("SELECT hour, net, n, most FROM per_hour"), want)
				same(t, "batch", c.rows(fmt.Sprintf(perHour, q.net, q.mag)), want)
				if late := c.value("SELECT late_rows FROM streamsql.queries WHERE name = 'per_hour'"); late != "0" {
					t.Errorf("%s late rows", late)
				}
			})
		}
	}
}
