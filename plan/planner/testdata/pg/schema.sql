CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL, country varchar(2), born date, active boolean DEFAULT true);
CREATE TABLE orders (id int PRIMARY KEY, user_id bigint, amount numeric(10,2), at timestamptz, tags text[], note text DEFAULT 'none');
CREATE TABLE items (order_id int, pos smallint, price real, weight double precision, doc jsonb, u uuid, PRIMARY KEY (order_id, pos));
CREATE TABLE pairs (a int, b int);
CREATE TABLE words (w text, n int);
