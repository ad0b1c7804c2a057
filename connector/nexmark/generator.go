package nexmark

import (
	"math/bits"
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Config is what events depend on; begin with DefaultConfig.
type Config struct {
	Seed uint64
	// Rate is the number of events in a second of event time.
	Rate int64
	// OOOGroup is the number of consecutive events whose times are shuffled.
	OOOGroup int64
	// BaseTime is the time of event 0, in milliseconds since the Unix epoch.
	BaseTime int64
	// PersonShare, AuctionShare and BidShare are the proportions of the kinds.
	PersonShare, AuctionShare, BidShare int64
	// A bid goes to the hot auction, comes from the hot bidder, an auction is the
	// hot seller's with probability 1 - 1/ratio.
	HotAuctionRatio, HotBidderRatio, HotSellerRatio int64
	// InFlightAuctions is how far back bids go; ActivePeople how many persons bid
	// and sell.
	InFlightAuctions, ActivePeople int64
	// Average sizes in bytes, which the column extra fills up to.
	PersonBytes, AuctionBytes, BidBytes int64
}

// DefaultConfig has the reference generator's values; time begins at
// 2015-07-15T00:00:00Z.
var DefaultConfig = Config{
	Rate: 10_000, OOOGroup: 1, BaseTime: 1_436_918_400_000,
	PersonShare: 1, AuctionShare: 3, BidShare: 46,
	HotAuctionRatio: 2, HotBidderRatio: 4, HotSellerRatio: 4,
	InFlightAuctions: 100, ActivePeople: 1000,
	PersonBytes: 200, AuctionBytes: 500, BidBytes: 100,
}

// Kind is the kind of an event.
type Kind int8

// The kinds, numbered as the column event_type is.
const (
	Person Kind = iota
	Auction
	Bid
)

// The first ids, and how far ids go ahead of what has been created.
const (
	firstPerson, firstAuction, firstCategory = 1000, 1000, 10
	personLead, auctionLead, categories      = 10, 10, 5
	hotGroup                                 = 100 // one in so many ids is hot
	channels                                 = 10_000
	poolSize                                 = 1 << 20
)

// Event is one event. The fields of its kind are set; texts are valid until the
// next event.
type Event struct {
	N    int64
	Kind Kind
	// Time is in milliseconds since the Unix epoch.
	Time  int64
	Extra []byte

	ID                             int64 // Person, Auction
	Name, Email, Card, City, State []byte

	Item, Description                          []byte
	InitialBid, Reserve, Expires, Seller, Cate int64

	Auction, Bidder, Price int64
	Channel, URL           []byte

	buf []byte
}

// Generator makes events. It is read-only once made: each goroutine has its own
// Event.
type Generator struct {
	cfg      Config
	seed     uint64
	shares   int64
	lookout  int64 // events until an auction's horizon
	pool     []byte
	channel  [channels][]byte
	url      [channels][]byte
	hotNames [4][]byte
	hotURLs  [4][]byte
}

// New returns a generator; the error is 22023 for a Config that makes no sense.
func New(cfg Config) (*Generator, error) {
	g := &Generator{cfg: cfg, seed: mix(cfg.Seed + gamma), shares: cfg.PersonShare + cfg.AuctionShare + cfg.BidShare}
	positive := []int64{cfg.Rate, cfg.OOOGroup, cfg.PersonShare, cfg.AuctionShare, cfg.BidShare,
		cfg.HotAuctionRatio, cfg.HotBidderRatio, cfg.HotSellerRatio, cfg.InFlightAuctions, cfg.ActivePeople}
	for _, x := range positive {
		if x < 1 || x > 1_000_000_000 {
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, "a parameter of the Nexmark generator is out of range: %d", x)
		}
	}
	g.lookout = cfg.InFlightAuctions * g.shares / cfg.AuctionShare
	r := random(mix(g.seed))
	g.pool = make([]byte, poolSize)
	for i := 0; i < poolSize; i += 8 {
		w := r.next()
		for j := range 8 {
			g.pool[i+j] = 'a' + byte((w&0xff)*26>>8)
			w >>= 8
		}
	}
	for k := range g.hotURLs {
		g.hotNames[k] = []byte([]string{"Google", "Facebook", "Baidu", "Apple"}[k])
		g.hotURLs[k] = baseURL(&r)
	}
	for k := range g.url {
		g.channel[k] = strconv.AppendInt([]byte("channel-"), int64(k), 10)
		u := baseURL(&r)
		if r.below(10) > 0 {
			id := int64(int32(bits.Reverse32(uint32(k))))
			u = strconv.AppendInt(append(u, "&channel_id="...), max(id, -id), 10)
		}
		g.url[k] = u
	}
	return g, nil
}

func baseURL(r *random) []byte {
	u := []byte("https://www.nexmark.com/")
	for range 3 {
		u = append(r.text(u, 5, '_'), '/')
	}
	return append(u, "item.htm?query=1"...)
}

// KindOf returns the kind of event n.
func (g *Generator) KindOf(n int64) Kind {
	switch r := n % g.shares; {
	case r < g.cfg.PersonShare:
		return Person
	case r < g.cfg.PersonShare+g.cfg.AuctionShare:
		return Auction
	}
	return Bid
}

// TimeOf returns the time of event n in milliseconds since the Unix epoch.
func (g *Generator) TimeOf(n int64) int64 { return g.at(g.shuffled(n)) }

// WatermarkOf returns the time that no event from n on lies before.
func (g *Generator) WatermarkOf(n int64) int64 { return g.at(n / g.cfg.OOOGroup * g.cfg.OOOGroup) }

