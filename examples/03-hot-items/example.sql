-- Query 5 of the Nexmark benchmark: which auctions have the most bids in the last ten
-- seconds, every two seconds. The bids are generated, and the same on every machine.

CREATE SOURCE bids (auction bigint, bidder bigint, price bigint, channel varchar, url varchar, date_time timestamp,
                    extra varchar, WATERMARK FOR date_time AS date_time - INTERVAL '4 seconds')
  WITH (connector = 'nexmark', kind = 'bid', number_of_events = 20000, rate = 1000, base_time = '2026-01-01 12:00:00Z');

-- One view counts, a second over it takes the greatest count of each window.
CREATE MATERIALIZED VIEW counts AS
  SELECT window_start, window_end, auction, count(*) AS bids
  FROM HOP(bids, date_time, INTERVAL '2 seconds', INTERVAL '10 seconds')
  GROUP BY window_start, window_end, auction;

CREATE MATERIALIZED VIEW hottest AS
  SELECT window_end, max(bids) AS bids FROM counts GROUP BY window_end;

SELECT c.window_end, c.auction, c.bids
FROM counts c JOIN hottest h ON h.window_end = c.window_end AND h.bids = c.bids
ORDER BY c.window_end, c.auction;
