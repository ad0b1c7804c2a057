SELECT 1
SELECT 1, 'a', NULL, true, 1.5, 1e3, -5, 3000000000
SELECT 'x' AS a, 2 b
SELECT * FROM users
SELECT u.* FROM users u
SELECT users.* , 1 FROM users
SELECT u.id, o.id FROM users u, orders o
SELECT id FROM users u, orders o
SELECT nope FROM users
SELECT u.nope FROM users u
SELECT x.id FROM users u
SELECT users.id FROM users u
SELECT * FROM nope
SELECT * FROM public.users
SELECT * FROM other.users
SELECT public.users.id FROM users
SELECT count(*) FROM users
SELECT count(*), name FROM users
SELECT name, count(*) FROM users GROUP BY name
SELECT name, count(*) FROM users GROUP BY 1
SELECT name n, count(*) FROM users GROUP BY n
SELECT upper(name), count(*) FROM users GROUP BY upper(name)
SELECT upper(name), count(*) FROM users GROUP BY name
SELECT lower(name), count(*) FROM users GROUP BY upper(name)
SELECT id, name, count(*) FROM users GROUP BY id
SELECT u.name, sum(amount) FROM users u JOIN orders o ON o.user_id = u.id GROUP BY u.id
SELECT o.note, sum(amount) FROM users u JOIN orders o ON o.user_id = u.id GROUP BY u.id
SELECT * FROM users GROUP BY id
SELECT * FROM users GROUP BY name
SELECT count(*) FROM users GROUP BY 3
SELECT count(*) FROM users GROUP BY 0
SELECT count(*) FROM users GROUP BY 'a'
SELECT sum(id) FROM users WHERE sum(id) > 1
SELECT sum(sum(id)) FROM users
SELECT name FROM users HAVING count(*) > 1
SELECT name FROM users GROUP BY name HAVING count(*) > 1
SELECT name FROM users GROUP BY name HAVING id > 1
SELECT count(*) FROM users HAVING true
SELECT 1 FROM users HAVING 1
SELECT sum(id), avg(id), min(id), max(name), count(DISTINCT name) FROM users
SELECT sum(amount), avg(amount), min(at), max(at) FROM orders
SELECT sum(price), avg(price), sum(weight), avg(weight), sum(pos), avg(pos) FROM items
SELECT stddev(pos), variance(weight), bool_and(true), array_agg(pos), string_agg(doc::text, ',') FROM items
SELECT sum(name) FROM users
SELECT max(tags) FROM orders
SELECT count() FROM users
SELECT sum(*) FROM users
SELECT count(id, name) FROM users
SELECT upper(*) FROM users
SELECT upper(DISTINCT name) FROM users
SELECT count(*) FILTER (WHERE active) FROM users
SELECT count(*) FILTER (WHERE id) FROM users
SELECT string_agg(name, ',' ORDER BY id DESC) FROM users
SELECT count(DISTINCT name ORDER BY id) FROM users
SELECT nosuch(1)
SELECT upper(1)
SELECT abs('a')
SELECT length(name), substr(name, 2), name || 1 FROM users
SELECT 1 + 'a'
SELECT 1 + '2'
SELECT 1 + name FROM users
SELECT name + name FROM users
SELECT born + 1, born - born, at - at, at + interval '1 day' FROM users, orders
SELECT -name FROM users
SELECT NOT id FROM users
SELECT id AND true FROM users
SELECT id = name FROM users
SELECT id = '5' FROM users
SELECT id = 'x' FROM users
SELECT 1 WHERE 1
SELECT 1 WHERE NULL
SELECT 1 WHERE 'true'
SELECT name FROM users WHERE id IN (1, 2, NULL)
SELECT name FROM users WHERE id IN ('1', '2')
SELECT name FROM users WHERE id IN (1, 'x')
SELECT name FROM users WHERE name IN (1, 2)
SELECT name FROM users WHERE id BETWEEN 1 AND 'z'
SELECT name FROM users WHERE name LIKE 'a%' AND name ILIKE 'B_' OR name SIMILAR TO 'c'
SELECT name FROM users WHERE id LIKE 'a'
SELECT CASE WHEN active THEN 1 ELSE 2.5 END FROM users
SELECT CASE id WHEN 1 THEN 'a' WHEN 2 THEN 'b' END FROM users
SELECT CASE id WHEN 'x' THEN 'a' END FROM users
SELECT CASE WHEN id THEN 1 END FROM users
SELECT CASE WHEN active THEN 1 ELSE 'x' END FROM users
SELECT CASE WHEN active THEN 1 ELSE name END FROM users
SELECT CASE WHEN active THEN id ELSE id END, CASE WHEN true THEN name END, CASE WHEN true THEN 1 ELSE id END FROM users
SELECT coalesce(name, 'x'), nullif(id, 1), greatest(1, 2.5), least(1, 2), coalesce(id, name) FROM users
SELECT coalesce(NULL, 1), coalesce(name, 1) FROM users
SELECT id::text, id::int, name::varchar(3), CAST(id AS numeric(5,1)), '1'::int, 'x'::int FROM users
SELECT id::text, id::int, name::varchar(3), CAST(id AS numeric(5,1)), '1'::int FROM users
SELECT id::boolean FROM users
SELECT active::int, born::timestamp, at::date, amount::int FROM users, orders
SELECT id::date FROM users
SELECT id::nosuchtype FROM users
SELECT date '2020-01-01', timestamp '2020-01-01 00:00', interval '1 day', interval '1' hour
SELECT date 'x'
SELECT current_date, current_timestamp, localtimestamp, now(), current_user, session_user
SELECT extract(year from at), date_trunc('day', at), date_part('hour', at) FROM orders
SELECT at AT TIME ZONE 'UTC', at::timestamp AT TIME ZONE 'UTC' FROM orders
SELECT ARRAY[1,2], ARRAY['a'], ARRAY[1, 2.5], tags[1], tags[1:2] FROM orders
SELECT ARRAY[]
SELECT ARRAY[]::int[]
SELECT ARRAY[1, 'x']
SELECT 'a' = ANY(tags), 1 = ANY(ARRAY[1,2]), 1 = ANY('{1,2}'), 'x' <> ALL (tags) FROM orders
SELECT 1 = ANY(tags) FROM orders
SELECT 1 = ANY(1)
SELECT (1, 2) = (3, 4), (1, 2) < (2, 1), ROW(1, 'a') = ROW(1, 'b')
SELECT (1, 2) = (3, 4, 5)
SELECT ROW(1, 2)
SELECT (SELECT 1), (SELECT name FROM users LIMIT 1), EXISTS (SELECT 1), ARRAY(SELECT id FROM users)
SELECT (SELECT 1, 2)
SELECT (SELECT id AS foo FROM users LIMIT 1)
SELECT name FROM users WHERE id = (SELECT max(user_id) FROM orders)
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders WHERE user_id = u.id)
SELECT name FROM users u WHERE id IN (SELECT user_id FROM orders WHERE amount > u.id)
SELECT name FROM users u WHERE id IN (SELECT user_id, id FROM orders)
SELECT name FROM users u WHERE (id, name) IN (SELECT user_id, note FROM orders)
SELECT name FROM users u WHERE (id, name) IN (SELECT user_id FROM orders)
SELECT name FROM users u WHERE id > ALL (SELECT user_id FROM orders) OR id = ANY (SELECT 1)
SELECT name FROM users u WHERE id IN (SELECT note FROM orders)
SELECT name, (SELECT count(*) FROM orders o WHERE o.user_id = u.id) AS n FROM users u ORDER BY n
SELECT name, (SELECT count(*) FROM orders o WHERE o.user_id = u.idd) AS n FROM users u
SELECT country, (SELECT max(x.id) FROM users x WHERE x.country = u.country) FROM users u GROUP BY country
SELECT country, (SELECT max(x.id) FROM users x WHERE x.name = u.name) FROM users u GROUP BY country
SELECT name FROM users ORDER BY 1
SELECT name FROM users ORDER BY 2
SELECT name FROM users ORDER BY id DESC NULLS LAST
SELECT name AS id FROM users ORDER BY id
SELECT name AS x FROM users ORDER BY x || 'a'
SELECT name AS x FROM users ORDER BY x
SELECT name AS x, id AS x FROM users ORDER BY x
SELECT name AS x, name AS x FROM users ORDER BY x
SELECT name FROM users ORDER BY 'a'
SELECT name FROM users ORDER BY 1.5
SELECT name FROM users ORDER BY count(*)
SELECT DISTINCT name FROM users ORDER BY name
SELECT DISTINCT name FROM users ORDER BY id
SELECT DISTINCT name, id FROM users ORDER BY id + 0
SELECT DISTINCT ON (country) country, name FROM users ORDER BY country, name
SELECT DISTINCT ON (country) country, name FROM users ORDER BY name
SELECT DISTINCT ON (country, active) name FROM users ORDER BY active, country, name
SELECT name FROM users LIMIT 5 OFFSET 2
SELECT name FROM users LIMIT 'a'
SELECT name FROM users LIMIT id
SELECT name FROM users LIMIT NULL
SELECT name FROM users LIMIT true
SELECT name FROM users FETCH FIRST 2 ROWS ONLY
SELECT name FROM users ORDER BY id FETCH FIRST 2 ROWS WITH TIES
SELECT name FROM users FETCH FIRST 2 ROWS WITH TIES
SELECT 1 UNION SELECT 2
SELECT 1 UNION ALL SELECT 2.5
SELECT 1 UNION SELECT 'a'
SELECT 1 AS x UNION SELECT '2'
SELECT NULL UNION SELECT 1
SELECT 'a' UNION SELECT 'b'
SELECT 1, 2 UNION SELECT 1
SELECT name FROM users UNION SELECT id FROM users
SELECT name FROM users UNION SELECT note FROM orders ORDER BY name
SELECT name FROM users UNION SELECT note FROM orders ORDER BY upper(name)
SELECT name FROM users UNION SELECT note FROM orders ORDER BY nope
SELECT name FROM users INTERSECT SELECT note FROM orders EXCEPT ALL SELECT 'x'
(SELECT name FROM users ORDER BY id LIMIT 1) UNION ALL (SELECT note FROM orders LIMIT 1) LIMIT 1
VALUES (1, 'a'), (2, 'b')
VALUES (1, 'a'), (2)
VALUES (1), ('x')
VALUES (1), (2.5)
SELECT * FROM (VALUES (1, 'a'), (2, NULL)) v
SELECT * FROM (VALUES (1, 'a')) AS v(x, y)
SELECT * FROM (VALUES (1, 'a')) AS v(x)
SELECT * FROM (VALUES (1, 'a')) AS v(x, y, z)
SELECT column1 + 1 FROM (VALUES (1), (2)) v
SELECT * FROM users u JOIN orders o ON u.id = o.user_id
SELECT * FROM users u JOIN orders o USING (id)
SELECT id, u.id, o.id FROM users u JOIN orders o USING (id)
SELECT * FROM users u LEFT JOIN orders o USING (id)
SELECT * FROM users u FULL JOIN orders o USING (id)
SELECT * FROM users u NATURAL JOIN orders o
SELECT * FROM users u JOIN orders o USING (nope)
SELECT * FROM users u JOIN orders o USING (name)
SELECT * FROM users u JOIN orders o ON id = 1
SELECT * FROM users u JOIN orders o ON u.id
SELECT * FROM users u JOIN orders o ON count(*) > 1
SELECT * FROM users u CROSS JOIN orders
SELECT * FROM users, users
SELECT * FROM users u, orders u
SELECT * FROM users a, users b
SELECT * FROM pairs p1 JOIN pairs p2 USING (a) JOIN pairs p3 USING (a)
SELECT * FROM pairs p1 JOIN pairs p2 USING (a, b)
SELECT b FROM pairs p1 JOIN pairs p2 USING (a)
SELECT * FROM (SELECT id, name FROM users) s WHERE s.id = 1
SELECT * FROM (SELECT id, id FROM users) s
SELECT id FROM (SELECT id, id FROM users) s
SELECT * FROM (SELECT id AS a, name AS b FROM users) s(x)
SELECT x FROM (SELECT id AS a, name AS b FROM users) s(x)
SELECT a FROM (SELECT id AS a, name AS b FROM users) s(x)
SELECT * FROM users u, (SELECT u.id) s
SELECT * FROM users u, LATERAL (SELECT u.id AS uid, count(*) FROM orders o WHERE o.user_id = u.id) s
SELECT * FROM users u LEFT JOIN LATERAL (SELECT amount FROM orders o WHERE o.user_id = u.id LIMIT 1) s ON true
SELECT * FROM users u RIGHT JOIN LATERAL (SELECT amount FROM orders o WHERE o.user_id = u.id LIMIT 1) s ON true
SELECT * FROM generate_series(1, 3)
SELECT * FROM generate_series(1, 3) g
SELECT * FROM generate_series(1, 3) AS g(x)
SELECT g FROM generate_series(1, 3) g
SELECT g.x FROM generate_series(1, 3) AS g(x)
SELECT * FROM generate_series(1, 3) WITH ORDINALITY
SELECT * FROM generate_series(1, 3) WITH ORDINALITY AS g(x, n)
SELECT * FROM generate_series(1, 10, 2.5)
SELECT * FROM generate_series(timestamp '2020-01-01', timestamp '2020-01-02', interval '1 hour')
SELECT * FROM generate_series(now(), now(), '1 hour')
SELECT * FROM generate_series('a', 'b')
SELECT * FROM generate_series(1)
SELECT * FROM unnest(ARRAY[1,2])
SELECT * FROM unnest(ARRAY[1,2], ARRAY['a']) AS u(a, b)
SELECT o.id, t FROM orders o, unnest(o.tags) t
SELECT o.id, t.* FROM orders o CROSS JOIN LATERAL unnest(o.tags) WITH ORDINALITY AS t(tag, n)
SELECT generate_series(1, 2), unnest(ARRAY['a'])
SELECT unnest(tags), id FROM orders
SELECT id FROM orders WHERE generate_series(1, 2) = 1
SELECT CASE WHEN true THEN generate_series(1, 2) END
SELECT sum(generate_series(1, 2))
SELECT count(*) FROM orders GROUP BY unnest(tags)
SELECT * FROM current_date
SELECT * FROM jsonb_each('{"a":1}')
SELECT * FROM jsonb_array_elements('[1]'), jsonb_object_keys('{"a":1}')
SELECT * FROM regexp_split_to_table('a b', ' ')
SELECT doc -> 'a', doc ->> 'b', doc -> 1, doc #> '{a}' FROM items
SELECT doc -> 'a' ->> 'b' FROM items
SELECT row_number() OVER () FROM users
SELECT row_number() FROM users
SELECT row_number() OVER (ORDER BY id), rank() OVER (PARTITION BY country ORDER BY id DESC), sum(id) OVER w FROM users WINDOW w AS (PARTITION BY name)
SELECT sum(id) OVER nope FROM users
SELECT sum(id) OVER (w ROWS 1 PRECEDING), lag(name, 1, 'x') OVER w, first_value(name) OVER w FROM users WINDOW w AS (ORDER BY id)
SELECT ntile(4) OVER (ORDER BY id), percent_rank() OVER (ORDER BY id), nth_value(name, 2) OVER () FROM users
SELECT count(*) OVER (), count(*) FROM users
SELECT country, sum(count(*)) OVER () FROM users GROUP BY country
SELECT country, rank() OVER (ORDER BY count(*) DESC) FROM users GROUP BY country
SELECT name FROM users WHERE row_number() OVER () = 1
SELECT upper(name) OVER () FROM users
SELECT sum(row_number() OVER ()) OVER () FROM users
SELECT sum(row_number() OVER ()) FROM users
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM users
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM users
SELECT sum(id) OVER (ORDER BY born RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW) FROM users
SELECT sum(id) OVER (ORDER BY name RANGE 1 PRECEDING) FROM users
SELECT sum(id) OVER (ORDER BY id, name RANGE 1 PRECEDING) FROM users
SELECT country, active, count(*), grouping(country, active) FROM users GROUP BY ROLLUP (country, active)
SELECT country, active, count(*) FROM users GROUP BY CUBE (country, active)
SELECT country, count(*) FROM users GROUP BY GROUPING SETS ((country), ())
SELECT country, count(*) FROM users GROUP BY GROUPING SETS ((country), ()), active
SELECT grouping(name) FROM users GROUP BY country
SELECT grouping(name) FROM users
WITH a AS (SELECT 1 AS x) SELECT * FROM a
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a, b
WITH a(p, q) AS (SELECT 1, 2) SELECT p + q FROM a
WITH a(p, q, r) AS (SELECT 1, 2) SELECT 1 FROM a
WITH a AS (SELECT 1), a AS (SELECT 2) SELECT * FROM a
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t
WITH RECURSIVE t(n) AS (VALUES (1) UNION SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t
WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1.5 FROM t) SELECT * FROM t
WITH RECURSIVE t AS (SELECT n FROM t) SELECT * FROM t
WITH users AS (SELECT 7 AS id) SELECT id FROM users
SELECT (SELECT x FROM (WITH c AS (SELECT u.id AS x) SELECT x FROM c) d) FROM users u
SELECT u FROM users u
SELECT (u).name FROM users u
SELECT (u).nope FROM users u
SELECT (u).* FROM users u
SELECT name.x FROM users
SELECT count(u) FROM users u
SELECT FROM users
SELECT *
SELECT name COLLATE "C" FROM users ORDER BY name COLLATE "C"
SELECT id COLLATE "C" FROM users
SELECT name IS NULL, name IS NOT NULL, active IS TRUE, active IS NOT UNKNOWN, id IS DISTINCT FROM 3 FROM users
SELECT id IS TRUE FROM users
SELECT position('a' IN name), substring(name FROM 1 FOR 2), trim(both 'x' FROM name), overlay(name placing 'x' from 1) FROM users
SELECT pg_catalog.upper(name), pg_typeof(id) FROM users
SELECT nosuchschema.upper(name) FROM users
SELECT name OPERATOR(pg_catalog.=) 'x' FROM users
SELECT 2 ^ 3, 7 % 3, 7 / 2, 7.0 / 2, |/ 4, @ -3, 1 << 2, 5 & 3, 5 # 1, ~ 1
SELECT pos / 2, pos + id, price * 2, weight + price, pos * 1.5 FROM items, users
SELECT sum(amount) * 2, amount + 1 FROM orders GROUP BY amount
SELECT count(*) AS c FROM users ORDER BY c
SELECT name AS n FROM users WHERE n = 'a'
SELECT name AS n FROM users GROUP BY name HAVING n = 'a'
SELECT $1
SELECT $1::int
SELECT id FROM users WHERE id = $1 AND name = $2
SELECT $1 + 1
SELECT $1 || name FROM users
SELECT $1 || $2
SELECT id FROM users WHERE id IN ($1, $2)
SELECT id FROM users WHERE id = ANY($1)
SELECT id FROM users LIMIT $1 OFFSET $2
SELECT CASE WHEN $1 THEN $2 ELSE 3 END
SELECT coalesce($1, 5), $2 IS NULL
SELECT upper($1), $2::date
SELECT $1::int, $1::text
SELECT id FROM users WHERE name LIKE $1 AND born > $2 AND at < $3
SELECT id FROM users WHERE $1
SELECT $2
SELECT * FROM generate_series(1, $1)
SELECT (SELECT id FROM users WHERE name = $1)
SELECT $1 = $2
INSERT INTO users VALUES (1, 'a')
INSERT INTO users VALUES (1, 'a', 'de', '2020-01-01', true, 5)
INSERT INTO users (id, name) VALUES (1, 'a'), (2, DEFAULT)
INSERT INTO users (id, nope) VALUES (1, 'a')
INSERT INTO users (id, id) VALUES (1, 2)
INSERT INTO users (id, name) VALUES (1)
INSERT INTO users (id) VALUES (1, 2)
INSERT INTO users (id, name) VALUES ('x', 'a')
INSERT INTO users (id, name) VALUES (true, 'a')
INSERT INTO users (id, name, born) SELECT id, note, at FROM orders
INSERT INTO users (id, name) SELECT id FROM orders
INSERT INTO users (id, name) VALUES ($1, $2) RETURNING id, upper(name) AS u, *
INSERT INTO users SELECT * FROM users RETURNING users.id
INSERT INTO nope VALUES (1)
INSERT INTO users DEFAULT VALUES
INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT DO NOTHING
INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET name = excluded.name || users.name WHERE users.id > 3
INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT (name) DO NOTHING
INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT DO UPDATE SET name = 'x'
INSERT INTO users AS t (id, name) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET name = t.name
WITH s AS (SELECT 1 AS a) INSERT INTO pairs SELECT a, a FROM s
UPDATE users SET name = 'x' WHERE id = 1
UPDATE users SET name = DEFAULT, active = NOT active
UPDATE users SET nope = 1
UPDATE users SET id = 'x'
UPDATE users SET id = name
UPDATE users SET name = 'a', name = 'b'
UPDATE users SET (name, born) = ('x', '2020-01-01')
UPDATE users SET (name, born) = (SELECT note, at::date FROM orders LIMIT 1)
UPDATE users SET (name, born) = ('x')
UPDATE users SET (name, born) = (SELECT note FROM orders)
UPDATE users u SET name = o.note FROM orders o WHERE o.user_id = u.id RETURNING u.id, o.amount
UPDATE users SET name = $1 WHERE id = $2 RETURNING *
UPDATE users SET name = count(*)
UPDATE users SET name = (SELECT max(note) FROM orders WHERE user_id = users.id)
DELETE FROM users WHERE id = 1
DELETE FROM users u USING orders o WHERE o.user_id = u.id RETURNING u.*, o.id
DELETE FROM users WHERE nope
DELETE FROM users WHERE id
DELETE FROM users WHERE id IN (SELECT user_id FROM orders WHERE amount < $1)
