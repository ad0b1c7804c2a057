package file

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// reader reads the files of one split.
type reader struct {
	src   *source
	split string
	dec   *format.Decoder
	// pos is the place after the last record decoded; its text is printed by text.
	pos  progress
	text printer
	// in is the file in work, nil between two; tab is it where files are tables.
	in  *input
	tab *table
	// work is what the listing says of it; lay is which columns it and its path have.
	work entry
	lay  *layout
	// next are the files to read after it, in order.
	next []entry
	// aim is the bound that next was made for, bound what it says; free: no bound.
	aim   connector.Offset
	bound progress
	free  bool
	list  int // the listing that next was made from
	// last is the text of the place.
	last connector.Offset
	// failed is an error that the next Read returns: rows before it go first.
	failed error
}

func (s *source) Open(_ context.Context, sp connector.Split, from connector.Offset) (connector.Reader, error) {
	pos, err := parseOffset(from)
	if err != nil {
		return nil, err
	}
	r := &reader{src: s, split: sp.ID, pos: pos}
	all, _, err := s.files()
	if err != nil {
		return nil, err
	}
	if s.many() {
		r.forget(all)
	}
	r.text.reset(r.pos.Done)
	if err := r.readies(pos.File, all); err != nil {
		return nil, err
	}
	if err := r.compare(all); err != nil {
		return nil, err
	}
	if pos.File != "" {
		if s.tables() {
			err = r.resumeTable()
		} else {
			r.in, err = s.resume(&r.pos, r.dec)
		}
		if err != nil {
			return nil, err
		}
	}
	r.last = r.offset()
	s.mu.Lock()
	s.readers[sp.ID] = r
	s.mu.Unlock()
	return r, nil
}

// forget drops the files read that are no longer there: they need not be
// remembered, and the offset stays short where files are moved away.
func (r *reader) forget(all []entry) {
	there := make(map[string]bool, len(all))
	for _, e := range all {
		there[e.name] = true
	}
	r.set(func(p *progress) {
		n := len(p.Done)
		if maps.DeleteFunc(p.Done, func(name string, _ int64) bool { return !there[name] }); len(p.Done) < n {
			r.text.reset(p.Done)
		}
	})
}

// compare tells whether the files read are what they were (invariant L1), where
// a new one could have been missed.
func (r *reader) compare(all []entry) error {
	if !r.src.watched() {
		return nil
	}
	for _, e := range after(all, r.pos.Epoch) {
		if size, ok := r.pos.Done[e.name]; ok && size != e.size {
			return changed(r.src.at.file(e.name), "has another size than when it was read")
		}
	}
	return nil
}

// set changes the progress, which Latest reads meanwhile.
func (r *reader) set(change func(p *progress)) {
	r.src.mu.Lock()
	defer r.src.mu.Unlock()
	change(&r.pos)
}

func (r *reader) Read(ctx context.Context, until connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	if r.failed != nil {
		return nil, r.last, r.failed
	}
	before := r.last
	if err := r.plan(until); err != nil {
		return nil, before, err
	}
	var b *arrowbatch.Batch
	var done bool
	var err error
	if r.src.tables() {
		b, done, err = r.fillTable(ctx)
	} else {
		done, err = r.fill(ctx)
	}
	r.last = r.offset()
	now := r.last
	if b != nil || r.dec != nil && r.dec.Len() > 0 || err == nil && now != before {
		r.failed = err
		if ctx.Err() != nil {
			r.failed = nil // the context's, not the files'
		}
		switch {
		case b != nil:
		case r.dec != nil:
			b = r.lay.widen(r.dec.Take())
		default:
			b = r.src.empty()
		}
		b.Entered = clock.Micros(r.src.spec.Clock)
		return b, now, nil
	}
	switch {
	case err != nil:
		return nil, now, err
	case done && (until != "" || r.src.Bounded()):
		return nil, now, connector.ErrEnd
	}
	if err := connector.WaitIdle(ctx, r.src.spec.Clock, r.src.opts.poll); err != nil {
		return nil, now, err
	}
	return nil, now, connector.ErrIdle
}

func (r *reader) offset() connector.Offset {
	switch {
	case r.in != nil:
		r.pos.At, r.pos.Check = r.in.place()
	case r.tab != nil:
		r.pos.At, r.pos.Check = r.tab.at, r.tab.id
	}
	return r.text.print(&r.pos)
}

