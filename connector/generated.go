package connector

import (
	"context"
	"math"
	"math/bits"
	"strconv"
	"sync"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// MaxGenerated is the number of the row at which every generated split ends.
const MaxGenerated = 1 << 50

// Generated describes a source whose rows are made, not read: row k of split i is row
// i + k*Splits of the whole. An offset is the number of rows of the split before
// it, in decimal.
type Generated struct {
	// Splits is the number of splits, at least 1.
	Splits int
	// Total is the number of rows of all splits; 0: no end.
	Total int64
	// RowsPerSecond is how many rows of all splits are due in a second of the clock
	// from when a split is opened on; 0: as many as are asked for.
	RowsPerSecond int64
	// BatchRows bounds the rows made at once.
	BatchRows int64
	Clock     clock.Clock
	// Make returns the function that makes rows first, first+step, … (n of them) for
	// one reader; it may leave rows out of the batch.
	Make func() func(first, step, n int64) *arrowbatch.Batch
}

// Source returns the source.
func (g Generated) Source() Source { return &generated{Generated: g, paces: map[string]*pace{}} }

type generated struct {
	Generated
	mu    sync.Mutex
	paces map[string]*pace
}

func (g *generated) Splits(context.Context) ([]Split, error) {
	out := make([]Split, g.Generated.Splits)
	for i := range out {
		out[i].ID = strconv.Itoa(i)
	}
	return out, nil
}

// rowsOf returns the number of rows of split i.
func (g *generated) rowsOf(i int64) int64 {
	n := int64(g.Generated.Splits)
	if g.Total == 0 {
		return MaxGenerated / n
	}
	return (g.Total - i + n - 1) / n
}

// Latest is the end where there is one, else it counts what is due: a split without
// pace and end is missing. Before it is opened nothing is due.
func (g *generated) Latest(_ context.Context, splits []Split) (map[string]Offset, error) {
	out := map[string]Offset{}
	for _, s := range splits {
		i, err := g.index(s)
		if err != nil {
			return nil, err
		}
		if g.RowsPerSecond == 0 && g.Total == 0 {
			continue
		}
		n := g.rowsOf(i)
		if g.RowsPerSecond > 0 && g.Total == 0 {
			g.mu.Lock()
			p := g.paces[s.ID]
			g.mu.Unlock()
			if p == nil {
				n = 0
			} else {
				n = min(n, p.due())
			}
		}
		out[s.ID] = Offset(strconv.FormatInt(n, 10))
	}
	return out, nil
}

func (g *generated) index(s Split) (int64, error) {
	i, err := strconv.ParseInt(s.ID, 10, 64)
	if err != nil || i < 0 || i >= int64(g.Generated.Splits) {
		return 0, sqlerr.New(sqlerr.InvalidParameterValue, `the generator has no split "%s"`, s.ID).
			WithHint("The number of splits cannot be changed after the source has been read.").AsPermanent()
	}
	return i, nil
}

func (g *generated) Open(_ context.Context, s Split, from Offset) (Reader, error) {
	i, err := g.index(s)
	if err != nil {
		return nil, err
	}
	at, err := rowNumber(from)
	if err != nil {
		return nil, err
	}
	p := &pace{clock: g.Clock, start: g.Clock.Now(), from: at, rows: uint64(g.RowsPerSecond),
		parts: uint64(g.Generated.Splits)}
	g.mu.Lock()
	g.paces[s.ID] = p
	g.mu.Unlock()
	return &generatedReader{g: g, split: i, at: at, end: g.rowsOf(i), pace: p, make: g.Make()}, nil
}

func rowNumber(o Offset) (int64, error) {
	if o == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil || n < 0 {
		return 0, sqlerr.New(sqlerr.DataCorrupted, `"%s" is no offset of a generator`, o)
	}
	return n, nil
}

func (g *generated) Bounded() bool { return g.Total > 0 }
func (g *generated) Close() error  { return nil }

type generatedReader struct {
	g     *generated
	split int64
	at    int64 // rows of this split that have been made
	end   int64
	pace  *pace
	make  func(first, step, n int64) *arrowbatch.Batch
}

func (r *generatedReader) Read(ctx context.Context, until Offset) (*arrowbatch.Batch, Offset, error) {
	end := r.end
	if until != "" {
		bound, err := rowNumber(until)
		if err != nil {
			return nil, r.offset(), err
		}
		end = min(end, bound)
	}
	if r.at >= end {
		return nil, r.offset(), ErrEnd
	}
	due := r.pace.due()
	if due <= r.at {
		if err := r.pace.wait(ctx, r.at); err != nil {
			return nil, r.offset(), err
		}
		if due = r.pace.due(); due <= r.at {
			return nil, r.offset(), ErrIdle
		}
	}
	n := min(end-r.at, due-r.at, r.g.BatchRows)
	step := int64(r.g.Generated.Splits)
	b := r.make(r.split+r.at*step, step, n)
	b.Entered = clock.Micros(r.g.Clock)
	r.at += n
	return b, r.offset(), nil
}

func (r *generatedReader) offset() Offset { return Offset(strconv.FormatInt(r.at, 10)) }
func (r *generatedReader) Close() error   { return nil }

// pace tells how many rows of a split are due. It is safe for concurrent use.
type pace struct {
	clock clock.Clock
	start time.Time
	from  int64
	rows  uint64 // a second, over all splits; 0: all rows are due
	parts uint64
}

// maxWait bounds how long wait holds its caller.
const maxWait = 100 * time.Millisecond

// due returns the number of the first row that is not due yet.
func (p *pace) due() int64 {
	if p.rows == 0 {
		return math.MaxInt64
	}
	elapsed := p.clock.Now().Sub(p.start)
	if elapsed <= 0 {
		return p.from
	}
	hi, lo := bits.Mul64(uint64(elapsed.Nanoseconds()), p.rows)
	div := p.parts * uint64(time.Second)
	if hi >= div {
		return math.MaxInt64
	}
	n, _ := bits.Div64(hi, lo, div)
	if n > uint64(math.MaxInt64-p.from) {
		return math.MaxInt64
	}
	return p.from + int64(n)
}

// wait returns when the row is due or after a short while; see WaitIdle.
func (p *pace) wait(ctx context.Context, row int64) error {
	ns := float64(row+1-p.from) * float64(p.parts) / float64(p.rows) * 1e9
	at := p.start.Add(time.Duration(min(ns, math.MaxInt64/2)))
	return WaitIdle(ctx, p.clock, min(max(at.Sub(p.clock.Now()), time.Microsecond), maxWait))
}
