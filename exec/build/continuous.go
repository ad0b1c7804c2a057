package build

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/state"
)

// ContinuousOptions are a continuous query's choices.
type ContinuousOptions struct {
	// Query names the state, Name is the query's for people.
	Query uint32
	Name  string
	// Parallelism is the number of tasks of a fragment that can have several.
	Parallelism int
	// IdleTimeout is that of sources that say nothing else; 0: never.
	IdleTimeout time.Duration
	// Last is the checkpoint to go on from, nil for a first start.
	Last *state.Checkpoint
	// Upsert: the receiver wants changed keys without their deletes.
	Upsert bool
	// StateMemory is how many bytes of groups the query may hold in memory now, where they
	// can be left to the store; nil: any number.
	StateMemory func() int64
	// MaxOverSources: where inputs meet, the greatest of their watermarks counts.
	MaxOverSources bool
}

// Continuous is a built continuous query, not yet started.
type Continuous struct {
	Fragments []*exec.Fragment
	// Sources are the connected sources by their name in checkpoints.
	Sources map[string]*Source
	// Sinks are the connected sinks by their name in checkpoints.
	Sinks map[string]connector.Sink
	// Stats are the operators' figures.
	Stats []*exec.OpStats
	// Target is the relation of a materialized view.
	Target *state.Relation
	// Marks are the watermark operators by their name in checkpoints.
	Marks map[string]*Mark
}

// Source is a connected source of a continuous query.
type Source struct {
	Source connector.Source
	Object *catalog.Object
	// Static sources are read anew at each start; their offsets are not kept.
	Static bool
	// Relation is set when the source is a stored relation's feed.
	Relation *state.Relation
	// Splits are the source's choices about its splits.
	Splits SplitOptions
}

// Close closes sources and sinks.
func (c *Continuous) Close() error {
	var err error
	for _, s := range c.Sources {
		err = errors.Join(err, s.Source.Close())
	}
	for _, s := range c.Sinks {
		err = errors.Join(err, s.Close())
	}
	return err
}

type continuousBuilder struct {
	builder
	opt      ContinuousOptions
	out      *Continuous
	restored map[physical.NodeID]bool // nodes whose counters go on
	// shares is how many tables of groups share the query's memory.
	shares *atomic.Int64
	// static is above 0 while the static side of a broadcast join is built.
	static int
	// greatest has the fragments whose tasks' watermarks meet at the greatest.
	greatest map[*exec.Fragment]bool
}

// NewContinuous connects the sources and sinks of a plan and builds its fragments.
func NewContinuous(ctx context.Context, root physical.Node, env *Env, opt ContinuousOptions) (*Continuous, error) {
	b := &continuousBuilder{shares: new(atomic.Int64), builder: builder{Env: env, ctx: ctx, query: opt.Query}, opt: opt,
		restored: map[physical.NodeID]bool{}, greatest: map[*exec.Fragment]bool{},
		out: &Continuous{Sources: map[string]*Source{}, Sinks: map[string]connector.Sink{}, Marks: map[string]*Mark{}}}
	b.complete = isComplete(root)
	f, err := b.node(root)
	if err != nil {
		return nil, errors.Join(err, b.out.Close())
	}
	b.out.Fragments = append(b.out.Fragments, f)
	if opt.Last != nil {
		for _, f := range b.out.Fragments {
			f.Watermarks = opt.Last.Watermarks
		}
	}
	b.out.Stats = b.stats
	return b.out, nil
}

func isComplete(n physical.Node) bool {
	if e, ok := n.(*physical.Emit); ok {
		return e.Mode == physical.Complete
	}
	for _, c := range n.Children() {
		if isComplete(c) {
			return true
		}
	}
	return false
}

