package nexmark

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// batchRows is the size of a batch: small enough that its columns stay in the
// cache.
const batchRows = 4096

// Factory makes the source; there is no sink.
var Factory = connector.Factory{
	Source:       open,
	CheckSource:  func(s *connector.Spec) error { _, err := read(s); return err },
	FixedColumns: fixedColumns,
}

type options struct {
	cfg    Config
	kind   Kind
	splits int64
	total  int64
	perSec int64
}

// read checks the spec.
func read(s *connector.Spec) (options, error) {
	o := connector.NewOptions(`connector "nexmark"`, s.Options)
	p := options{cfg: DefaultConfig, kind: kindOption(o)}
	c := &p.cfg
	c.Seed = uint64(o.Int("seed", 0, math.MinInt64, math.MaxInt64))
	c.Rate = o.Int("rate", c.Rate, 1, 1_000_000_000)
	c.OOOGroup = o.Int("ooo_group", c.OOOGroup, 1, 1_000_000)
	c.BaseTime = baseTime(o, c.BaseTime)
	c.PersonShare = o.Int("person_share", c.PersonShare, 1, 1_000_000)
	c.AuctionShare = o.Int("auction_share", c.AuctionShare, 1, 1_000_000)
	c.BidShare = o.Int("bid_share", c.BidShare, 1, 1_000_000)
	c.HotAuctionRatio = o.Int("hot_auction_ratio", c.HotAuctionRatio, 1, 1_000_000)
	c.HotBidderRatio = o.Int("hot_bidder_ratio", c.HotBidderRatio, 1, 1_000_000)
	c.HotSellerRatio = o.Int("hot_seller_ratio", c.HotSellerRatio, 1, 1_000_000)
	c.InFlightAuctions = o.Int("in_flight_auctions", c.InFlightAuctions, 1, 1_000_000)
	c.ActivePeople = o.Int("active_people", c.ActivePeople, 1, 1_000_000_000)
	c.PersonBytes = o.Int("person_bytes", c.PersonBytes, 0, 1<<20)
	c.AuctionBytes = o.Int("auction_bytes", c.AuctionBytes, 0, 1<<20)
	c.BidBytes = o.Int("bid_bytes", c.BidBytes, 0, 1<<20)
	p.splits = o.Int("splits", 1, 1, 1024)
	p.total = o.Int("number_of_events", 0, 0, connector.MaxGenerated)
	p.perSec = o.Int("rows_per_second", 0, 0, 1_000_000_000)
	if s.Format != "" || s.Encode != "" {
		o.Fault(`connector "nexmark" takes no FORMAT and no ENCODE`)
	}
	if err := o.Err(); err != nil {
		return p, err
	}
	return p, checkColumns(s.Columns, p.kind)
}

func kindOption(o *connector.Options) Kind {
	return kindOf(o.Enum("kind", "all", "all", "person", "auction", "bid"))
}

// baseTime reads a time in UTC, as a date or an RFC 3339 time.
func baseTime(o *connector.Options, def int64) int64 {
	v := strings.TrimSpace(o.String("base_time", ""))
	if v == "" {
		return def
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return t.UnixMilli()
		}
	}
	o.Fault(`invalid value for option "base_time": "%s"`, v)
	return def
}

func fixedColumns(given map[string]string) []connector.Column {
	return columnsOf(kindOption(connector.NewOptions(`connector "nexmark"`, given)))
}

func open(_ context.Context, s *connector.Spec) (connector.Source, error) {
	p, err := read(s)
	if err != nil {
		return nil, err
	}
	gen, err := New(p.cfg)
	if err != nil {
		return nil, sqlerr.From(err).AsPermanent()
	}
	return connector.Generated{
		Splits: int(p.splits), Total: p.total, RowsPerSecond: p.perSec, BatchRows: batchRows, Clock: s.Clock,
		Make: func() func(first, step, n int64) *arrowbatch.Batch {
			w := &writer{gen: gen, kind: p.kind, cols: s.Columns}
			return w.make
		},
	}.Source(), nil
}
