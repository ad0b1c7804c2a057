package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sink writes one file for each epoch and part into a directory.
type sink struct {
	opts sinkOptions
	dir  string
}

// prepared is what Commit needs to know of a part's output.
type prepared struct {
	Temp string `json:"temp"`
	Name string `json:"name"`
}

func openSink(_ context.Context, s *connector.Spec) (connector.Sink, error) {
	opts, err := readSink(s)
	if err != nil {
		return nil, err
	}
	dir := filepath.Clean(opts.path)
	switch st, err := os.Stat(dir); {
	case err == nil && !st.IsDir():
		return nil, sqlerr.New(sqlerr.WrongObjectType, `"%s" is not a directory`, opts.path).
			WithHint("A file sink writes one file an epoch into a directory.").AsPermanent()
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, osError("create directory", dir, err)
		}
	case err != nil:
		return nil, osError("open directory", dir, err)
	}
	return &sink{opts: opts, dir: dir}, nil
}

// The names of files: a part's rows before Prepare, after it, and after Commit.
// The first two are hidden, so that no reader takes them for data.
const (
	openName   = ".part-open-%03d.tmp"
	tempName   = ".part-%010d-%03d.%s.tmp"
	finalName  = "part-%010d-%03d.%s"
	tempPrefix = ".part-"
)

func (s *sink) Open(_ context.Context, part int) (connector.Writer, error) {
	enc, err := newEncoding(&s.opts.format, s.opts.cols, s.opts.compression)
	if err != nil {
		return nil, err
	}
	return &writer{sink: s, part: part, enc: enc}, nil
}

// Commit gives the files their names.
func (s *sink) Commit(_ context.Context, _ connector.Epoch, parts [][]byte) error {
	moved := false
	for _, p := range parts {
		if len(p) == 0 {
			continue
		}
		var pr prepared
		if err := json.Unmarshal(p, &pr); err != nil {
			return sqlerr.Wrap(err, sqlerr.DataCorrupted, "the prepared output of a file sink is damaged")
		}
		temp, final := filepath.Join(s.dir, pr.Temp), filepath.Join(s.dir, pr.Name)
		err := os.Rename(temp, final)
		if errors.Is(err, fs.ErrNotExist) && exists(final) {
			continue // committed before a crash
		}
		if err != nil {
			return osError("rename file", temp, err)
		}
		moved = true
	}
	if !moved {
		return nil
	}
	return s.syncDir()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// syncDir makes the names in the directory durable.
func (s *sink) syncDir() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return osError("open directory", s.dir, err)
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return osError("fsync directory", s.dir, err)
	}
	return nil
}

// Abort removes the files of epochs that were not committed.
func (s *sink) Abort(_ context.Context, after connector.Epoch) error {
	des, err := os.ReadDir(s.dir)
	if err != nil {
		return osError("open directory", s.dir, err)
	}
	for _, de := range des {
		name := de.Name()
		var part int
		var epoch connector.Epoch
		rest, ok := strings.CutPrefix(name, tempPrefix)
		if !ok || !strings.HasSuffix(name, ".tmp") {
			continue
		}
		_, notOpen := fmt.Sscanf(rest, "open-%d.tmp", &part)
		_, notTemp := fmt.Sscanf(rest, "%d-%d.", &epoch, &part)
		if notOpen == nil || notTemp == nil && epoch > after {
			path := filepath.Join(s.dir, name)
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return osError("remove file", path, err)
			}
		}
	}
	return nil
}

func (s *sink) Close() error { return nil }

// writer writes the rows of one part.
type writer struct {
	sink *sink
	part int
	enc  encoding
	f    *os.File // of the epoch in work; nil before its first row
	out  fileWriter
	rows []int32
	cols []*arrowbatch.Vec
	op   *arrowbatch.Vec
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
	if w.f == nil {
		if err := w.create(); err != nil {
			return err
		}
	}
	for i := len(w.rows); i < b.Len; i++ {
		w.rows = append(w.rows, int32(i))
	}
	_, err = w.out.write(cols, w.rows[:b.Len], math.MaxInt64)
	return w.written(err)
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

func (w *writer) create() error {
	path := filepath.Join(w.sink.dir, fmt.Sprintf(openName, w.part))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return osError("create file", path, err)
	}
	w.f = f
	w.out, err = w.enc.create(f)
	return err
}

// written gives the file up after an error.
func (w *writer) written(err error) error {
	if err != nil {
		err = osError("write to file", w.f.Name(), err)
		w.drop()
	}
	return err
}

// drop removes the file of an epoch that cannot be completed.
func (w *writer) drop() {
	_ = w.f.Close()           // its content is given up
	_ = os.Remove(w.f.Name()) // else Abort removes it
	w.f = nil
}

// Prepare syncs the epoch's file under the name that it has until Commit.
func (w *writer) Prepare(_ context.Context, e connector.Epoch) ([]byte, error) {
	if w.f == nil {
		return nil, nil
	}
	if err := w.written(w.out.close()); err != nil {
		return nil, err
	}
	ext := w.enc.ext()
	p := prepared{Temp: fmt.Sprintf(tempName, e, w.part, ext), Name: fmt.Sprintf(finalName, e, w.part, ext)}
	if final := filepath.Join(w.sink.dir, p.Name); exists(final) {
		w.drop()
		return nil, sqlerr.New(sqlerr.DuplicateObject, `file "%s" exists already`, final).
			WithHint("Another sink has written to this directory: choose an empty one.").AsPermanent()
	}
	if err := w.settle(p.Temp); err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// settle makes the file durable under the name.
func (w *writer) settle(name string) error {
	open := w.f.Name()
	if err := w.f.Sync(); err != nil {
		err = osError("fsync file", open, err)
		w.drop()
		return err
	}
	err := w.f.Close()
	w.f = nil
	if err != nil {
		return osError("close file", open, err)
	}
	if err := os.Rename(open, filepath.Join(w.sink.dir, name)); err != nil {
		return osError("rename file", open, err)
	}
	return w.sink.syncDir()
}

// Close gives up what was not prepared.
func (w *writer) Close() error {
	if w.f != nil {
		w.drop()
	}
	if w.op != nil {
		w.op.Release()
		w.op = nil
	}
	return nil
}
