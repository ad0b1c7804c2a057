package nexmark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
)

func mustNew(t testing.TB, cfg Config) *Generator {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The bytes of the events are part of the contract: whoever changes them makes
// old and new measurements incomparable.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		events int64
		shape  Shape
		want   string
	}{
		{1_000, Combined, "a2a8ad7a3a2f2163882ff0cb7e0c8356a3f3b019630be4c74bdb49b3a0d174a8"},
		{100_000, Combined, "ad7ccb669f3443b5faacc328d1c3d600eccc4089d97dc09b48a7f55168d29a20"},
		{1_000, Flat, "38b84db5ff20cb5fc3cd621177af7f5a2b8647092dcca82901ed813257449576"},
	} {
		g := mustNew(t, DefaultConfig)
		h := sha256.New()
		var b []byte
		for n := range c.events {
			b = append(g.AppendJSON(b[:0], n, c.shape), '\n')
			h.Write(b)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != c.want {
			t.Errorf("%d events, shape %d: %s, want %s", c.events, c.shape, got, c.want)
		}
	}
}

func TestFirstEvents(t *testing.T) {
	g := mustNew(t, DefaultConfig)
	var b []byte
	for _, n := range []int64{0, 1, 4} {
		b = append(g.AppendJSON(b, n, Combined), '\n')
	}
	want, err := os.ReadFile("testdata/first.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != string(want) {
		t.Errorf("got\n%s want\n%s", b, want)
	}
}

// The figures of a million events, against those of the reference generator.
func TestDistribution(t *testing.T) {
	const events = 1_000_000
	g := mustNew(t, DefaultConfig)
	var e Event
	var kinds [3]int
	var hotAuction, hotBidder, hotSeller, cheap, ahead, named int
	var extraBytes [3]int
	categories := map[int64]int{}
	for n := range int64(events) {
		g.Event(n, &e)
		kinds[e.Kind]++
		extraBytes[e.Kind] += len(e.Extra)
		switch e.Kind {
		case Auction:
			categories[e.Cate]++
			if e.Seller%100 == 0 {
				hotSeller++
			}
			if e.Expires <= e.Time || e.Reserve < e.InitialBid {
				t.Fatalf("auction %d: time %d, expires %d, initial bid %d, reserve %d", n, e.Time, e.Expires,
					e.InitialBid, e.Reserve)
			}
		case Bid:
			if e.Price < 100 || e.Price > 100_000_000 {
				t.Fatalf("bid %d has price %d", n, e.Price)
			}
			if e.Price < 100_000 {
				cheap++
			}
			if e.Auction%100 == 0 {
				hotAuction++
			}
			if e.Bidder%100 == 1 {
				hotBidder++
			}
			if e.Auction-firstAuction > g.lastAuction(n) {
				ahead++
			}
			if !strings.HasPrefix(string(e.Channel), "channel-") {
				named++
			}
		}
	}
	if kinds != [3]int{events / 50, events * 3 / 50, events * 46 / 50} {
		t.Errorf("kinds: %v", kinds)
	}
	share := func(name string, n, of int, want, tolerance float64) {
		t.Helper()
		if got := float64(n) / float64(of); math.Abs(got-want) > tolerance {
			t.Errorf("%s: %.4f, want %.4f", name, got, want)
		}
	}
	share("hot auctions", hotAuction, kinds[Bid], 0.505, 0.01)
	share("hot bidders", hotBidder, kinds[Bid], 0.7525, 0.01)
	share("hot sellers", hotSeller, kinds[Auction], 0.7525, 0.01)
	share("bids on auctions to come", ahead, kinds[Bid], 0.0451, 0.002)
	share("prices below a thousand", cheap, kinds[Bid], 0.5, 0.005)
	share("named channels", named, kinds[Bid], 0.5, 0.005)
	share("bid extra", extraBytes[Bid], kinds[Bid], 67.5, 0.5)
	for k := int64(10); k < 15; k++ {
		share(fmt.Sprint("category ", k), categories[k], kinds[Auction], 0.2, 0.01)
	}
}

