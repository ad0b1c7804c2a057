-- A week of earthquakes, as the USGS publishes them: nested JSON with times in
-- milliseconds.

CREATE SOURCE quakes (
    id text,
    properties struct<mag double precision, place text, time timestamptz, "magType" text, type text, net text>,
    geometry struct<type text, coordinates double precision[]>,
    at timestamptz AS (properties).time,
    WATERMARK FOR at AS at - INTERVAL '1 hour')
  WITH (connector = 'file', path = 'earthquakes.ndjson')
  FORMAT PLAIN ENCODE JSON (timestamp_format = 'epoch_ms');

CREATE VIEW quake AS
  SELECT id, at, (properties).mag AS mag, (properties).place AS place, (properties).net AS net,
         (geometry).coordinates[3] AS depth
  FROM quakes WHERE (properties).type = 'earthquake';

-- Kept up to date: how many of each strength, by day.
CREATE MATERIALIZED VIEW by_day AS
  SELECT date_trunc('day', at)::date AS day, count(*) AS quakes, count(*) FILTER (WHERE mag >= 2.5) AS felt,
         max(mag) AS strongest, round(avg(depth)::numeric, 1) AS mean_depth
  FROM quake GROUP BY 1;

SELECT * FROM by_day ORDER BY day;

-- The strongest of each network.
SELECT DISTINCT ON (net) net, mag, place FROM quake WHERE mag IS NOT NULL ORDER BY net, mag DESC, id LIMIT 5;
