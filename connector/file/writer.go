package file

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// writer writes the rows of one part. It has one file in work for each partition
// that has rows, of which some have a descriptor.
type writer struct {
	sink *sink
	part int
	enc  encoding
	by   *partitioner // nil: one partition

	files map[string]*partFile // in work, by partition
	open  []*partFile          // those with a descriptor
	uses  uint64
	held  int // bytes in memory, of all files
	// done are complete and durable, to become visible in this epoch.
	done []outFile
	// epoch is the one being written, begun how many files were begun in it; created:
	// the staging directory has names that are not durable.
	epoch   uint64
	begun   int
	created bool
	last    uint64 // an epoch in which files became visible
	ending  bool   // the epoch is the last

	rows []int32 // 0, 1, 2, …
	cols []*arrowbatch.Vec
	op   *arrowbatch.Vec
}

// heldBytes bounds what the files of a part hold in memory.
const heldBytes = 32 << 20

func (s *sink) Open(_ context.Context, part int) (connector.Writer, error) {
	enc, err := s.opts.encoding()
	if err != nil {
		return nil, err
	}
	w := &writer{sink: s, part: part, enc: enc, by: newPartitioner(&s.opts), files: map[string]*partFile{},
		epoch: uint64(s.after) + 1, last: s.man.head()}
	if part == 0 {
		w.done = s.held
	}
	return w, nil
}

// The words of the op column.
var opWords = [2]string{arrowbatch.Insert: "insert", arrowbatch.Delete: "delete"}

func (w *writer) Write(_ context.Context, b *arrowbatch.Batch) error {
	if b.Len == 0 {
		return nil
	}
	cols, err := w.columns(b)
	if err != nil {
		return err
	}
	if w.by != nil {
		groups := w.by.split(cols, b.Len)
		data := w.by.data(cols)
		for _, g := range groups {
			if err := w.put(g.dir, data, g.rows); err != nil {
				return err
			}
		}
		return w.relieve()
	}
	for i := len(w.rows); i < b.Len; i++ {
		w.rows = append(w.rows, int32(i))
	}
	return w.put("", cols, w.rows[:b.Len])
}

// columns returns the batch's columns with that of the op.
func (w *writer) columns(b *arrowbatch.Batch) ([]*arrowbatch.Vec, error) {
	if !w.sink.opts.op {
		if !b.AppendOnly() {
			return nil, sqlerr.New(sqlerr.FeatureNotSupported, "a file sink without op_column cannot take a deleted row").
				AsPermanent()
		}
		return b.Cols, nil
	}
	if w.op == nil {
		w.op = arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	}
	w.op.Resize(0)
	for i := range b.Len {
		w.op.AppendString(opWords[b.OpAt(i)])
	}
	w.cols = append(append(w.cols[:0], b.Cols...), w.op)
	return w.cols, nil
}

