package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	// maxRows and maxRowBytes bound one batch.
	maxRows     = 8192
	maxRowBytes = 4 << 20
	// idlePoll is how long Read waits for records, where its context does not tell.
	idlePoll = 100 * time.Millisecond
	// settlePoll is how long Read tries to find out where the partition begins.
	settlePoll = time.Second
)

// reader reads one partition.
type reader struct {
	src       *source
	split     string
	partition int32
	sub       *subscription // nil until the offset to begin at is known

	// pos is the next offset: everything below is consumed. told is the highest
	// offset that Read returned.
	pos, told int64
	end       int64

	dec    *format.Decoder
	meta   metaWriter
	cur    *recordSet
	rest   []byte // of cur: the batches not begun
	filter abortFilter
	batch  batchHeader
	left   int    // records of the batch not parsed
	recs   []byte // their bytes
	unpack []byte // what recs points to for a compressed batch
	held   int64  // bytes of unpack that the budget knows of
	bytes  int    // decoded since the last Take
	bad    int    // records left out since then
	oldest int64  // timestamp of the rows decoded since then, in milliseconds; 0: none
}

// Read returns the next rows; see connector.Reader.
func (r *reader) Read(ctx context.Context, until connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	if err := r.settle(ctx); err != nil {
		return nil, r.tell(r.pos), err
	}
	if r.sub == nil {
		return r.dec.Take(), r.tell(r.pos), nil
	}
	bound := r.end
	if until != "" {
		n, err := parseOffset(until)
		if err != nil {
			return nil, offsetText(r.told), err
		}
		bound = min(bound, n)
	}
	if r.pos >= bound && r.pos < r.end && r.cur == nil {
		// Even here it must be told that the records before were never all there.
		if err := r.relocate(); err != nil {
			return nil, r.tell(bound), err
		}
	}
	if r.pos >= bound {
		return nil, r.tell(bound), connector.ErrEnd
	}
	if r.cur == nil {
		if err := r.await(ctx); err != nil {
			return nil, r.tell(bound), err
		}
		if r.cur == nil {
			return r.dec.Take(), r.tell(bound), nil
		}
	}
	entered := r.cur.arrived
	if err := r.decode(ctx, bound); err != nil {
		return nil, r.tell(bound), err
	}
	b := r.dec.Take()
	b.Entered = entered
	b.Appended = r.oldest * 1000
	r.bytes, r.bad, r.oldest = 0, 0, 0
	return b, r.tell(bound), nil
}

// tell returns the offset to report, which never goes back; "" while it is not
// known where the partition begins.
func (r *reader) tell(bound int64) connector.Offset {
	if r.pos < 0 {
		return ""
	}
	r.told = max(r.told, min(r.pos, bound))
	return offsetText(r.told)
}

// Close ends the reader.
func (r *reader) Close() error {
	if r.sub != nil {
		r.sub.close()
	}
	r.drop()
	putBuffer(r.unpack)
	r.unpack = nil
	r.hold()
	r.dec.Take().Release()
	return nil
}

// settle finds out where the partition begins and ends, and subscribes, unless the
// brokers are away.
func (r *reader) settle(ctx context.Context) error {
	if r.sub != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, settlePoll)
	defer cancel()
	start, end, err := r.src.bounds(limited, r.partition, r.pos)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && !errors.Is(ctx.Err(), context.Canceled) {
			return nil
		}
		return err
	}
	if r.pos >= 0 && r.src.cl.isAnother() {
		r.noteAnother(r.pos, start)
	}
	r.pos, r.told, r.end = start, start, end
	r.sub = r.src.fetch.subscribe(r.partition, start)
	r.src.mu.Lock()
	defer r.src.mu.Unlock()
	if r.src.settled == nil {
		r.src.settled = map[int32]bool{}
	}
	r.src.settled[r.partition] = true
	return nil
}

// await takes the next record set, waiting for it a little. Without an error and
// without a record set it is not known whether there is one: the broker is away,
// and the partition must not count as idle.
func (r *reader) await(ctx context.Context) error {
	var timeout <-chan time.Time
	for {
		set, err := r.sub.pop()
		if err != nil {
			return err
		}
		if set != nil {
			r.begin(set)
			return nil
		}
		if timeout == nil {
			c, stop := clock.System{}.After(idlePoll)
			defer stop()
			timeout = c
		}
		select {
		case <-r.sub.ready:
		case <-timeout:
			return r.nothing()
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return r.nothing()
			}
			return ctx.Err()
		}
	}
}

func (r *reader) nothing() error {
	if r.sub.idle() {
		return connector.ErrIdle
	}
	return nil
}

func (r *reader) begin(set *recordSet) {
	r.cur, r.rest, r.left = set, set.data, 0
	r.filter.reset(set.aborted)
	if !set.moves {
		return
	}
	r.pos = set.jump
	if set.lost != nil {
		r.told = set.jump // it may lie before
		if r.src.spec.BadRows != nil {
			r.src.spec.BadRows.Add(*set.lost)
		}
	}
}

// relocate takes the error or the jump that a reader at its bound would otherwise
// meet when there is more to read.
func (r *reader) relocate() error {
	set, err := r.sub.popLoss()
	if set != nil {
		r.begin(set)
		r.drop()
	}
	return err
}