// push adds an operator to the end of a fragment and returns its tasks' runtimes.
func (b *continuousBuilder) push(f *exec.Fragment, n physical.Node, mk func() exec.Operator) []*exec.Runtime {
	rts := make([]*exec.Runtime, f.Tasks)
	for i := range rts {
		rts[i] = b.runtime(n)
		rts[i].Replay = b.opt.Last != nil && slices.Contains(b.opt.Last.Replay, int(n.ID()))
	}
	// A static side is read anew, and counted anew.
	if l := b.opt.Last; l != nil && b.static == 0 && !b.restored[n.ID()] {
		b.restored[n.ID()] = true
		rts[0].Stats.Restore(l.Counts[rts[0].Stats.Key()])
	}
	before := f.Make
	f.Name += " " + n.Describe().Op
	f.Make = func(part int) []exec.Step {
		var s []exec.Step
		if before != nil {
			s = before(part)
		}
		return append(s, exec.Step{Op: mk(), RT: rts[part]})
	}
	return rts
}

// after starts a fragment that reads others; those are complete then.
func (b *continuousBuilder) after(tasks int, in ...exec.Input) *exec.Fragment {
	for i := range in {
		b.out.Fragments = append(b.out.Fragments, in[i].From)
		in[i].Greatest = b.greatest[in[i].From]
	}
	return &exec.Fragment{Tasks: tasks, Inputs: in, Greatest: b.opt.MaxOverSources}
}

// single moves the rows of a fragment with several tasks into one.
func (b *continuousBuilder) single(f *exec.Fragment, n physical.Node) *exec.Fragment {
	if f.Tasks == 1 {
		return f
	}
	return b.after(1, exec.Input{From: f, Timed: timed(n)})
}

// timed tells whether a node's output has an event time, so that its watermark
// counts where inputs meet.
func timed(n physical.Node) bool { return n.Props().EventTime >= 0 || len(n.Props().Times) > 0 }

