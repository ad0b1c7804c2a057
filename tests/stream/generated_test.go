package stream

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/clock"
	cq "github.com/streamsql/streamsql/stream"
	"github.com/streamsql/streamsql/tests/testenv"
)

// genGroup is several streams that run in one engine, and what happens to that.
type genGroup struct {
	seed    uint64
	rng     *rand.Rand
	trigger string
	epochs  int
	batch   int
	// closing: a last row of each split closes all windows before it.
	closing bool
	// before says what comes before each epoch: nothing, restart, crash, rescale (another
	// number of tasks), switch (between real time and epochs), or moment, a crash within
	// the epoch's two phases.
	before  []string
	streams []*genStream
	paced   bool // a group of real time runs in epochs now
	e       *engine
	seen    map[string]int
}

const (
	genGroupSize = 10
	genRound     = 1000 // streams that are compared in one go
)

// TestGenerated runs generated streams and compares them with what PostgreSQL answers
// to the same query over the rows that were in time.
func TestGenerated(t *testing.T) {
	url := testenv.Postgres(t)
	count := genNumber(t, "STREAMSQL_GENERATED", 300)
	seed := genNumber(t, "STREAMSQL_GENERATED_SEED", time.Now().Unix()%1_000_000)
	t.Logf("%d streams, STREAMSQL_GENERATED_SEED=%d", count, seed)
	db := genConnect(t, url)
	total := 0
	for total < int(count) && !t.Failed() {
		var groups []*genGroup
		for n := 0; n < genRound && total < int(count); n += genGroupSize {
			groups = append(groups, makeGroup(uint64(seed)+uint64(total/genGroupSize)))
			total += genGroupSize
		}
		genRun(t, groups)
		if !t.Failed() {
			db.compare(t, groups)
		}
	}
}

func genNumber(t *testing.T, name string, def int64) int64 {
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func makeGroup(seed uint64) *genGroup {
	rng := rand.New(rand.NewPCG(seed, 7))
	g := &genGroup{seed: seed, rng: rng, epochs: 2 + rng.IntN(6), seen: map[string]int{}}
	g.trigger = pickOf(rng, "processing_time", "processing_time", "processing_time", "real_time", "available_now", "once")
	g.closing = chance(rng, 70)
	if g.trigger == "processing_time" {
		g.batch = pickOf(rng, 0, 0, 1, 3)
	}
	for range g.epochs {
		b := ""
		switch {
		case g.trigger == "available_now" || g.trigger == "once":
			b = "restart" // its runs end by themselves
		case chance(rng, 20):
			b = "restart"
		case chance(rng, 15):
			b = "crash"
		case chance(rng, 10):
			b = "moment"
		case chance(rng, 10):
			b = "rescale"
		case g.trigger == "real_time" && chance(rng, 25):
			b = "switch"
		}
		g.before = append(g.before, b)
	}
	for i := range genGroupSize {
		g.streams = append(g.streams, makeStream(rng, i, int(seed)*genGroupSize+i, g))
	}
	return g
}

// genRun runs groups, as many at once as there are processors.
func genRun(t *testing.T, groups []*genGroup) {
	next := make(chan *genGroup)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for g := range next {
				if err := g.run(); err != nil {
					t.Errorf("STREAMSQL_GENERATED_SEED=%d: %v", g.seed, err)
				}
			}
		}()
	}
	for _, g := range groups {
		next <- g
	}
	close(next)
	wg.Wait()
}

