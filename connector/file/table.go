package file

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// table is an open file that is no sequence of records but a table: Parquet. A place
// in it is the number of a row.
type table struct {
	path string
	f    *os.File
	size int64
	p    *format.ParquetReader
	// at is the row to go on from, id tells the file from others.
	at int64
	id string
	// careful: rows are read one by one up to the damage in the row group in work.
	careful bool
}

// tables tells whether the source's files are tables.
func (s *source) tables() bool { return s.opts.format.Encode == format.Parquet }

// empty returns a batch without rows.
func (s *source) empty() *arrowbatch.Batch {
	shapes := make([]arrowbatch.Shape, len(s.spec.Columns))
	for i, c := range s.spec.Columns {
		shapes[i] = c.Type.Shape()
	}
	return arrowbatch.NewLike(shapes)
}

// openTable opens a file and reads what it says of itself. A file that is damaged is
// open with the error: only its size is known.
func (s *source) openTable(name string, cols []connector.Column) (*table, error) {
	f, path, err := s.file(name)
	if err != nil {
		return nil, err
	}
	t := &table{path: path, f: f}
	st, err := f.Stat()
	if err != nil {
		t.close()
		return nil, osError("stat file", path, err)
	}
	t.size = st.Size()
	t.p, err = format.NewParquetReader(f, t.size, connector.FormatColumns(cols), s.opts.format.Options)
	if err == nil {
		t.id = t.p.ID()
		return t, nil
	}
	if !damage(err) {
		t.close()
		return nil, osError("read file", path, err)
	}
	return t, err
}

// damage tells whether an error is about what is in the file, not about reading it.
func damage(err error) bool {
	var e *sqlerr.Error
	return errors.As(err, &e)
}

// resumeTable opens the file in work at its place.
func (r *reader) resumeTable() error {
	t, err := r.src.openTable(r.pos.File, r.lay.inFile)
	if err != nil {
		if t != nil {
			t.close()
			return changed(t.path, "was replaced after a part of it had been read")
		}
		return err
	}
	switch {
	case r.pos.Check != "" && t.id != r.pos.Check || t.p.NumRows() < r.pos.At:
		err = changed(t.path, "was replaced after a part of it had been read")
	default:
		if err = t.p.SeekRow(r.pos.At); err != nil {
			err = t.failure(err)
		}
	}
	if err != nil {
		t.close()
		return err
	}
	t.at, r.tab = r.pos.At, t
	return nil
}

// fillTable reads the next rows; without rows and done nothing is left within the
// bound.
func (r *reader) fillTable(ctx context.Context) (b *arrowbatch.Batch, done bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return nil, false, nil
			}
			return nil, false, err
		}
		if r.tab == nil {
			if len(r.next) == 0 {
				return nil, true, nil
			}
			if err := r.beginTable(); err != nil {
				return nil, false, err
			}
			continue
		}
		rows := int64(r.src.opts.batchRows)
		if limit := r.limit(); limit >= 0 {
			if rows = min(rows, limit-r.tab.at); rows <= 0 {
				return nil, true, nil
			}
		}
		b, err := r.readTable(int(rows))
		if errors.Is(err, io.EOF) {
			if err := r.finishTable(); err != nil {
				return nil, false, err
			}
			continue
		}
		if b != nil || err != nil {
			return r.lay.widen(b), false, err
		}
	}
}

// beginTable opens the next file.
func (r *reader) beginTable() error {
	name := r.next[0].name
	if _, err := r.turns(); err != nil {
		return err
	}
	t, err := r.src.openTable(name, r.lay.inFile)
	if t == nil {
		return err
	}
	if err := r.listed(t.f); err != nil {
		t.close()
		return err
	}
	if err != nil && r.src.opts.format.OnError != "skip" {
		t.close()
		return t.failure(err)
	}
	r.work, r.next = r.next[0], r.next[1:]
	r.tab = t
	r.set(func(p *progress) { p.File, p.At = name, 0 })
	if err != nil {
		r.badRow(0, "no row of the file can be read: "+err.Error(), nil)
		r.leave(t.size)
	}
	return nil
}