// plan sets which files are read, for a new bound or a new listing.
func (r *reader) plan(until connector.Offset) error {
	if until != "" {
		if until == r.aim && !r.free {
			return nil
		}
		bound, err := parseOffset(until)
		if err != nil {
			return err
		}
		r.aim, r.bound, r.free = until, bound, false
	} else {
		if len(r.next) > 0 && r.free {
			return nil
		}
	}
	all, list, err := r.src.files()
	if err != nil {
		return err
	}
	if until == "" {
		if r.free && list == r.list {
			return nil
		}
		r.free = true
	}
	r.list = list
	if err := r.compare(all); err != nil {
		return err
	}
	r.next = r.next[:0]
	there := map[string]bool{}
	for _, e := range after(all, r.pos.Epoch) {
		there[e.name] = true
		if (r.free || r.wanted(e)) && r.src.mine(r.split, e.name) && r.fresh(e) {
			r.next = append(r.next, e)
		}
	}
	if !r.free {
		for name := range r.bound.Done {
			if !there[name] && r.src.mine(r.split, name) && r.fresh(entry{name: name}) {
				return removed(r.src.at.file(name))
			}
		}
		if f := (entry{name: r.bound.File}); f.name != "" && r.src.mine(r.split, f.name) && r.fresh(f) {
			r.next = append(r.next, f)
		}
	}
	if r.src.many() {
		r.forget(all)
	}
	r.src.sort(r.next)
	return nil
}

// fresh tells whether a file, which is this split's, has not been begun.
func (r *reader) fresh(e entry) bool {
	_, read := r.pos.Done[e.name]
	return !read && e.name != r.pos.File && (e.epoch == 0 || e.epoch > r.pos.Epoch)
}

// wanted tells whether a file lies within the bound.
func (r *reader) wanted(e entry) bool {
	_, named := r.bound.Done[e.name]
	return named || e.epoch > 0 && e.epoch <= r.bound.Epoch
}

// readies prepares the reader for the columns of a file, the first or the one in work.
func (r *reader) readies(name string, all []entry) (err error) {
	r.work = entry{name: name}
	for _, e := range all {
		if e.name == name {
			r.work = e
		}
	}
	if name != "" {
		r.lay, err = r.src.layoutOf(name, r.lay)
	} else {
		r.lay = &layout{inFile: r.src.spec.Columns}
	}
	if err == nil && !r.src.tables() {
		r.dec, err = r.src.opts.format.Decoder(r.lay.inFile)
	}
	return err
}

// turns prepares the reader for the columns of the next file; false: not before the
// rows of files with others have been taken.
func (r *reader) turns() (ok bool, err error) {
	l, err := r.src.layoutOf(r.next[0].name, r.lay)
	if err != nil || l == r.lay {
		return err == nil, err
	}
	if r.dec != nil {
		if r.dec.Len() > 0 {
			return false, nil
		}
		if !slices.Equal(l.inPath, r.lay.inPath) {
			if r.dec, err = r.src.opts.format.Decoder(l.inFile); err != nil {
				return false, err
			}
		}
	}
	r.lay = l
	return true, nil
}

// fill decodes records until a batch is full; done: nothing is left within the
// bound.
func (r *reader) fill(ctx context.Context) (done bool, err error) {
	size := 0
	for r.dec.Len() < r.src.opts.batchRows && size < r.src.opts.batchSize {
		if err := ctx.Err(); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return false, nil
			}
			return false, err
		}
		if r.in == nil {
			if len(r.next) == 0 {
				return true, nil
			}
			if ok, err := r.turns(); !ok {
				return false, err
			}
			if err := r.begin(); err != nil {
				return false, err
			}
			continue
		}
		n, state, err := r.in.decode(r.dec, r.limit(), r.src.opts.batchRows)
		if !r.in.skip { // the place has not moved on yet
			size += n
		}
		r.pos.At = r.in.at
		if bad := (*format.RecordError)(nil); errors.As(err, &bad) {
			err = r.bad(bad, n)
		}
		if err != nil {
			return false, err
		}
		switch state {
		case atFileEnd:
			if err := r.finish(); err != nil {
				return false, err
			}
		case atBound:
			return true, nil
		}
	}
	return false, nil
}

