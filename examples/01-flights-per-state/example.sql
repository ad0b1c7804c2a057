-- Flights of January 2001: how many left from each state on each day, and how late.

CREATE TABLE airports (iata text PRIMARY KEY, name text, city text, state text, country text,
                       latitude double precision, longitude double precision)
  WITH (connector = 'file', path = 'airports.csv') FORMAT PLAIN ENCODE CSV (header = 'on');

-- The times are text in a form of their own, so the event time is computed.
CREATE SOURCE flights (date text, delay int, distance int, origin text, destination text,
                       at timestamp AS to_timestamp(date, 'YYYY/MM/DD HH24:MI')::timestamp,
                       WATERMARK FOR at AS at - INTERVAL '1 hour')
  WITH (connector = 'file', path = 'flights.ndjson') FORMAT PLAIN ENCODE JSON;

-- Each flight is joined with its airport; a day's row appears when the day is over.
CREATE MATERIALIZED VIEW per_state WITH (output_mode = 'append') AS
  SELECT window_start::date AS day, a.state, count(*) AS flights, round(avg(f.delay), 1) AS mean_delay,
         max(f.delay) AS worst
  FROM TUMBLE(flights, at, INTERVAL '1 day') f
  JOIN airports a ON a.iata = f.origin
  GROUP BY window_start, a.state;

-- The busiest three states of each day.
SELECT day, state, flights, mean_delay, worst
FROM (SELECT *, row_number() OVER (PARTITION BY day ORDER BY flights DESC, state) AS place FROM per_state) ranked
WHERE place <= 3
ORDER BY day, flights DESC, state;