// run runs a group's streams to their end.
func (g *genGroup) run() (err error) {
	g.e = &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(0, 0))}
	g.e.w.batch = g.batch
	if err := g.e.start(); err != nil {
		return err
	}
	defer func() {
		if e := g.e.close(); err == nil {
			err = e
		}
		if len(g.e.w.faults) > 0 {
			err = fmt.Errorf("the sinks' protocol is broken: %v", g.e.w.faults)
		}
	}()
	var ddl, queries strings.Builder
	marks := make([]*genMark, len(g.streams))
	sessions := make([]*genSessions, len(g.streams))
	for i, s := range g.streams {
		var splits []string
		for k := range s.splits {
			splits = append(splits, strconv.Itoa(k))
		}
		g.e.w.addSource(s.source(), splits)
		ddl.WriteString(s.ddl())
		queries.WriteString(s.create(g))
		marks[i], sessions[i] = newGenMark(s, g.e.clock.Now()), newGenSessions(s)
	}
	if err := g.e.exec(ddl.String()); err != nil {
		return err
	}
	for e := range g.epochs {
		if err := g.epoch(e, queries.String(), marks); err != nil {
			return fmt.Errorf("epoch %d: %w", e+1, err)
		}
		for i, s := range g.streams {
			s.judge(s.epochs[e], marks[i])
			marks[i].epoch(s.epochs[e], g.e.clock.Now(), g.drains())
			sessions[i].epoch(s.epochs[e], marks[i])
			if err := g.take(s, marks[i]); err != nil {
				return fmt.Errorf("epoch %d, stream %d: %w\n%s", e+1, s.id, err, s.describe(g))
			}
		}
	}
	for i, s := range g.streams {
		s.final, s.hasFinal = marks[i].own, marks[i].hasOwn
		sessions[i].paint()
		if err := g.figures(s); err != nil {
			return err
		}
	}
	return nil
}

// drains tells whether the group's runs end at what there is.
func (g *genGroup) drains() bool { return g.trigger == "available_now" || g.trigger == "once" }

// epoch brings the engine through an epoch.
func (g *genGroup) epoch(n int, queries string, marks []*genMark) error {
	late := n == 0 || g.before[n] == "restart" && g.rng.IntN(2) == 0 || g.drains()
	if n > 0 {
		if err := g.stop(g.before[n], uint64(n)); err != nil {
			return err
		}
		if g.before[n] == "rescale" {
			g.begin(marks)
		}
		if g.e.tick == nil && !g.drains() {
			g.e.clock.Advance(time.Duration(g.rng.IntN(7)) * time.Second)
		}
		if late { // rows come while the engine is away
			g.feed(n)
		}
		if g.e.store == nil {
			if err := g.e.start(); err != nil {
				return err
			}
			g.begin(marks)
		}
	} else {
		if early := g.rng.IntN(2) == 0 || g.drains(); early {
			g.feed(0)
			late = true
		} else {
			late = false
		}
		if err := g.e.exec(queries); err != nil {
			return err
		}
		if g.trigger == "real_time" {
			g.e.run()
		}
	}
	if g.drains() {
		return g.e.await(func(s *cq.Status) bool { return s.State == cq.Finished })
	}
	if n == 0 || g.before[n] == "restart" || g.before[n] == "crash" {
		if err := g.e.began(); err != nil {
			return err
		}
	}
	if !late {
		g.feed(n)
	}
	if g.before[n] == "moment" && n > 0 {
		return g.moment(n)
	}
	return g.e.exec("FLUSH")
}

// begin starts the splits' time anew.
func (g *genGroup) begin(marks []*genMark) {
	for _, m := range marks {
		m.begin(g.e.clock.Now())
	}
}

// feed gives an epoch's rows to all sources.
func (g *genGroup) feed(n int) {
	var rows []change
	for _, s := range g.streams {
		for _, r := range s.epochs[n] {
			rows = append(rows, change{rel: s.source(), split: strconv.Itoa(r.split), values: r.fields()})
		}
	}
	if len(rows) > 0 {
		g.e.w.append(rows)
	}
}

// stop ends the engine's life before an epoch.
func (g *genGroup) stop(how string, seed uint64) error {
	switch how {
	case "restart":
		return g.e.close()
	case "rescale":
		var text strings.Builder
		for _, s := range g.streams {
			fmt.Fprintf(&text, "PAUSE %s; ALTER SINK %[1]s SET (parallelism = %d); RESUME %[1]s;\n", s.sink(), 1+g.rng.IntN(5))
		}
		return g.e.exec(text.String() + "FLUSH") // the splits are open then
	case "switch":
		g.paced = !g.paced
		trigger := "real_time"
		if g.paced {
			trigger = "processing_time 1000 days"
		}
		var text strings.Builder
		for _, s := range g.streams {
			fmt.Fprintf(&text, "ALTER SINK %s SET (trigger = '%s');\n", s.sink(), trigger)
		}
		return g.e.exec(text.String())
	case "crash":
		g.e.w.mu.Lock()
		after := g.e.crashed(int(seed%3)*50, seed)
		g.e.w.mu.Unlock()
		return g.crash(after)
	}
	return nil
}