func (g *Generator) shuffled(n int64) int64 {
	if g.cfg.OOOGroup == 1 {
		return n
	}
	o := g.cfg.OOOGroup
	return n/o*o + n%o*953%o
}

func (g *Generator) at(n int64) int64 {
	hi, lo := bits.Mul64(uint64(n), 1000)
	ms, _ := bits.Div64(hi, lo, uint64(g.cfg.Rate))
	return g.cfg.BaseTime + int64(ms)
}

// lastPerson and lastAuction return the newest ids, from 0, at event n.
func (g *Generator) lastPerson(n int64) int64 {
	return n/g.shares*g.cfg.PersonShare + min(n%g.shares, g.cfg.PersonShare-1)
}

func (g *Generator) lastAuction(n int64) int64 {
	epoch, r := n/g.shares, n%g.shares-g.cfg.PersonShare
	if r < 0 {
		epoch, r = epoch-1, g.cfg.AuctionShare
	}
	return epoch*g.cfg.AuctionShare + min(r, g.cfg.AuctionShare-1)
}

// Event fills e with event n, from 0.
func (g *Generator) Event(n int64, e *Event) {
	r := random(mix(g.seed ^ uint64(n)))
	e.N, e.Kind, e.Time = n, g.KindOf(n), g.TimeOf(n)
	switch e.Kind {
	case Person:
		g.person(&r, n, e)
	case Auction:
		g.auction(&r, n, e)
	default:
		g.bid(&r, n, e)
	}
}

var (
	firstNames = words("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
	lastNames  = words("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
	cities     = words("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle",
		"Kent", "Cheyenne")
	states = words("AZ", "CA", "ID", "OR", "WA", "WY")
)

func words(w ...string) [][]byte {
	out := make([][]byte, len(w))
	for i, s := range w {
		out[i] = []byte(s)
	}
	return out
}

func pick(r *random, w [][]byte) []byte { return w[r.below(int64(len(w)))] }

func (g *Generator) person(r *random, n int64, e *Event) {
	e.ID = firstPerson + g.lastPerson(n)
	b := append(e.buf[:0], pick(r, firstNames)...)
	b = append(append(b, ' '), pick(r, lastNames)...)
	name := len(b)
	b = append(r.text(b, 7, ' '), '@')
	b = append(r.text(b, 5, ' '), ".com"...)
	email := len(b)
	for k := range 4 {
		if k > 0 {
			b = append(b, ' ')
		}
		d := r.below(10_000)
		b = append(b, '0'+byte(d/1000), '0'+byte(d/100%10), '0'+byte(d/10%10), '0'+byte(d%10))
	}
	e.buf = b
	e.Name, e.Email, e.Card = b[:name], b[name:email], b[email:]
	e.City, e.State = pick(r, cities), pick(r, states)
	e.Extra = g.extra(r, 8+int64(len(b)+len(e.City)+len(e.State)), g.cfg.PersonBytes)
}

func (g *Generator) auction(r *random, n int64, e *Event) {
	e.ID = firstAuction + g.lastAuction(n)
	if r.hot(g.cfg.HotSellerRatio) {
		e.Seller = firstPerson + g.lastPerson(n)/hotGroup*hotGroup
	} else {
		e.Seller = firstPerson + g.somebody(r, n)
	}
	e.Cate = firstCategory + r.below(categories)
	e.InitialBid = r.price()
	horizon := g.at(g.shuffled(n)+g.lookout) - e.Time
	e.Expires = e.Time + 1 + r.below(max(2*horizon, 1))
	b := r.text(e.buf[:0], 20, ' ')
	item := len(b)
	b = r.text(b, 100, ' ')
	e.buf = b
	e.Item, e.Description = b[:item], b[item:]
	e.Reserve = e.InitialBid + r.price()
	e.Extra = g.extra(r, 48+int64(len(b)), g.cfg.AuctionBytes)
}

func (g *Generator) bid(r *random, n int64, e *Event) {
	last := g.lastAuction(n)
	if r.hot(g.cfg.HotAuctionRatio) {
		e.Auction = firstAuction + last/hotGroup*hotGroup
	} else {
		first := max(last-g.cfg.InFlightAuctions, 0)
		e.Auction = firstAuction + first + r.below(last-first+1+auctionLead)
	}
	if r.hot(g.cfg.HotBidderRatio) {
		e.Bidder = firstPerson + g.lastPerson(n)/hotGroup*hotGroup + 1
	} else {
		e.Bidder = firstPerson + g.somebody(r, n)
	}
	e.Price = r.price()
	if r.hot(2) {
		k := r.below(int64(len(g.hotNames)))
		e.Channel, e.URL = g.hotNames[k], g.hotURLs[k]
	} else {
		k := r.below(channels)
		e.Channel, e.URL = g.channel[k], g.url[k]
	}
	e.Extra = g.extra(r, 32, g.cfg.BidBytes)
}

// somebody returns one of the active persons, or one of the next to come.
func (g *Generator) somebody(r *random, n int64) int64 {
	people := g.lastPerson(n) + 1
	active := min(people, g.cfg.ActivePeople)
	return people - active + r.below(active+personLead)
}

// extra returns letters that fill a row of size bytes up to about avg.
func (g *Generator) extra(r *random, size, avg int64) []byte {
	if size > avg {
		return nil
	}
	d := min(avg-size, poolSize/4)
	delta := (d + 2) / 5
	n := d - delta
	if delta > 0 {
		n += r.below(2 * delta)
	}
	at := r.below(poolSize - n + 1)
	return g.pool[at : at+n]
}