func (b *continuousBuilder) node(n physical.Node) (*exec.Fragment, error) {
	switch n := n.(type) {
	case *physical.SourceScan:
		return b.source(n)
	case *physical.RelationScan:
		return b.feed(n)
	case *physical.Values, *physical.TableFunc:
		return b.list(n), nil
	case *physical.Join:
		return b.joinFragment(n)
	case *physical.Union:
		return b.unionFragment(n)
	case *physical.SetOp:
		return b.setFragment(n)
	}
	if len(n.Children()) != 1 {
		return nil, notContinuous(n)
	}
	in := n.Children()[0]
	f, err := b.node(in)
	if err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *physical.HashAgg:
		return b.aggFragment(n, f)
	case *physical.DistinctOn:
		return b.distinctOn(n, f), nil
	case *physical.LatestByKey:
		return b.latestFragment(n, f), nil
	case *physical.GroupTopN:
		return b.groupTopN(n, f), nil
	case *physical.Limit:
		return b.standingLimit(n, f)
	case *physical.TemporalFilter:
		return b.temporalFilter(n, f), nil
	case *physical.Emit:
		f = b.single(f, in)
		b.push(f, n, func() exec.Operator { return b.emit(n) })
	case *physical.Materialize:
		f = b.single(f, in)
		if b.out.Target, err = Relation(b.Store, n.Object); err != nil {
			return nil, err
		}
		rel := b.out.Target
		// A fed table has its primary key, which the plan of its source does not.
		upsert := rel.Mode == state.Keyed && n.Key == nil
		refill := b.opt.Last != nil && b.opt.Last.Refill
		b.push(f, n, func() exec.Operator {
			return &operator.Materialize{Relation: rel, Upsert: upsert, Refill: refill}
		})
	case *physical.SinkWrite:
		f = b.single(f, in)
		sink, err := b.sink(n)
		if err != nil {
			return nil, err
		}
		b.push(f, n, func() exec.Operator { return &operator.Sink{To: sink} })
	case *physical.Watermark:
		b.watermark(n, f)
	default:
		if err := b.pushPlain(f, n); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// pushPlain adds an operator that is the same in finite reads.
func (b *continuousBuilder) pushPlain(f *exec.Fragment, n physical.Node) error {
	op, err := b.operator(n)
	if err != nil {
		return err
	}
	if op == nil {
		return notContinuous(n)
	}
	first := op
	b.push(f, n, func() exec.Operator {
		if op := first; op != nil {
			first = nil
			return op
		}
		op, _ := b.operator(n) // made once already, so it can be made
		return op
	})
	return nil
}

// aggFragment puts an aggregation behind a hash exchange where there are several
// tasks, with a first phase before the exchange where its aggregates allow it.
func (b *continuousBuilder) aggFragment(n *physical.HashAgg, f *exec.Fragment) (*exec.Fragment, error) {
	op, err := b.hashAgg(n)
	if err != nil {
		return nil, err
	}
	agg, hash := op.(*operator.HashAgg)
	states := false
	var horizon *atomic.Int64
	if b.opt.Parallelism > 1 || f.Tasks > 1 {
		var keys []int
		if hash {
			keys = agg.KeyCols
		} else {
			keys = op.(*operator.SessionAgg).KeyCols
		}
		tasks := b.opt.Parallelism
		if len(keys) == 0 {
			tasks = 1
		}
		// Where all late rows are wanted, they are judged where they are closed out:
		// in real time the first phase cannot know.
		if states = hash && agg.TwoPhase() && b.keepLate(n) != exec.KeepAll; states {
			horizon = b.horizon(n)
			first := b.push(f, n, func() exec.Operator { return &operator.LocalAgg{Agg: agg, Horizon: horizon} })
			for _, rt := range first {
				rt.Stats.First = true
				rt.Times = nil // its rows are not the node's
			}
			keys = positions(len(keys))
		}
		f = b.after(max(tasks, 1), exec.Input{From: f, Keys: keys, Timed: timed(n.Input[0])})
	}
	last := b.push(f, n, func() exec.Operator {
		op, _ := b.hashAgg(n) // made once already, so it can be made
		if h, ok := op.(*operator.HashAgg); ok {
			h.States, h.Horizon, h.Budget = states, horizon, b.budget()
		} else {
			op.(*operator.SessionAgg).Budget = b.budget()
		}
		return op
	})
	for _, rt := range last {
		rt.Stats.Second = states
	}
	return f, nil
}

// budget is the share of one more table of groups in the memory that the query may
// take; nil: there is no bound.
func (b *continuousBuilder) budget() func() int {
	if b.opt.StateMemory == nil {
		return nil
	}
	b.shares.Add(1)
	return func() int { return int(min(b.opt.StateMemory()/b.shares.Load(), math.MaxInt)) }
}

// keepLate is how many late rows of a node are kept.
func (b *continuousBuilder) keepLate(n physical.Node) int {
	if b.KeepLate == nil {
		return 0
	}
	return b.KeepLate(n)
}

// horizon returns the watermark of an operator in the checkpoint, to be raised.
func (b *continuousBuilder) horizon(n physical.Node) *atomic.Int64 {
	h := new(atomic.Int64)
	h.Store(arrowbatch.NoTime)
	if b.opt.Last != nil {
		if w, ok := b.opt.Last.Watermarks[sourceName(n)][""]; ok {
			h.Store(w)
		}
	}
	return h
}

// distinctOn puts a deduplication behind a hash exchange where there are several
// tasks.
func (b *continuousBuilder) distinctOn(n *physical.DistinctOn, f *exec.Fragment) *exec.Fragment {
	if b.opt.Parallelism > 1 || f.Tasks > 1 {
		f = b.after(b.opt.Parallelism, exec.Input{From: f, Keys: n.Keys, Timed: timed(n.Input[0])})
	}
	b.push(f, n, func() exec.Operator {
		d := &operator.DistinctOn{Keys: n.Keys, Shapes: shapes(n.Schema()), Time: n.Time, Forget: n.Forget, Lag: n.Lag,
			TTL: n.TTL, Budget: b.budget()}
		if n.Replace {
			d.Order = sortKeys(n.OrderBy)
		}
		return d
	})
	return f
}

func positions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func (b *continuousBuilder) emit(n *physical.Emit) exec.Operator {
	in := n.Input[0].Props()
	mode := operator.EmitMode(n.Mode)
	if n.Stored && mode == operator.CompleteMode {
		// A view has the result: sent whole, its rows would be added to those of
		// the epoch before, and what left the result would stay.
		mode = operator.ChangelogMode
	}
	var budget func() int
	if mode == operator.CompleteMode {
		budget = b.budget()
	}
	return &operator.Emit{Mode: mode, Budget: budget, Key: n.Key, AppendOnly: in.AppendOnly,
		Upsert: b.opt.Upsert && n.Mode == physical.Update, Shapes: shapes(n.Schema()),
		Order: batchKeys(n.Schema(), n.Order)}
}

// joinFragment puts a broadcast join into a fragment of its own, with as many
// tasks as its stream side.
func (b *continuousBuilder) joinFragment(n *physical.Join) (*exec.Fragment, error) {
	if !n.Broadcast {
		return nil, notContinuous(n)
	}
	static := 0
	if n.StaticRight {
		static = 1
	}
	var in [2]exec.Input
	for i, c := range n.Children() {
		if i == static {
			b.static++
		}
		f, err := b.node(c)
		if i == static {
			b.static--
		}
		if err != nil {
			return nil, err
		}
		in[i] = exec.Input{From: f, Timed: i != static && timed(c), Broadcast: i == static, Forward: i != static}
	}
	f := b.after(in[1-static].From.Tasks, in[:]...)
	b.greatest[f] = in[1-static].Greatest
	return f, b.pushPlain(f, n)
}

func (b *continuousBuilder) unionFragment(n *physical.Union) (*exec.Fragment, error) {
	var in []exec.Input
	for _, c := range n.Children() {
		f, err := b.node(c)
		if err != nil {
			return nil, err
		}
		in = append(in, exec.Input{From: f, Timed: timed(c)})
	}
	f := b.after(1, in...)
	return f, b.pushPlain(f, n)
}

// sourceName names a source in checkpoints.
func sourceName(n physical.Node) string { return strconv.Itoa(int(n.ID())) }

func (b *continuousBuilder) addSource(n physical.Node, s *Source, tasks int) *exec.Fragment {
	name := sourceName(n)
	s.Static = b.static > 0
	b.out.Sources[name] = s
	spec := &exec.SourceSpec{Name: name, Source: s.Source, IdleTimeout: s.Splits.IdleTimeout}
	if l := b.opt.Last; l != nil && !s.Static {
		spec.Start, spec.Watermarks = l.Offsets[name], l.Watermarks
	}
	f := &exec.Fragment{Name: s.Object.Name.String(), Source: spec, Tasks: tasks}
	b.greatest[f] = s.Splits.Max
	return f
}

func (b *continuousBuilder) source(n *physical.SourceScan) (*exec.Fragment, error) {
	spec, factory, err := b.Spec(n.Object, n.Used)
	if err != nil {
		return nil, err
	}
	if factory.Source == nil {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "connector %q cannot be read", n.Object.Options["connector"])
	}
	bad := &badBox{bySplit: map[string][]connector.BadRow{}}
	keepBad := 0
	if b.KeepBad != nil {
		keepBad = b.KeepBad(n.Object)
	}
	spec.BadRows, spec.WholeBad = bad, keepBad == exec.KeepAll
	src, err := factory.Source(b.ctx, spec)
	if err != nil {
		return nil, err
	}
	if l := b.opt.Last; l != nil && b.static == 0 && l.Identities[sourceName(n)] != "" {
		if i, ok := connector.As[connector.Identified](src); ok {
			i.Resume(l.Identities[sourceName(n)])
		}
	}
	tasks := 1
	if b.opt.Parallelism > 1 && b.static == 0 {
		if splits, err := src.Splits(b.ctx); err == nil {
			tasks = max(1, min(b.opt.Parallelism, len(splits)))
		}
	}
	splits, err := ReadSplitOptions(n.Object, b.opt.IdleTimeout)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	s := &Source{Source: &pruned{Source: src, used: n.Used}, Object: n.Object, Splits: splits}
	f := b.addSource(n, s, tasks)
	f.Source.Bad, f.Source.KeepBad = bad, keepBad
	return f, b.deadLetters(n, f, spec, factory)
}