// crash puts the engine aside for one that is not yet started.
func (g *genGroup) crash(after *engine) error {
	err := g.e.close()
	faults := g.e.w.faults
	g.e = after
	g.e.w.faults = append(g.e.w.faults, faults...)
	return err
}

// moment runs an epoch with a crash within the two phases of its commit.
func (g *genGroup) moment(n int) error {
	var after *engine
	at := pickOf(g.rng, "prepared", "commit", "committed")
	e := g.e
	e.w.mu.Lock()
	e.w.moment = func(_, step string, _ uint64) {
		if step == at && after == nil {
			after = e.crashed(n%3*50, uint64(n))
		}
	}
	e.w.mu.Unlock()
	if err := e.exec("FLUSH"); err != nil {
		return err
	}
	e.w.mu.Lock()
	e.w.moment = nil
	e.w.mu.Unlock()
	if after == nil {
		return nil
	}
	if err := g.crash(after); err != nil {
		return err
	}
	if err := g.e.start(); err != nil {
		return err
	}
	return g.e.exec("FLUSH")
}

// take folds in what a stream's sink has got, and notes the operators' figures.
func (g *genGroup) take(s *genStream, m *genMark) error {
	g.e.w.mu.Lock()
	out := g.e.w.sink(s.sink())
	fresh := slices.Clone(out.epochs[min(g.seen[s.sink()], len(out.epochs)):])
	g.seen[s.sink()] = len(out.epochs)
	g.e.w.mu.Unlock()
	c := &testCase{hasKey: true}
	for i := range s.keys() {
		c.key = append(c.key, i)
	}
	for _, e := range fresh {
		if s.mode == "complete" {
			clear(s.got.rows)
		}
		for _, r := range e.rows { // in their order: in real time a row may come and go in one epoch
			plus, minus := divide(nil, nil, []sinkRow{r})
			c.take(s.got, cmp.Or(map[string]string{"complete": "append"}[s.mode], s.mode), plus, minus)
		}
	}
	st, err := g.e.status(s.sink())
	if err != nil {
		return err
	}
	now := map[string]int64{}
	for _, o := range st.Operators {
		now["late"] += o.Late
		now["partial"] += o.Partial
		now["nulltime"] += o.NullTime
		if o.Name == "Watermark" {
			now["rows"] += o.RowsIn
		}
	}
	s.figures = now
	want := m.own
	if !m.hasOwn {
		want = arrowbatch.NoTime
	}
	if st.Watermark != want {
		return fmt.Errorf("the watermark is %s instead of %s", seconds(st.Watermark), seconds(want))
	}
	return nil
}

// figures compares what the operators counted with what must have been late.
func (g *genGroup) figures(s *genStream) error {
	rows := 0
	for _, e := range s.epochs {
		rows += len(e)
	}
	want := map[string]int{"late": s.late, "partial": s.part, "nulltime": s.noTime, "rows": rows}
	for k, n := range want {
		if s.figures[k] != int64(n) {
			return fmt.Errorf("stream %d: %d %s instead of %d\n%s", s.id, s.figures[k], k, n, s.describe(g))
		}
	}
	return nil
}

// describe tells what a stream is, to reproduce it.
func (s *genStream) describe(g *genGroup) string {
	var b strings.Builder
	fmt.Fprintf(&b, "STREAMSQL_GENERATED_SEED=%d STREAMSQL_GENERATED=%d, %s, batch %d, before the epochs %q\n%s%s", g.seed,
		genGroupSize, g.trigger, g.batch, g.before, s.ddl(), s.create(g))
	for n, e := range s.epochs {
		fmt.Fprintf(&b, "epoch %d\n", n+1)
		for _, r := range e {
			fmt.Fprintf(&b, "in %s/%d %s", s.source(), r.split, strings.Join(r.fields(), " "))
			if r.marked {
				b.WriteString(" # meets " + seconds(r.mark))
			}
			if r.late {
				b.WriteString(", late")
			}
			b.WriteString("\n")
		}
	}
	if s.hasFinal {
		b.WriteString("the last watermark is " + seconds(s.final) + "\n")
	}
	return b.String()
}
