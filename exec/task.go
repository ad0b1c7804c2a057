package exec

import (
	"context"
	"reflect"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// port is one input of a task: what the tasks of one upstream fragment send.
type port struct {
	ch      chan message
	senders int
	// timed: the input has an event time, so its watermark counts.
	timed bool
	w     *Meeting // of the senders
	at    []bool   // by sender: its barrier has come
	nAt   int
	pend  [][]message // by sender: what came behind its barrier
}

func newPort(senders int, timed bool) *port {
	return &port{ch: make(chan message, edgeCapacity), senders: senders, timed: timed, w: NewMeeting(senders),
		at: make([]bool, senders), pend: make([][]message, senders)}
}

func (p *port) aligned() bool { return p.nAt == p.senders }

// Gated is an operator with a static input that must be read up to the barrier
// before the other one in each epoch, or, when results are eager, in the first.
type Gated interface{ StaticInput() int }

// Task drives a chain with the messages of its ports, in one goroutine.
type Task struct {
	id    int
	name  string
	chain *chain
	ports []*port
	store *state.Store
	acks  chan<- *Ack
	saved map[string]map[string]int64 // watermarks of the checkpoint
	ack   *Ack
	eager bool
	first bool
	gate  int // the static port, -1 for none
	sel   []reflect.SelectCase
}

func (t *Task) run(ctx context.Context) error {
	t.first, t.gate = true, -1
	if len(t.chain.links) > 0 {
		if g, ok := t.chain.links[0].op.(Gated); ok {
			t.gate = g.StaticInput()
		}
	}
	t.newAck()
	defer func() { t.ack.Done() }()
	defer t.chain.close()
	if err := t.chain.open(); err != nil {
		return err
	}
	t.chain.resume(t.saved)
	for {
		m, in, err := t.receive(ctx)
		if err != nil {
			return err
		}
		stop, err := t.handle(ctx, m, in)
		if err != nil || stop {
			return err
		}
	}
}

func (t *Task) newAck() {
	t.ack = newAck(t.id, t.store)
	for _, l := range t.chain.links {
		l.rt.ack, l.rt.delta = t.ack, t.ack.Delta
	}
}

// open tells whether the port may be read now.
func (t *Task) open(i int) bool {
	if t.ports[i].aligned() {
		return false
	}
	gated := t.gate >= 0 && (!t.eager || t.first)
	return !gated || i == t.gate || t.ports[t.gate].aligned()
}

func (t *Task) receive(ctx context.Context) (message, int, error) {
	one, n := -1, 0
	for i := range t.ports {
		if t.open(i) {
			one = i
			n++
		}
	}
	if n == 1 {
		select {
		case m := <-t.ports[one].ch:
			return m, one, nil
		case <-ctx.Done():
			return message{}, 0, context.Cause(ctx)
		}
	}
	t.sel = t.sel[:0]
	t.sel = append(t.sel, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())})
	at := make([]int, 1, n+1)
	for i, p := range t.ports {
		if t.open(i) {
			t.sel = append(t.sel, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(p.ch)})
			at = append(at, i)
		}
	}
	k, v, _ := reflect.Select(t.sel)
	if k == 0 {
		return message{}, 0, context.Cause(ctx)
	}
	return v.Interface().(message), at[k], nil
}

// handle takes one message; stop is true after the last barrier.
func (t *Task) handle(ctx context.Context, m message, in int) (stop bool, err error) {
	p := t.ports[in]
	if p.at[m.sender] {
		p.pend[m.sender] = append(p.pend[m.sender], m)
		return false, nil
	}
	switch m.kind {
	case kindBatch:
		return false, t.chain.batch(in, m.batch)
	case kindWatermark:
		p.w.Raise(m.sender, m.watermark)
		p.w.SetIdle(m.sender, m.idle)
		if t.eager {
			return false, t.applyWatermark()
		}
		return false, nil
	}
	p.at[m.sender] = true
	p.nAt++
	for _, q := range t.ports {
		if !q.aligned() {
			return false, nil
		}
	}
	return t.barrier(ctx, m.barrier)
}

// applyWatermark gives the least watermark of the timed inputs to the chain. A task
// that goes on for one other is idle with it; where several meet, nobody is.
func (t *Task) applyWatermark() error {
	w, timed, one := arrowbatch.MaxTime, 0, true
	for _, p := range t.ports {
		if p.timed {
			w, timed = min(w, p.w.Look()), timed+1
			one = one && p.senders == 1
			t.chain.idle = p.w.AllIdle()
		}
	}
	t.chain.idle = t.chain.idle && timed == 1 && one
	if timed == 0 {
		return nil
	}
	return t.chain.watermark(w)
}

func (t *Task) barrier(ctx context.Context, b Barrier) (stop bool, err error) {
	if err := t.applyWatermark(); err != nil {
		return false, err
	}
	if err := t.chain.barrier(b); err != nil {
		return false, err
	}
	t.eager, t.first = b.Eager, false
	if err := t.sendAck(ctx, b); err != nil || b.Stop {
		return b.Stop, err
	}
	for _, p := range t.ports {
		clear(p.at)
		p.nAt = 0
	}
	return t.replay(ctx)
}

func (t *Task) sendAck(ctx context.Context, b Barrier) error {
	a := t.ack
	a.Epoch = b.Epoch
	t.chain.save(a)
	t.newAck()
	select {
	case t.acks <- a:
		return nil
	case <-ctx.Done():
		a.Done()
		return context.Cause(ctx)
	}
}

// replay takes what had come behind the barrier. A barrier in it ends the replay
// of its sender.
func (t *Task) replay(ctx context.Context) (bool, error) {
	for in, p := range t.ports {
		for s := range p.pend {
			q := p.pend[s]
			p.pend[s] = nil
			for i, m := range q {
				if p.at[s] {
					p.pend[s] = append(p.pend[s], q[i:]...)
					break
				}
				if stop, err := t.handle(ctx, m, in); err != nil || stop {
					return stop, err
				}
			}
		}
	}
	return false, nil
}
