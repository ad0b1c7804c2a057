package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// EmitMode is an output mode.
type EmitMode uint8

// The output modes, numbered as in the physical plan.
const (
	UpdateMode EmitMode = iota
	AppendMode
	CompleteMode
	ChangelogMode
)

// Emit turns changes into what the output mode shows. It is the only operator that
// knows output modes.
//
// Changes of one epoch (where results are eager: of one batch) are made net: at
// most one Delete and one Insert a key, or a row. In update mode, where the
// receiver wants upserts, the Delete of a row that is replaced is left out.
// Complete mode keeps the result and sends all of it at each barrier.
type Emit struct {
	base
	Mode EmitMode
	// Key holds the columns by which rows are recognised; nil: the whole row.
	Key []int
	// Upsert leaves out the Delete before an Insert of the same key.
	Upsert bool
	// AppendOnly: no deletes come in, nothing needs to be made net.
	AppendOnly bool
	Shapes     []arrowbatch.Shape
	// Order is the order in which complete mode sends the rows; nil: none.
	Order []SortKey

	// Budget is how many bytes of the result complete mode may hold in memory; nil: any
	// number. It is asked at barriers.
	Budget func() int

	held []*arrowbatch.Batch
	res  wholeResult // complete mode
}

// Open restores the result of complete mode.
func (e *Emit) Open(rt *exec.Runtime, out exec.Output) error {
	if err := e.base.Open(rt, out); err != nil {
		return err
	}
	if e.Mode != CompleteMode {
		return nil
	}
	return e.openResult()
}

// ProcessBatch passes or holds changes.
func (e *Emit) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	if e.Mode == AppendMode || e.AppendOnly && e.Mode != CompleteMode {
		return e.out.Emit(b)
	}
	e.held = append(e.held, b)
	if e.rt.Eager && e.Mode != CompleteMode {
		return e.flush()
	}
	return nil
}

// ProcessBarrier sends the epoch's net changes, or the whole result.
func (e *Emit) ProcessBarrier(exec.Barrier) error {
	if e.Mode == CompleteMode {
		return e.complete()
	}
	return e.flush()
}

// net is what a key's changes come to: the row that was there before, the row
// that is there now.
type net struct {
	old, now       ref
	hasOld, hasNow bool
	n              int64 // without key: the row's count changed by n
}

type ref struct {
	b *arrowbatch.Batch
	i int
}

func (e *Emit) flush() error {
	if len(e.held) == 0 {
		return nil
	}
	held := e.held
	e.held = nil
	defer func() {
		for _, b := range held {
			b.Release()
		}
	}()
	at := map[string]int{}
	var nets []net
	var key []byte
	for _, b := range held {
		for i := range b.Len {
			key = e.appendKey(key[:0], b, i)
			k, ok := at[string(key)]
			if !ok {
				k = len(nets)
				at[string(key)] = k
				nets = append(nets, net{})
			}
			nets[k].take(ref{b, i}, b.OpAt(i), !ok)
		}
	}
	out := arrowbatch.NewLike(e.Shapes)
	for k := range nets {
		e.send(out, &nets[k])
	}
	if out.Len == 0 {
		out.Release()
		return nil
	}
	return e.out.Emit(out)
}

func (e *Emit) appendKey(dst []byte, b *arrowbatch.Batch, i int) []byte {
	if e.Key == nil {
		return arrowbatch.AppendRow(dst, b.Cols, i)
	}
	for _, k := range e.Key {
		dst = b.Cols[k].AppendKey(dst, i)
	}
	return dst
}

func (n *net) take(r ref, op arrowbatch.Op, first bool) {
	if op == arrowbatch.Delete {
		n.n--
		if first {
			n.old, n.hasOld = r, true
		}
		n.hasNow = false
		n.now = r
		return
	}
	n.n++
	n.now, n.hasNow = r, true
}

func (e *Emit) send(out *arrowbatch.Batch, n *net) {
	if e.Key == nil {
		op := arrowbatch.Insert
		if n.n < 0 {
			op, n.n = arrowbatch.Delete, -n.n
		}
		for ; n.n > 0; n.n-- {
			appendRef(out, n.now, op)
		}
		return
	}
	if n.hasOld && n.hasNow && n.old.same(n.now) {
		return
	}
	if n.hasOld && !(e.Upsert && n.hasNow) {
		appendRef(out, n.old, arrowbatch.Delete)
	}
	if n.hasNow {
		appendRef(out, n.now, arrowbatch.Insert)
	}
}

func (r ref) same(o ref) bool {
	return bytes.Equal(arrowbatch.AppendRow(nil, r.b.Cols, r.i), arrowbatch.AppendRow(nil, o.b.Cols, o.i))
}

func appendRef(out *arrowbatch.Batch, r ref, op arrowbatch.Op) {
	for k, c := range out.Cols {
		c.AppendFrom(r.b.Cols[k], r.i)
	}
	out.AppendOp(op)
}

// Close frees what is held.
func (e *Emit) Close() {
	for _, b := range e.held {
		b.Release()
	}
	e.held = nil
}