// put writes rows to the file in work of a partition, and to others after it as files
// become full.
func (w *writer) put(dir string, cols []*arrowbatch.Vec, rows []int32) error {
	limit := w.sink.opts.maxSize
	for len(rows) > 0 {
		p := w.files[dir]
		if p == nil {
			var err error
			if p, err = w.begin(dir); err != nil {
				return err
			}
		}
		n, err := p.out.write(cols, rows, limit)
		if err != nil {
			return err
		}
		p.Rows += int64(n)
		rows = rows[n:]
		w.count(p)
		if p.out.size() >= limit {
			if err := w.end(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// count counts what a file holds in memory.
func (w *writer) count(p *partFile) {
	n := p.out.held()
	w.held += n - p.held
	p.held = n
}

// begin begins a file of a partition.
func (w *writer) begin(dir string) (*partFile, error) {
	if err := w.sink.claim(nil); err != nil {
		return nil, err
	}
	p := &partFile{w: w, key: dir, begun: clock.Micros(w.sink.clock),
		outFile: outFile{Name: w.fileName(), Dir: dir, First: w.epoch}}
	var err error
	if p.out, err = w.enc.create(p); err != nil {
		return nil, err
	}
	w.begun++
	w.files[p.key] = p
	return p, nil
}

// fileName is the name of the next file: no two of a sink have the same.
func (w *writer) fileName() string {
	if w.begun == 0 && !w.sink.opts.numbered() {
		return fmt.Sprintf("part-%010d-%03d.%s", w.epoch, w.part, w.enc.ext())
	}
	return fmt.Sprintf("part-%010d-%03d-%05d.%s", w.epoch, w.part, w.begun, w.enc.ext())
}

// end completes a file: it becomes visible with this epoch.
func (w *writer) end(p *partFile) error {
	err := p.out.close()
	if err == nil {
		err = p.sync()
	}
	if serr := p.shut(); err == nil {
		err = serr
	}
	if err != nil {
		return err
	}
	return w.ended(p)
}

// ended moves a file that is complete and durable to those of the epoch.
func (w *writer) ended(p *partFile) error {
	if final := w.sink.final(&p.outFile); exists(final) {
		return inTheWay(final)
	}
	w.held -= p.held
	delete(w.files, p.key)
	w.done = append(w.done, p.outFile)
	return nil
}

// makeRoom gives back the descriptor that has not been used for the longest where
// there are as many as there may be.
func (w *writer) makeRoom() error {
	if len(w.open) < w.sink.opts.maxOpen {
		return nil
	}
	return slices.MinFunc(w.open, func(a, b *partFile) int { return cmp.Compare(a.used, b.used) }).shut()
}

// relieve writes out the files that hold most when all hold too much. A file that
// cannot be cut is completed, which is how it gives back what it holds.
func (w *writer) relieve() error {
	if w.held <= w.sink.opts.heldBytes {
		return nil
	}
	files := slices.SortedFunc(maps.Values(w.files), func(a, b *partFile) int {
		return cmp.Or(cmp.Compare(b.held, a.held), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range files {
		if w.held <= w.sink.opts.heldBytes/2 {
			return nil
		}
		if !w.enc.cuttable() {
			if err := w.end(p); err != nil {
				return err
			}
			continue
		}
		if err := p.out.flush(); err != nil {
			return err
		}
		w.count(p)
	}
	return nil
}

// Finish tells that the epoch is the last: its files are not kept open.
func (w *writer) Finish() { w.ending = true }

// Due is when the oldest file in work must become visible, in microseconds since the
// Unix epoch; MaxInt64: none is in work.
func (w *writer) Due() int64 {
	due := int64(math.MaxInt64)
	for _, p := range w.files {
		due = min(due, p.begun+w.sink.opts.roll.Microseconds())
	}
	return due
}

// rolls tells whether a file is complete at the end of an epoch.
func (w *writer) rolls(p *partFile, now int64) bool {
	return w.ending || !w.enc.cuttable() || w.sink.opts.roll == 0 || now-p.begun >= w.sink.opts.roll.Microseconds()
}

// Prepare makes the epoch's rows durable, and completes the files whose time has
// come.
func (w *writer) Prepare(_ context.Context, e connector.Epoch) ([]byte, error) {
	if uint64(e) != w.epoch {
		return nil, sqlerr.Internal("file: epoch %d is prepared as epoch %d", w.epoch, e)
	}
	files := slices.SortedFunc(maps.Values(w.files), func(a, b *partFile) int { return cmp.Compare(a.Name, b.Name) })
	out := prepared{Version: manifestVersion, Last: w.last}
	if err := w.settle(files); err != nil {
		return nil, err
	}
	now := int64(0)
	if w.sink.opts.roll > 0 && len(files) > 0 {
		now = clock.Micros(w.sink.clock)
	}
	for _, p := range files {
		if !w.rolls(p, now) {
			out.Open = append(out.Open, p.outFile)
			continue
		}
		if err := p.shut(); err != nil {
			return nil, err
		}
		if err := w.ended(p); err != nil {
			return nil, err
		}
	}
	if w.created {
		if err := w.sink.disk.syncDir(w.sink.staging("")); err != nil {
			return nil, err
		}
		w.created = false
	}
	out.Done = w.done
	raw, err := json.Marshal(&out)
	if err != nil {
		return nil, err
	}
	if len(w.done) > 0 {
		w.last = w.epoch
	}
	w.done, w.begun, w.ending, w.epoch = nil, 0, false, w.epoch+1
	return raw, nil
}

// settle writes out all files and syncs them.
func (w *writer) settle(files []*partFile) error {
	for _, p := range files {
		var err error
		if w.enc.cuttable() {
			err = p.out.flush()
		} else {
			err = p.out.close()
		}
		if err != nil {
			return err
		}
		w.count(p)
	}
	return together(len(files), func(i int) error { return files[i].sync() })
}

// Close removes the files that are in no checkpoint.
func (w *writer) Close() error {
	for _, p := range slices.Clone(w.open) {
		_ = p.f.Close() // its content is in a checkpoint or given up
	}
	for _, p := range w.files {
		w.drop(&p.outFile)
	}
	for i := range w.done {
		w.drop(&w.done[i])
	}
	w.files, w.open, w.done = nil, nil, nil
	if w.op != nil {
		w.op.Release()
		w.op = nil
	}
	return nil
}

// drop removes a file that was begun in the epoch that is given up.
func (w *writer) drop(f *outFile) {
	if f.First == w.epoch {
		_ = os.Remove(w.sink.staging(f.Name)) // else Abort removes it
	}
}
