package exec

import (
	"context"
	"reflect"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/clock"
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

func newPort(senders int, in *Input) *port {
	p := &port{ch: make(chan message, edgeCapacity), senders: senders, timed: in.Timed, w: NewMeeting(senders),
		at: make([]bool, senders), pend: make([][]message, senders)}
	p.w.Greatest = in.Greatest
	return p
}

func (p *port) aligned() bool { return p.nAt == p.senders }

// Gated is an operator with a static input that must be read up to the barrier
// before the other one in each epoch, or, when results are eager, in the first.
type Gated interface{ StaticInput() int }

// Task drives a chain with the messages of its ports, in one goroutine.
type Task struct {
	id    int
	part  int // which of its fragment's tasks
	name  string
	chain *chain
	ports []*port
	store *state.Store
	acks  chan<- *Ack
	clock clock.Clock
	// busy is how long the task was at work in the epoch, up to since, when it took up
	// what it is at.
	busy   time.Duration
	since  time.Time
	queued Latency                     // of what was read in the epoch
	saved  map[string]map[string]int64 // watermarks of the checkpoint
	ack    *Ack
	eager  bool
	first  bool
	gate   int // the static port, -1 for none
	sel    []reflect.SelectCase
	// greatest: see Fragment.Greatest.
	greatest bool
	// wms are the operators that make watermarks from rows, with their names in
	// checkpoints.
	wms    []WatermarkSource
	wmName []string
	steady bool // one of them is
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
	t.generators()
	for i, w := range t.wms { // the rows of a task that reads no source are one split
		w.Splits([]string{"task " + strconv.Itoa(t.part)}, t.saved[t.wmName[i]])
	}
	for {
		m, in, err := t.receive(ctx)
		if err != nil {
			return err
		}
		t.works()
		stop, err := t.handle(ctx, m, in)
		t.rests()
		if err != nil || stop {
			return err
		}
	}
}

// generators finds the operators that make watermarks from rows.
func (t *Task) generators() {
	for _, l := range t.chain.links {
		if w, ok := l.op.(WatermarkSource); ok {
			t.wms, t.wmName = append(t.wms, w), append(t.wmName, l.rt.Stats.Key())
			t.steady = t.steady || w.Steady()
			t.chain.stand = w.Standing
			if own, ok := t.saved[l.rt.Stats.Key()][""]; ok {
				t.chain.rest(own)
			}
		}
	}
}

func (t *Task) works() { t.since = t.clock.Now() }

func (t *Task) rests() { t.busy += t.clock.Now().Sub(t.since) }

func (t *Task) newAck() {
	t.ack = NewAck(t.id, t.store)
	for _, l := range t.chain.links {
		l.rt.Begin(t.ack)
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
	t.chain.at(max(m.now, t.chain.now))
	switch m.kind {
	case kindBatch:
		err := t.chain.batch(in, m.batch)
		if err == nil && t.eager && len(t.wms) > 0 {
			err = t.applyWatermark()
		}
		return false, err
	case kindWatermark:
		p.w.Stand(m.sender, m.watermark)
		p.w.Rest(m.floor)
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

// applyWatermark gives the watermark of the inputs to the chain. When all inputs
// have ended the chain is told first how far they had come, then that they have.
func (t *Task) applyWatermark() error {
	w, over, any := t.meet()
	if !any {
		return nil
	}
	if err := t.chain.watermark(w); err != nil || !over {
		return err
	}
	return t.chain.watermark(arrowbatch.MaxTime)
}

// meet puts the watermarks of the timed inputs together; with a generator in the
// chain those of all that are not static, since only their end counts. A task that
// goes on for one other is idle with it; where several meet, nobody is.
func (t *Task) meet() (w arrowbatch.EventTime, over, any bool) {
	n, one := 0, true
	all := arrowbatch.MaxTime
	var only *Meeting
	w, over = arrowbatch.MaxTime, true
	if t.greatest {
		w = arrowbatch.NoTime
	}
	for i, p := range t.ports {
		if !p.timed && (len(t.wms) == 0 || i == t.gate) {
			continue
		}
		n++
		one = one && p.senders == 1
		t.chain.idle = p.w.AllIdle()
		only = p.w
		ended := p.w.Look() == arrowbatch.MaxTime
		over = over && ended
		all = min(all, p.w.Last)
		switch {
		case t.greatest:
			w = max(w, p.w.Last)
		case !ended:
			w = min(w, p.w.Last)
		}
	}
	if over && !t.greatest {
		w = all
	}
	through := n == 1 && one && len(t.wms) == 0
	t.chain.idle = t.chain.idle && through
	if through && !t.greatest {
		t.chain.stand = only.standing
		t.chain.rest(only.Floor)
	}
	return w, over && n > 0, n > 0
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
	a.Epoch, a.Now, a.Name, a.Part = b.Epoch, t.chain.now, t.name, t.part
	t.rests()
	t.works()
	a.Busy, t.busy = t.busy, 0
	if t.chain.took != nil {
		a.Latencies, t.chain.took = t.chain.took, &Latencies{}
	}
	if t.queued.Rows > 0 {
		if a.Latencies == nil {
			a.Latencies = &Latencies{}
		}
		a.Latencies.Queuing, t.queued = t.queued, Latency{}
	}
	t.chain.save(a)
	for i, w := range t.wms {
		by, own := w.Reading()
		a.Watermarks[t.wmName[i]] = by
		a.Own[t.wmName[i]] = OwnWatermark{own, t.chain.idle && !w.Steady()}
	}
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
