package exec

import (
	"context"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// Barrier ends an epoch.
type Barrier struct {
	Epoch uint64
	// Now is what now() is in this epoch, in microseconds since the Unix epoch. Where
	// results are eager, each read of a source has its own.
	Now int64
	// Eager is for the next epoch: true sends results on as they arise, false holds
	// them to the barrier.
	Eager bool
	// Stop: the last barrier of this run.
	Stop bool
	// Final: the inputs have ended for good; nothing will change any more.
	Final bool
}

// Output takes what an operator emits.
type Output interface {
	// Emit takes b over; it blocks under backpressure. ErrStop: no more rows are
	// wanted.
	Emit(b *arrowbatch.Batch) error
}

// Operator is a step of a plan. One goroutine calls all five methods.
type Operator interface {
	// Open readies the operator, restoring its state from rt.Store if it has any.
	// Results go to out.
	Open(rt *Runtime, out Output) error
	// ProcessBatch takes rows of one input (0, 1, …) over.
	ProcessBatch(input int, b *arrowbatch.Batch) error
	// ProcessWatermark is told the combined watermark of the inputs when it has
	// risen, and returns the watermark of the output. What the watermark completes
	// is emitted here.
	ProcessWatermark(w arrowbatch.EventTime) (forward arrowbatch.EventTime, err error)
	// ProcessBarrier ends the epoch: what was held back is emitted, what changed is
	// written to rt.Delta.
	ProcessBarrier(b Barrier) error
	// Close frees what Open took. It is called once, also after an error.
	Close()
}

// Runtime is what an operator gets from its task.
type Runtime struct {
	Ctx context.Context
	// Table names the operator's state; Store is nil in a finite read, where
	// nothing is kept.
	Table state.TableID
	Store *state.Store
	// Eval is the operator's own evaluation context; Eval.Now moves with the epochs,
	// or with the reads where results are eager.
	Eval  *expr.Ctx
	Clock clock.Clock
	// Part of Parts parallel tasks; the task owns the vnodes v with Owns(v).
	Part, Parts int
	// Eager: results leave as they arise.
	Eager bool
	// Replay: the operator gives all that it holds in the first epoch, as if none of it
	// had left before.
	Replay bool
	// Fail takes the rows of b that failed, with their ops. In a finite read it
	// returns the first error, which ends the read; in a continuous query it
	// records them and returns nil.
	Fail func(rt *Runtime, b *arrowbatch.Batch, errs []expr.RowError) error
	// KeepLate is how many late rows of an epoch go with its acknowledgement: the
	// last ones; 0: they are counted only; KeepAll.
	KeepLate int
	// Row describes the columns of the first input, to show rows with.
	Row []types.Field
	// Stats are the operator's counters.
	Stats *OpStats
	// Times are the columns that the watermark bounds in the operator's output,
	// InTimes those in its inputs. Checked builds alone have them.
	Times   []TimeBound
	InTimes [][]TimeBound

	delta *state.Delta
	ack   *Ack
}

// Owns tells whether this task keeps the keys of a vnode.
func (rt *Runtime) Owns(vnode byte) bool { return int(vnode)*rt.Parts/state.Vnodes == rt.Part }

// Begin begins an epoch: what the operator leaves of it goes into a.
func (rt *Runtime) Begin(a *Ack) { rt.ack, rt.delta = a, a.Delta }

// Delta is where the operator's changes of this epoch go; nil in a finite read.
func (rt *Runtime) Delta() *state.Delta { return rt.delta }

// SavePrepared puts what a sink's writer prepared into the checkpoint.
func (rt *Runtime) SavePrepared(op string, p []byte) {
	if rt.ack != nil {
		rt.ack.Prepared[op] = append(rt.ack.Prepared[op], p)
	}
}

// WakeAt asks for an epoch at a time, in microseconds since the Unix epoch, though no
// row may come. It is to be asked anew at each barrier.
func (rt *Runtime) WakeAt(at int64) {
	if rt.ack != nil {
		rt.ack.Wake = min(rt.ack.Wake, at)
	}
}

// ChoreAt asks for an epoch at a time as WakeAt does, for something that changes no
// result: a query that has nothing else to wait for ends without it.
func (rt *Runtime) ChoreAt(at int64) {
	if rt.ack != nil {
		rt.ack.Chore = min(rt.ack.Chore, at)
	}
}

// AfterCommit runs fn when the epoch's commit has ended, well or not.
func (rt *Runtime) AfterCommit(fn func()) {
	if rt.ack != nil {
		rt.ack.done = append(rt.ack.done, fn)
	}
}

// OpStats counts what an operator did since its query was created. The owner adds
// at batch ends; readers may be anywhere.
type OpStats struct {
	Name string
	ID   int
	// First and Second are set in the phases of an operator that runs in two: what
	// goes between them is neither its input nor its output.
	First, Second bool

	rowsIn, rowsOut, late, partial, nullTime,
	dups, failed, groups, bytes counter
	deadLetters counter
	due         counter // as Due keeps it
}