// drop gives back the record set in work.
func (r *reader) drop() {
	if r.cur != nil {
		r.src.fetch.free(r.cur.data)
	}
	r.cur, r.rest, r.recs, r.left = nil, nil, nil, 0
	r.shrink()
}

// fill decodes records below bound until the batch is full or the record set is
// read. An error is met with no rows in hand: rows before it go out first.
func (r *reader) fill(bound int64) error {
	for r.dec.Len()+r.bad < maxRows && r.bytes < maxRowBytes {
		if r.left == 0 {
			more, err := r.nextBatch()
			if err != nil && r.dec.Len() > 0 {
				return nil
			}
			if err != nil || !more {
				return err
			}
			continue
		}
		var rec record
		rest, ok := nextRecord(r.recs, &rec)
		if !ok {
			if r.dec.Len() > 0 {
				return nil
			}
			return r.where(corrupt(r.batch.base, "its records are malformed"))
		}
		offset := r.batch.base + rec.offsetDelta
		if offset >= bound {
			r.pos = max(r.pos, offset)
			return nil
		}
		if offset >= r.pos {
			if done, err := r.row(&rec, offset); !done || err != nil {
				return err
			}
			r.pos = offset + 1
		}
		r.recs = rest
		if r.left--; r.left == 0 {
			r.pos = max(r.pos, r.batch.last+1)
		}
	}
	return nil
}

// row decodes one record. done is false if it must be met again: it is bad and
// there are rows before it.
func (r *reader) row(rec *record, offset int64) (done bool, err error) {
	if rec.value == nil && r.dec.Keys() == nil {
		return true, nil // a tombstone says nothing where keys are not read
	}
	ms := r.batch.baseTime + rec.timeDelta
	if r.batch.attributes&attrLogAppendTime != 0 {
		ms = r.batch.maxTime
	}
	bad := r.meta.check(rec)
	var reason error = bad
	rows := r.dec.Len()
	if bad == nil {
		reason = r.dec.AppendRecord(rec.key, rec.value)
	}
	if unknown, ok := reason.(*format.UnknownSchema); ok {
		if r.dec.Len() > 0 {
			return false, nil // the rows before it go out first
		}
		return false, unknown
	}
	if reason == nil {
		if r.dec.Len() > rows {
			r.meta.add(r.dec, rec, r.partition, offset, ms)
			if ms > 0 && (r.oldest == 0 || ms < r.oldest) {
				r.oldest = ms
			}
		}
		r.bytes += len(rec.value) + len(rec.key)
		return true, nil
	}
	if r.leaveOut(rec, offset, ms, reason) {
		return true, nil
	}
	if r.dec.Len() > 0 {
		return false, nil
	}
	return false, sqlerr.New(sqlerr.CodeOf(reason),
		`could not read the record at offset %d of partition %d of topic "%s": %s`,
		offset, r.partition, r.src.cfg.topic, reason).
		WithHint("FORMAT … (on_error = 'skip') leaves out such records and keeps them in streamsql.bad_rows.").
		AsPermanent()
}

// nextBatch goes to the next batch with rows; more is false at the end of the
// record set.
func (r *reader) nextBatch() (more bool, err error) {
	for {
		h, n, err := nextBatch(r.rest)
		if err != nil {
			return false, r.where(err)
		}
		if n == 0 {
			r.drop()
			return false, nil
		}
		if h.last < r.pos {
			// Below the offset that was asked for; markers in it still count.
			r.filter.skip(&h)
			r.rest = r.rest[n:]
			continue
		}
		recs := h.body
		if r.filter.skip(&h) || h.count == 0 {
			r.rest = r.rest[n:]
			r.pos = h.last + 1
			continue
		}
		if h.codec() != noCompression {
			r.shrink()
			r.unpack, err = unpack(r.unpack[:0], &h, int(r.src.cfg.batchBytes))
			r.hold()
			if err != nil {
				return false, r.where(err)
			}
			recs = r.unpack
		}
		r.rest = r.rest[n:]
		r.batch, r.recs, r.left = h, recs, h.count
		return true, nil
	}
}

// shrink lets go of a buffer that a batch of uncommon size has made: there may be many
// readers.
func (r *reader) shrink() {
	if cap(r.unpack) > keptUnpacked {
		r.unpack = nil
		r.hold()
	}
}

// hold tells the budget of the buffer of unpacked records.
func (r *reader) hold() {
	n := int64(cap(r.unpack))
	if d := n - r.held; d > 0 {
		r.src.fetch.budget.take(d)
	} else {
		r.src.fetch.budget.give(-d)
	}
	r.held = n
}

// where adds topic and partition to an error about a batch.
func (r *reader) where(err error) error {
	e := sqlerr.From(err)
	if errors.Is(err, errUnpacked) {
		e.Message += fmt.Sprintf(` (partition %d of topic "%s")`, r.partition, r.src.cfg.topic)
	}
	return e.WithWhere(`partition %d of topic "%s"`, r.partition, r.src.cfg.topic)
}

// never is the end of a partition that has none.
const never = math.MaxInt64