func TestTimes(t *testing.T) {
	cfg := DefaultConfig
	cfg.OOOGroup, cfg.Rate, cfg.BaseTime = 7, 3, 0
	g := mustNew(t, cfg)
	seen := map[int64]bool{}
	for n := range int64(7000) {
		at := g.TimeOf(n)
		if at < g.WatermarkOf(n) {
			t.Fatalf("event %d at %d is before the watermark %d", n, at, g.WatermarkOf(n))
		}
		seen[at] = true
	}
	if len(seen) != 7000 || !seen[0] || !seen[6999*1000/3] {
		t.Errorf("%d different times", len(seen))
	}
}

func TestExp2(t *testing.T) {
	for _, f := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.999999999} {
		if got, want := exp2(f), math.Exp2(f); math.Abs(got-want) > 4e-16 {
			t.Errorf("exp2(%v) = %v, want %v", f, got, want)
		}
	}
}

// rowsOf reads all splits of a source and returns its rows as JSON by event
// number.
func rowsOf(t *testing.T, s *connector.Spec) string {
	t.Helper()
	src, err := Factory.Source(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := src.Splits(context.Background())
	parts := make([][]string, len(splits))
	total := 0
	for i, sp := range splits {
		var from connector.Offset
		for done := false; !done; { // a new reader for every batch: offsets are exact
			r, err := src.Open(context.Background(), sp, from)
			if err != nil {
				t.Fatal(err)
			}
			b, next, err := r.Read(context.Background(), "")
			switch {
			case errors.Is(err, connector.ErrEnd):
				done = true
			case err != nil:
				t.Fatal(err)
			default:
				parts[i] = append(parts[i], lines(s.Columns, b)...)
				total += b.Len
				b.Release()
			}
			from = next
		}
	}
	var out strings.Builder
	for k := range total {
		i := k % len(parts)
		out.WriteString(parts[i][0] + "\n")
		parts[i] = parts[i][1:]
	}
	return out.String()
}

func lines(cols []connector.Column, b *arrowbatch.Batch) (out []string) {
	fc := connector.FormatColumns(cols)
	for i := range b.Len {
		out = append(out, string(format.AppendJSONRow(nil, fc, b.Cols, i, nil)))
	}
	return out
}

func spec(opts ...string) *connector.Spec {
	s := &connector.Spec{Name: "n", Options: map[string]string{}, Clock: clock.System{}}
	for i := 0; i < len(opts); i += 2 {
		s.Options[opts[i]] = opts[i+1]
	}
	s.Columns = Factory.FixedColumns(s.Options)
	return s
}

// The source's columns hold what AppendJSON prints and the decoder reads back,
// whatever the number of splits.
func TestSourceIsTheJSON(t *testing.T) {
	const events = 9_999
	cols := columnsOf(all)
	cols = cols[:len(cols)-1] // the JSON has no date_time of its own
	g := mustNew(t, DefaultConfig)
	d, err := format.New(connector.FormatColumns(cols), format.JSON, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for n := range int64(events) {
		b = g.AppendJSON(b[:0], n, Combined)
		if err := d.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	batch := d.Take()
	want := strings.Join(lines(cols, batch), "\n") + "\n"
	for _, splits := range []string{"1", "3"} {
		s := spec("number_of_events", fmt.Sprint(events), "splits", splits)
		s.Columns = s.Columns[:len(cols)]
		if got := rowsOf(t, s); got != want {
			t.Errorf("%s splits: the rows differ", splits)
		}
	}
	// One kind, some columns, another order.
	s := spec("number_of_events", "100", "kind", "bid")
	s.Columns = []connector.Column{{Name: "price", Type: types.TInt8}, {Name: "url", Type: types.TText, Unused: true},
		{Name: "auction", Type: types.TInt8}}
	got := rowsOf(t, s)
	if n := strings.Count(got, "\n"); n != 92 {
		t.Errorf("%d bids among 100 events", n)
	}
	var e Event
	g.Event(4, &e)
	first := fmt.Sprintf(`{"price":%d,"url":null,"auction":%d}`, e.Price, e.Auction)
	if !strings.HasPrefix(got, first+"\n") {
		t.Errorf("first bid: %.80s, want %s", got, first)
	}
}

func TestPacing(t *testing.T) {
	ctx := context.Background()
	c := clock.NewManual(time.Unix(1000, 0))
	s := spec("rows_per_second", "100", "splits", "2", "kind", "bid")
	s.Clock = c
	src, err := Factory.Source(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if src.Bounded() {
		t.Error("a source without number_of_events is bounded")
	}
	splits, _ := src.Splits(ctx)
	r, err := src.Open(ctx, splits[1], "40")
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(2 * time.Second)
	latest, err := src.Latest(ctx, splits)
	if err != nil || latest["1"] != "140" || latest["0"] != "0" {
		t.Errorf("latest: %v %v", latest, err)
	}
	b, next, err := r.Read(ctx, "90")
	if err != nil || next != "90" || b.Len == 0 {
		t.Errorf("read to %s: %v", next, err)
	}
	if _, _, err = r.Read(ctx, "90"); !errors.Is(err, connector.ErrEnd) {
		t.Errorf("at the bound: %v", err)
	}
	if _, next, err = r.Read(ctx, ""); err != nil || next != "140" {
		t.Errorf("read to %s: %v", next, err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err = r.Read(short, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing due: %v", err)
	}
}

func TestCheckSource(t *testing.T) {
	for _, c := range []struct {
		opts []string
		cols []connector.Column
		want string
	}{
		{[]string{"kind", "bids"}, nil, `invalid value for option "kind": "bids"`},
		{[]string{"event_rate", "5"}, nil, `unrecognized option "event_rate" of connector "nexmark"`},
		{[]string{"rate", "0"}, nil, `0 is outside the valid range for option "rate" (1 .. 1000000000)`},
		{nil, []connector.Column{{Name: "bidd", Type: types.TInt8}}, `connector "nexmark" has no column "bidd"`},
		{[]string{"kind", "bid"}, []connector.Column{{Name: "price", Type: types.TNumeric}},
			`column "price" of connector "nexmark" is of type bigint, not numeric`},
		{[]string{"base_time", "x"}, nil, `invalid value for option "base_time": "x"`},
	} {
		s := spec(c.opts...)
		if c.cols != nil {
			s.Columns = c.cols
		}
		if err := Factory.CheckSource(s); err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.opts, err, c.want)
		}
	}
	s := spec("base_time", "2020-01-01", "seed", "-7")
	if err := Factory.CheckSource(s); err != nil {
		t.Error(err)
	}
}

func BenchmarkEvents(b *testing.B) {
	g := mustNew(b, DefaultConfig)
	w := &writer{gen: g, kind: all, cols: columnsOf(all)}
	for b.Loop() {
		w.make(0, 1, batchRows).Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batchRows, "ns/event")
}

// BenchmarkDecode reads bids, or the whole stream, from JSON lines in memory.
func BenchmarkDecode(b *testing.B) {
	g := mustNew(b, DefaultConfig)
	pruned := func(cols []connector.Column, keep ...string) []connector.Column {
		for i := range cols {
			cols[i].Unused = true
			for _, k := range keep {
				cols[i].Unused = cols[i].Unused && cols[i].Name != k
			}
		}
		return cols
	}
	for _, c := range []struct {
		name  string
		shape Shape
		only  Kind
		cols  []connector.Column
	}{
		{"bid-flat", Flat, Bid, columnsOf(Bid)},
		{"bid-flat-3of7", Flat, Bid, pruned(columnsOf(Bid), "auction", "price", "date_time")},
		{"bid-combined", Combined, Bid, columnsOf(all)[:4]},
		{"all-combined", Combined, all, columnsOf(all)[:4]},
		{"all-unused", Combined, all, pruned(columnsOf(all)[:4], "event_type")},
	} {
		var text []byte
		rows := 0
		for n := int64(0); rows < 50_000; n++ {
			if c.only == all || g.KindOf(n) == c.only {
				text = append(g.AppendJSON(text, n, c.shape), '\n')
				rows++
			}
		}
		b.Run(c.name, func(b *testing.B) {
			d, err := format.New(connector.FormatColumns(c.cols), format.JSON, format.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for at := 0; at < len(text); {
					n, err := d.Decode(text[at:], true, batchRows)
					if err != nil {
						b.Fatal(err)
					}
					at += n
					d.Take().Release()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/event")
		})
	}
}
