CREATE TABLE kinds (id int PRIMARY KEY, b boolean, i2 smallint, i4 int, i8 bigint, f4 real, f8 double precision,
  n numeric, n2 numeric(10, 2), t text, vc varchar(5), d date, ti time, ts timestamp, tz timestamptz, iv interval,
  by bytea, u uuid, j jsonb, ia int[], ta text[]);
INSERT INTO kinds VALUES (1, true, 1, 2, 3, 1.5, 2.25, 12345678901234567890.123456789, 7.25, 'text', 'vc', '2026-01-02',
  '03:04:05.5', '2026-01-02 03:04:05', '2026-01-02 03:04:05+00', '1 year 2 days 03:00', '\x0102',
  '00112233-4455-6677-8899-aabbccddeeff', '{"a": [1, null]}', '{1,NULL,3}', '{a,"b c"}'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, false, -1, -2, -3, 'NaN', '-Infinity', 'NaN', -0.5, '', 'é', 'infinity', '24:00', '-infinity', 'infinity', '-1 mon',
  '', '00000000-0000-0000-0000-000000000000', '[]', '{}', '{}');
CREATE TABLE t (id int PRIMARY KEY, k text, v int, x numeric);
CREATE TABLE u (k text PRIMARY KEY, w int);
CREATE TABLE e (k text, v int, ts timestamptz) APPEND ONLY;
INSERT INTO t SELECT i, 'k' || i % 7, i % 5, i / 3.0 FROM generate_series(1, 200) AS g (i);
INSERT INTO u VALUES ('k1', 10), ('k2', 20), ('z', 30);
INSERT INTO e SELECT 'k' || i % 3, i, timestamptz '2026-01-01 00:00:00+00' + i * interval '1 second' FROM generate_series(1, 100) AS g (i);
CREATE MATERIALIZED VIEW copied AS SELECT * FROM kinds;
CREATE MATERIALIZED VIEW per_key AS SELECT k, count(*) AS n, sum(v) AS s, min(x) AS lo, max(x) AS hi FROM t GROUP BY k;
CREATE MATERIALIZED VIEW all_rows AS SELECT count(*) AS n, avg(v) AS a FROM t;
CREATE MATERIALIZED VIEW distinct_values AS SELECT k, count(DISTINCT v) AS d, string_agg(DISTINCT v::text, ',') AS l FROM t GROUP BY k;
CREATE MATERIALIZED VIEW just_distinct AS SELECT DISTINCT v FROM t;
CREATE MATERIALIZED VIEW top AS SELECT k, v, id FROM t ORDER BY v DESC, id LIMIT 5;
CREATE MATERIALIZED VIEW firsts AS SELECT DISTINCT ON (k) k, v FROM e ORDER BY k, v DESC;
CREATE MATERIALIZED VIEW bag AS SELECT k, v FROM t;
CREATE MATERIALIZED VIEW without AS SELECT k FROM t EXCEPT SELECT k FROM u;
CREATE MATERIALIZED VIEW together AS SELECT k FROM t UNION ALL SELECT k FROM u;
CREATE MATERIALIZED VIEW of_view AS SELECT count(*) AS n, sum(n) AS s FROM per_key;
CREATE MATERIALIZED VIEW joined AS SELECT e.k, e.v, u.w FROM STREAM e LEFT JOIN u ON e.k = u.k;
CREATE MATERIALIZED VIEW failing AS SELECT id, 10 / v AS q FROM t WHERE id < 6;
CREATE MATERIALIZED VIEW windows AS SELECT window(r.ts, '30 seconds') AS w, r.k, count(*) AS n
  FROM STREAM e WATERMARK ts DELAY OF INTERVAL '10 seconds' AS r GROUP BY window(r.ts, '30 seconds'), r.k;
CREATE MATERIALIZED VIEW sessions AS SELECT session_window(r.ts, '5 seconds') AS w, r.k, count(*) AS n
  FROM STREAM e WATERMARK ts DELAY OF INTERVAL '10 seconds' AS r GROUP BY session_window(r.ts, '5 seconds'), r.k;
CREATE MATERIALIZED VIEW hops AS SELECT window(r.ts, '30 seconds', '10 seconds') AS w, r.k, count(*) AS n
  FROM STREAM e WATERMARK ts DELAY OF INTERVAL '10 seconds' AS r GROUP BY window(r.ts, '30 seconds', '10 seconds'), r.k;
CREATE MATERIALIZED VIEW once_ever AS SELECT r.k, r.v FROM STREAM e AS r DEDUPLICATE BY r.k;
CREATE MATERIALIZED VIEW once_timed AS SELECT DISTINCT ON (r.k, r.ts) r.k, r.ts, r.v
  FROM STREAM e WATERMARK ts DELAY OF INTERVAL '10 seconds' AS r;
CREATE MATERIALIZED VIEW top_per AS SELECT k, v, id FROM (
  SELECT k, v, id, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM t) AS q WHERE rn <= 2;
CREATE SINK hole WITH (connector = 'blackhole') AS SELECT k, v FROM STREAM e;
FLUSH;