// pruned is a source whose unread columns are dropped.
type pruned struct {
	connector.Source
	used []bool
}

// Unwrap gives the source for connector.As.
func (p *pruned) Unwrap() connector.Source { return p.Source }

func (p *pruned) Open(ctx context.Context, s connector.Split, from connector.Offset) (connector.Reader, error) {
	r, err := p.Source.Open(ctx, s, from)
	if err != nil {
		return nil, err
	}
	return &prunedReader{r, p.used}, nil
}

type prunedReader struct {
	connector.Reader
	used []bool
}

func (r *prunedReader) Read(ctx context.Context, until connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	b, next, err := r.Reader.Read(ctx, until)
	if b != nil {
		b = usedColumns(b, r.used)
	}
	return b, next, err
}

func (b *continuousBuilder) feed(n *physical.RelationScan) (*exec.Fragment, error) {
	rel, err := Relation(b.Store, n.Object)
	if err != nil {
		return nil, err
	}
	reader := ReaderName(b.query, sourceName(n))
	start := ""
	if b.opt.Last != nil && b.static == 0 {
		start = b.opt.Last.Offsets[sourceName(n)][feedSplit]
	}
	src, err := newFeed(rel, reader, start, n.Columns, n.Stream, b.Clock)
	if err != nil {
		return nil, err
	}
	return b.addSource(n, &Source{Source: src, Object: n.Object, Relation: rel,
		Splits: SplitOptions{IdleTimeout: b.opt.IdleTimeout}}, 1), nil
}