// limit is the place in the file in work that must not be passed, a byte or for a table
// a row; -1: its end.
func (r *reader) limit() int64 {
	if r.free {
		return -1
	}
	if r.bound.File == r.pos.File {
		return r.bound.At
	}
	if r.wanted(r.work) {
		return -1
	}
	return 0 // the bound lies before the file
}

// begin opens the next file.
func (r *reader) begin() error {
	name := r.next[0].name
	in, err := r.src.open(name)
	if err != nil {
		return err
	}
	if err := r.listed(in.f); err != nil {
		in.close()
		return err
	}
	r.work, r.next = r.next[0], r.next[1:]
	r.in = in
	r.set(func(p *progress) { p.File, p.At = name, 0 })
	_, err = in.begin(r.dec)
	r.pos.At = in.at
	if bad := (*format.RecordError)(nil); errors.As(err, &bad) {
		// No record of the file can be read.
		in.take(bad.End)
		r.pos.At = in.at
		if err := r.bad(bad, bad.End); err != nil {
			return err
		}
		return r.abandon()
	}
	return err
}

// listed makes sure that the next file is as long as the sink that wrote it says.
func (r *reader) listed(f *os.File) error {
	if r.next[0].epoch == 0 {
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return osError("stat file", f.Name(), err)
	}
	if st.Size() != r.next[0].size {
		return changed(f.Name(), "has another size than its sink has written")
	}
	return nil
}

// abandon ends the file in work without reading the rest of it.
func (r *reader) abandon() error {
	st, err := r.in.f.Stat()
	if err != nil {
		return osError("stat file", r.in.path, err)
	}
	r.leave(st.Size())
	return nil
}

// finish ends the file in work, all of which has been read.
func (r *reader) finish() error {
	size, err := r.in.end(r.src.watched())
	if err != nil {
		return err
	}
	if err := r.dec.End(); err != nil {
		bad := (*format.RecordError)(nil)
		if !errors.As(err, &bad) {
			return err
		}
		if err := r.bad(bad, 0); err != nil {
			return err
		}
	}
	r.leave(size)
	return nil
}

func (r *reader) leave(size int64) {
	name := r.pos.File
	_ = r.Close()
	r.set(func(p *progress) {
		r.text.add(name, size)
		p.Done[name] = size
		p.File, p.At, p.Check = "", 0, ""
	})
	r.pass(r.work)
}

// badBytes bounds what is kept of a bad record.
const badBytes = 64 << 10

// bad skips or fails at a bad record, the last n bytes read. When it fails, the
// place is before the record again.
func (r *reader) bad(e *format.RecordError, n int) error {
	start := r.pos.At - int64(n) + int64(e.Start) // in the file
	path := r.src.at.file(r.pos.File)
	if r.src.opts.format.OnError != "skip" {
		r.in.back(n - e.Before)
		r.pos.At = r.in.at
		return sqlerr.New(e.Err.Code, `could not read the record in line %d of file "%s": %s`, lineOf(path, start), path, e).
			WithWhere(`file "%s", byte %d`, path, start).
			WithHint("FORMAT … (on_error = 'skip') leaves out such records and keeps them in streamsql.bad_rows.").
			AsPermanent()
	}
	if r.src.spec.BadRows == nil {
		return nil
	}
	at := progress{File: r.pos.File, At: start}
	var t printer
	r.src.spec.BadRows.Add(connector.BadRow{
		Split: r.split, Offset: t.print(&at), Code: string(e.Err.Code), Reason: connector.ReasonText(e),
		Bytes: r.in.last(n, e.Start, min(e.End, e.Start+badBytes)), Micros: clock.Micros(r.src.spec.Clock),
	})
	return nil
}

// Close gives up the file in work.
func (r *reader) Close() error {
	if r.in != nil {
		r.in.close()
		r.in = nil
	}
	if r.tab != nil {
		r.tab.close()
		r.tab = nil
	}
	return nil
}

// tooLong is a record that does not fit into the buffer.
func tooLong(limit int) *sqlerr.Error {
	return sqlerr.New(sqlerr.ProgramLimitExceeded, "record is longer than %d bytes", limit).
		WithHint("Set max_record_bytes.")
}
