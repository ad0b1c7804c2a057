package exec

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/state"
)

// Step is an operator of a fragment with its runtime, part not yet set.
type Step struct {
	Op Operator
	RT *Runtime
}

// Fragment is a line of operators that runs as one or several parallel tasks.
type Fragment struct {
	Name string
	// Source is set for a fragment that begins with a source; else Inputs are the
	// fragments it reads, in the order of the first operator's inputs.
	Source *SourceSpec
	Inputs []Input
	Tasks  int
	// Watermarks are the checkpoint's, by operator and split.
	Watermarks map[string]map[string]int64
	// Greatest: of several timed inputs the one that is furthest says how far event
	// time has come, not the one that is least far.
	Greatest bool
	// Make returns the operators of one task; nil: there are none, a source's rows go
	// to the reader as they are.
	Make func(part int) []Step
}

func (f *Fragment) steps(part int) []Step {
	if f.Make == nil {
		return nil
	}
	return f.Make(part)
}

// Input is how a fragment reads another one.
type Input struct {
	From *Fragment
	// Keys route rows by hash where the reader has several tasks; Broadcast sends
	// them to all.
	Keys      []int
	Broadcast bool
	// Forward: task i reads task i, and both fragments have as many tasks.
	Forward bool
	// Timed: the input has an event time.
	Timed bool
	// Greatest: of the watermarks of From's tasks, which have different splits, the
	// greatest counts, not the least.
	Greatest bool
}

// Graph is a running continuous query: all tasks and what connects them.
type Graph struct {
	tasks   []runner
	names   []string
	sources []*sourceTask
	acks    chan *Ack
	ctx     context.Context
	cancel  context.CancelCauseFunc
	err     error
	done    chan struct{}
	// moves counts what may change something: rows and offsets that were read, splits
	// that fell idle.
	moves atomic.Int64
}

type runner interface {
	run(ctx context.Context) error
}

// NewGraph makes the tasks of fragments, which are listed before those that read
// them. Nothing runs before Start.
func NewGraph(ctx context.Context, frags []*Fragment, store *state.Store, clk clock.Clock) *Graph {
	g := &Graph{done: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	ports := map[*Fragment][][]*port{} // by fragment, task, input
	n := 0
	for _, f := range frags {
		n += f.Tasks
		for range f.Tasks {
			var in []*port
			for _, i := range f.Inputs {
				senders := i.From.Tasks
				if i.Forward {
					senders = 1
				}
				in = append(in, newPort(senders, &i))
			}
			ports[f] = append(ports[f], in)
		}
	}
	g.acks = make(chan *Ack, n)
	for _, f := range frags {
		for part := range f.Tasks {
			t := Task{id: len(g.tasks), part: part, name: f.Name, store: store, acks: g.acks, clock: clk,
				chain: &chain{clock: clk}, saved: f.Watermarks, greatest: f.Greatest}
			for _, s := range f.steps(part) {
				s.RT.Ctx, s.RT.Part, s.RT.Parts = g.ctx, part, f.Tasks
				t.chain.links = append(t.chain.links, &link{op: s.Op, run: watched(s.Op, s.RT), rt: s.RT})
			}
			g.connect(&t, f, part, frags, ports)
			t.chain.ends()
			g.names = append(g.names, f.Name)
			if f.Source != nil {
				st := &sourceTask{Task: t, moves: &g.moves, spec: *f.Source, parts: f.Tasks,
					paces: make(chan Pace, 1)}
				g.sources = append(g.sources, st)
				g.tasks = append(g.tasks, st)
				continue
			}
			t.ports = ports[f][part]
			g.tasks = append(g.tasks, &t)
		}
	}
	return g
}

// connect sets where the task's chain sends its output: the one fragment that
// reads it, or nowhere.
func (g *Graph) connect(t *Task, f *Fragment, part int, frags []*Fragment, ports map[*Fragment][][]*port) {
	t.chain.out = discard{}
	t.chain.outW = func(_, _ arrowbatch.EventTime, _ bool) error { return nil }
	t.chain.outBar = func(Barrier) error { return nil }
	for _, r := range frags {
		for i, in := range r.Inputs {
			if in.From != f {
				continue
			}
			e := &edge{ctx: g.ctx, sender: part, keys: in.Keys, broadcast: in.Broadcast, from: t.chain}
			for task := range r.Tasks {
				if !in.Forward || task == part {
					e.to = append(e.to, ports[r][task][i].ch)
				}
			}
			if in.Forward {
				e.sender = 0
			}
			t.chain.out, t.chain.outW, t.chain.outBar = e, e.watermark, e.barrier
		}
	}
}

// discard drops what leaves the last operator.
type discard struct{}

func (discard) Emit(b *arrowbatch.Batch) error {
	b.Release()
	return nil
}

// Tasks is the number of tasks: as many acknowledgements come for each epoch.
func (g *Graph) Tasks() int { return len(g.tasks) }

// Start starts all tasks.
func (g *Graph) Start() {
	left := make(chan error, len(g.tasks))
	for i, t := range g.tasks {
		spawn.Go(g.names[i], func() error { return t.run(g.ctx) }, func(err error) {
			if err != nil {
				g.cancel(err)
			}
			left <- err
		})
	}
	spawn.Go("graph", func() error {
		for range g.tasks {
			<-left
		}
		if err := context.Cause(g.ctx); err != nil {
			g.err = err
		}
		g.cancel(nil)
		return nil
	}, func(error) { close(g.done) })
}

// Pace gives the next pace to all source tasks. One pace at a time.
func (g *Graph) Pace(ctx context.Context, p Pace) error {
	for _, s := range g.sources {
		select {
		case s.paces <- p:
		case <-g.done:
			return g.failure()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Gather waits for the epoch's acknowledgement of every task. On an error all
// that came is Done already.
func (g *Graph) Gather(ctx context.Context) ([]*Ack, error) {
	acks := make([]*Ack, 0, len(g.tasks))
	give := func(err error) ([]*Ack, error) {
		for _, a := range acks {
			a.Done()
		}
		return nil, err
	}
	for len(acks) < len(g.tasks) {
		select {
		case a := <-g.acks:
			acks = append(acks, a)
			continue
		default:
		}
		select {
		case a := <-g.acks:
			acks = append(acks, a)
		case <-g.done:
			if len(g.acks) > 0 {
				continue
			}
			return give(g.failure())
		case <-ctx.Done():
			return give(context.Cause(ctx))
		}
	}
	return acks, nil
}

// failure is why the graph has ended.
func (g *Graph) failure() error {
	if g.err != nil {
		return g.err
	}
	return errors.New("the query has stopped")
}

// Stop cancels what still runs, waits for all tasks and returns the first error,
// nil after an orderly stop.
func (g *Graph) Stop() error {
	g.cancel(context.Canceled)
	<-g.done
	for {
		select {
		case a := <-g.acks:
			a.Done()
			continue
		default:
		}
		break
	}
	if errors.Is(g.err, context.Canceled) {
		return nil
	}
	return g.err
}

// Moves tells, by a number that rises, whether the sources have given anything since it
// was asked before.
func (g *Graph) Moves() int64 { return g.moves.Load() }

// Done is closed when all tasks have ended.
func (g *Graph) Done() <-chan struct{} { return g.done }
