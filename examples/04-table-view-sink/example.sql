-- A table that is changed, a view that follows it, and the changes as files.

CREATE TABLE orders (id bigint PRIMARY KEY, customer text NOT NULL, amount numeric(10, 2) NOT NULL);

CREATE MATERIALIZED VIEW totals AS
  SELECT customer, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY customer;

BEGIN;
INSERT INTO orders VALUES (1, 'ann', 12.50), (2, 'bob', 8.00), (3, 'ann', 20.00);
COMMIT;
SELECT * FROM totals ORDER BY customer;

UPDATE orders SET amount = 9.50 WHERE id = 2;
DELETE FROM orders WHERE id = 3;
SELECT * FROM totals ORDER BY customer;

-- Every customer's newest total goes into files; op tells inserts from deletes.
CREATE SINK written WITH (connector = 'file', path = 'totals', op_column = 'op')
  FORMAT PLAIN ENCODE JSON
  AS SELECT customer, total FROM totals;
AWAIT written;

CREATE SOURCE files (customer text, total numeric, op text)
  WITH (connector = 'file', path = 'totals') FORMAT PLAIN ENCODE JSON;
SELECT op, customer, total FROM files ORDER BY customer;