// ReaderName names a source of a query as a reader of a relation's feed.
func ReaderName(query uint32, source string) string { return ReaderPrefix(query) + source }

// ReaderPrefix is what the names of all readers of a query begin with.
func ReaderPrefix(query uint32) string { return strconv.Itoa(int(query)) + "/" }

// Register makes the relations that a query reads keep their changes after the
// query's checkpoint, before anything is written to them.
func Register(s *state.Store, c *state.Checkpoint, object func(id uint32) *catalog.Object) error {
	for source, id := range c.Feeds {
		o := object(id)
		if o == nil {
			continue
		}
		rel, err := Relation(s, o)
		if err != nil {
			return err
		}
		v, err := strconv.ParseUint(c.Offsets[source][feedSplit], 10, 64)
		if err != nil {
			continue // the snapshot was not read to its end: it will be read anew
		}
		if err := rel.Follow(ReaderName(c.Query, source), v); err != nil {
			return err
		}
	}
	return nil
}

func (b *continuousBuilder) sink(n *physical.SinkWrite) (connector.Sink, error) {
	o := *n.Object
	o.Columns, o.Key, o.AppendOnly = n.Columns, n.Key, n.Prop.AppendOnly
	spec, factory, err := b.Spec(&o, nil)
	if err != nil {
		return nil, err
	}
	if factory.Sink == nil {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "connector %q cannot be written", o.Options["connector"])
	}
	spec.Identity, spec.Query = fmt.Sprintf("%s-%d", b.Store.ID(), b.query), b.opt.Name
	spec.Outbox = b.Store.Outbox(b.query, uint32(n.ID()))
	s, err := factory.Sink(b.ctx, spec)
	if err != nil {
		return nil, err
	}
	b.out.Sinks[sourceName(n)] = s
	return s, nil
}
