package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// ProjectSet calls functions that return rows for each row, and gives the row
// once per row of the longest call, with the calls' columns at the end. A row
// of which a call fails is left out whole.
type ProjectSet struct {
	base
	Calls []SetFunc

	run  *setRun
	from []int32 // input row of each pending output row
}

// Open readies the calls.
func (p *ProjectSet) Open(rt *exec.Runtime, out exec.Output) error {
	calls, err := newSetCalls(rt.Eval, p.Calls)
	if err != nil {
		return err
	}
	p.run = newSetRun(calls)
	return p.base.Open(rt, out)
}

// ProcessBatch expands rows.
func (p *ProjectSet) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	args := make([][]*arrowbatch.Vec, len(p.run.calls))
	bad := map[int32]*sqlerr.Error{}
	for k, c := range p.run.calls {
		args[k] = c.eval(b)
		for _, e := range p.rt.Eval.TakeErrors() {
			if bad[e.Row] == nil {
				bad[e.Row] = c.renamed(e.Err)
			}
		}
	}
	defer func() {
		for _, vs := range args {
			for _, v := range vs {
				v.Release()
			}
		}
	}()
	for i := range b.Len {
		err := bad[int32(i)]
		if err == nil {
			var stop error
			if err, stop = p.row(b, args, i); stop != nil {
				return stop
			}
		}
		if err != nil {
			if e := p.rt.Fail(p.rt, b, []expr.RowError{{Row: int32(i), Err: err}}); e != nil {
				return e
			}
		}
	}
	return p.flush(b)
}

// row expands one row. In a finite read its rows leave as they come, else only
// when it is known that no call fails.
func (p *ProjectSet) row(b *arrowbatch.Batch, args [][]*arrowbatch.Vec, i int) (failed *sqlerr.Error, stop error) {
	start := p.run.n
	err := p.run.begin(args, i)
	for err == nil {
		if err := p.rt.Ctx.Err(); err != nil {
			return nil, err
		}
		room := max(chunkRows-p.run.n, 1)
		if p.rt.Store != nil {
			room = chunkRows
		}
		var n int
		if n, err = p.run.step(room); err != nil {
			break
		}
		for range n {
			p.from = append(p.from, int32(i))
		}
		if p.run.n >= chunkRows && (p.rt.Store == nil || n < room) {
			if err := p.flush(b); err != nil {
				return nil, err
			}
			start = 0
		}
		if n < room {
			return nil, nil
		}
	}
	p.run.cut(start)
	p.from = p.from[:start]
	return sqlerr.From(err), nil
}

func (p *ProjectSet) flush(b *arrowbatch.Batch) error {
	if p.run.n == 0 {
		return nil
	}
	out := b.Take(p.from)
	out.Cols = append(out.Cols, p.run.outs...)
	p.from = p.from[:0]
	p.run.reset()
	return p.out.Emit(out)
}

// Close frees the pending columns.
func (p *ProjectSet) Close() {
	if p.run != nil {
		p.run.release()
	}
}
