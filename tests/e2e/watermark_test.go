package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// TestWatermarkSurvives: a window that was closed before a crash or a stop stays
// closed after it: what comes late is dropped, counted and can be seen.
func TestWatermarkSurvives(t *testing.T) {
	for name, end := range map[string]func(*server){
		"kill": (*server).kill,
		"stop": func(s *server) { s.stop(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			k := kafka(t)
			topic := k.topic(2)
			s := serve(t, t.TempDir())
			c := s.connect()
			c.exec(fmt.Sprintf(`CREATE SOURCE e (id int, k int, ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '1 second')
				WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT PLAIN ENCODE JSON`, k.addr, topic))
			const query = "AS SELECT window_start, count(*) AS n FROM TUMBLE(e, ts, INTERVAL '10 seconds') GROUP BY window_start"
			c.exec("CREATE MATERIALIZED VIEW closed WITH (output_mode = 'append') " + query)
			c.exec("CREATE MATERIALIZED VIEW newest " + query)
			c.exec("CREATE MATERIALIZED VIEW hops WITH (output_mode = 'append') AS SELECT window_end, count(*) AS n " +
				"FROM HOP(e, ts, INTERVAL '10 seconds', INTERVAL '20 seconds') GROUP BY window_end")
			c.exec("CREATE MATERIALIZED VIEW sessions WITH (output_mode = 'append') AS SELECT k, window_start, window_end, count(*) AS n " +
				"FROM SESSION(e PARTITION BY k, ts, INTERVAL '10 seconds') GROUP BY k, window_start, window_end")
			c.exec("CREATE MATERIALIZED VIEW once AS SELECT id, ts FROM e DEDUPLICATE BY id WITHIN WATERMARK")
			event := func(id, second int) string {
				return fmt.Sprintf(`{"id":%d,"k":1,"ts":"2024-01-01T00:%02d:%02d"}`, id, second/60, second%60)
			}
			k.produceTo(topic, 0, event(1, 1), event(2, 5), event(3, 31))
			k.produceTo(topic, 1, event(4, 2), event(5, 42))
			c.exec("FLUSH")
			check := func(when string, want ...string) {
				t.Helper()
				for i, v := range []string{"closed", "newest", "hops", "sessions"} {
					column := "window_start"
					if v == "hops" {
						column = "window_end"
					}
					got := strings.Join(c.rows(fmt.Sprintf("SELECT to_char(%s, 'SS'), n FROM %s ORDER BY 1", column, v)), " ")
					if got != want[i] {
						t.Errorf("%s: windows of %s: %s, not %s", when, v, got, want[i])
					}
				}
			}
			check("before", "00|3", "00|3 30|1 40|1", "10|3 20|3", "01|3")
			end(s)
			s = serve(t, s.dir)
			c = s.connect()
			// The watermark is at 30 s: the second is not late.
			k.produceTo(topic, 0, event(6, 3), event(7, 32), event(1, 2))
			c.exec("FLUSH")
			check("after", "00|3", "00|3 30|2 40|1", "10|3 20|3", "01|3")
			if late := c.value("SELECT string_agg(late_rows::text, ' ') FROM streamsql.queries"); late != "2 2 2 2 2" {
				t.Errorf("late rows: %s", late)
			}
			if ids := strings.Join(c.rows("SELECT id FROM once ORDER BY id"), " "); ids != "1 2 3 4 5 7" {
				t.Errorf("after: without duplicates %s", ids)
			}
			k.produceTo(topic, 0, event(8, 55))
			k.produceTo(topic, 1, event(9, 55))
			c.exec("FLUSH")
			check("in the end", "00|3 30|2 40|1", "00|3 30|2 40|1 50|2", "10|3 20|3 40|2 50|3", "01|3 31|3")
		})
	}
}