// finishTable ends the file in work, which must not have changed.
func (r *reader) finishTable() error {
	st, err := r.tab.f.Stat()
	if err != nil {
		return osError("stat file", r.tab.path, err)
	}
	if st.Size() != r.tab.size {
		return changed(r.tab.path, "changed while it was read")
	}
	r.leave(st.Size())
	return nil
}

// readTable reads up to limit rows, without those that are bad. No batch without an
// error: there was nothing but bad rows.
func (r *reader) readTable(limit int) (*arrowbatch.Batch, error) {
	t := r.tab
	if t.careful {
		limit = 1
	}
	group := t.p.Group()
	b, bad, err := t.p.Read(limit, r.src.opts.batchSize)
	switch {
	case errors.Is(err, io.EOF):
		return nil, err
	case err != nil && !damage(err):
		return nil, osError("read file", t.path, err)
	case err != nil && r.src.opts.format.OnError != "skip":
		return nil, t.failure(err)
	case err != nil && !t.careful:
		// What is before the damage is read, however the rows are cut into batches.
		t.careful = true
		if err := t.p.SeekRow(t.at); err != nil {
			return nil, t.failure(err)
		}
		return nil, nil
	case err != nil:
		t.p.SkipGroup()
		t.careful = false
		r.badRow(t.at, "the rest of the row group cannot be read: "+err.Error(), nil)
		t.at = t.p.Place()
		return nil, nil
	}
	if t.p.Group() != group {
		t.careful = false
	}
	at := t.at
	t.at = t.p.Place()
	if len(bad) == 0 {
		return b, nil
	}
	return r.without(b, bad, at)
}

// without returns the batch without its bad rows, or those before the first and why it
// cannot be read. at is the place of the batch.
func (r *reader) without(b *arrowbatch.Batch, bad []format.BadValue, at int64) (*arrowbatch.Batch, error) {
	defer b.Release()
	if r.src.opts.format.OnError != "skip" {
		e := bad[0]
		r.tab.at = at + int64(e.Row)
		err := sqlerr.New(e.Err.Err.Code, `could not read row %d of file "%s": %s`, r.tab.at, r.tab.path, e.Err).
			WithHint("FORMAT … (on_error = 'skip') leaves out such rows and keeps them in streamsql.bad_rows.").AsPermanent()
		if e.Row == 0 {
			return nil, err
		}
		return b.Slice(0, e.Row), err
	}
	cols := connector.FormatColumns(r.lay.inFile)
	keep := make([]int32, 0, b.Len)
	for i := range b.Len {
		if len(bad) == 0 || bad[0].Row != i {
			keep = append(keep, int32(i))
			continue
		}
		row := format.AppendJSONRow(nil, cols, b.Cols, i, r.src.opts.format.Options.Env)
		r.badRow(at+int64(i), bad[0].Err.Error(), row[:min(len(row), badBytes)])
		bad = bad[1:]
	}
	if len(keep) == 0 {
		return nil, nil
	}
	return b.Take(keep), nil
}

// badRow tells of what is left out at a row of the file in work.
func (r *reader) badRow(row int64, reason string, bytes []byte) {
	if r.src.spec.BadRows == nil {
		return
	}
	at := progress{File: r.pos.File, At: row}
	var t printer
	r.src.spec.BadRows.Add(connector.BadRow{Split: r.split, Offset: t.print(&at), Reason: reason, Bytes: bytes,
		Micros: clock.Micros(r.src.spec.Clock)})
}

// failure is the error of a file that is damaged.
func (t *table) failure(err error) error {
	e := sqlerr.From(err)
	return sqlerr.New(e.Code, `could not read file "%s": %s`, t.path, e.Message).
		WithHint("FORMAT … (on_error = 'skip') leaves out what is damaged and tells so in streamsql.bad_rows.").AsPermanent()
}

func (t *table) close() {
	if t.p != nil {
		t.p.Close()
	}
	_ = t.f.Close() // it was only read
}
