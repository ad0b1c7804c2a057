package exec

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
)

// order tells a pump how far to read.
type order struct {
	until   connector.Offset
	maxRows int // 0: no limit
	// follow: when idle, stay and ask again instead of reporting the bound.
	follow bool
}

// pumped is what a pump brings: a batch with the offset after it, or a state.
type pumped struct {
	split int
	batch *arrowbatch.Batch
	next  connector.Offset
	// atBound: the order is carried out. ended: the split has no more rows ever.
	atBound, ended, idle, cut bool
	err                       error
	bad                       []connector.BadRow // met in this read
}

// pump reads one split ahead of its task: reading and decoding run beside the
// operators.
type pump struct {
	split  connector.Split
	index  int
	source connector.Source
	from   connector.Offset
	orders chan order
	out    chan<- pumped
	bad    BadRows
}

func (p *pump) run(ctx context.Context) error {
	r, err := p.source.Open(ctx, p.split, p.from)
	if err != nil {
		return p.deliver(ctx, pumped{err: fmt.Errorf("split %s: %w", p.split.ID, err)})
	}
	defer r.Close()
	var o order
	for {
		select {
		case o = <-p.orders:
		case <-ctx.Done():
			return nil
		}
		if err := p.carryOut(ctx, r, o); err != nil {
			return err
		}
	}
}

// carryOut reads until the order is done or another takes its place.
func (p *pump) carryOut(ctx context.Context, r connector.Reader, o order) error {
	rows := 0
	for {
		b, next, err := r.Read(ctx, o.until)
		if ctx.Err() != nil {
			b.Release()
			return nil
		}
		m := pumped{batch: b, next: next}
		if p.bad != nil {
			m.bad = p.bad.Take(p.split.ID)
		}
		if b != nil {
			rows += b.Len
		}
		rows += len(m.bad)
		switch {
		case errors.Is(err, connector.ErrEnd):
			m.atBound, m.ended = true, o.until == ""
		case errors.Is(err, connector.ErrIdle):
			m.idle = true
			m.atBound = !o.follow && o.until == ""
		case err != nil:
			b.Release()
			return p.deliver(ctx, pumped{err: fmt.Errorf("split %s: %w", p.split.ID, err)})
		case o.maxRows > 0 && rows >= o.maxRows && next != "":
			// Only where the reader stands at an offset: not amid a snapshot.
			m.atBound, m.cut = true, o.until != "" || p.source.Bounded()
		}
		if err := p.deliver(ctx, m); err != nil || m.atBound {
			return err
		}
		select {
		case o = <-p.orders:
			rows = 0
		default:
		}
	}
}

func (p *pump) deliver(ctx context.Context, m pumped) error {
	m.split = p.index
	select {
	case p.out <- m:
		return nil
	case <-ctx.Done():
		m.batch.Release()
		return nil
	}
}
