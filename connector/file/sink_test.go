package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

type sinkFixture struct {
	t    *testing.T
	dir  string
	spec *connector.Spec
	sink connector.Sink
}

func newSink(t *testing.T, opts ...string) *sinkFixture {
	f := &sinkFixture{t: t, dir: filepath.Join(t.TempDir(), "out")}
	f.spec = &connector.Spec{Name: "k", Clock: clock.System{}, AppendOnly: true, Identity: "store-1",
		Options: map[string]string{"path": f.dir},
		Columns: []connector.Column{{Name: "id", Type: types.TInt8}, {Name: "t", Type: types.TText}}}
	for i := 0; i < len(opts); i += 2 {
		f.spec.Options[opts[i]] = opts[i+1]
	}
	return f
}

// open begins anew: what was open before ends as a process that is killed.
func (f *sinkFixture) open() *sinkFixture {
	f.t.Helper()
	f.kill()
	s, err := Factory.Sink(ctx, f.spec)
	if err != nil {
		f.t.Fatal(err)
	}
	f.sink = s
	return f
}

func (f *sinkFixture) kill() {
	if s, ok := f.sink.(*sink); ok && s.lock != nil {
		_ = s.lock.Close()
	}
}

// recover settles the last checkpoint, whose epoch is e.
func (f *sinkFixture) recover(e connector.Epoch, parts ...[]byte) *sinkFixture {
	f.t.Helper()
	f.open()
	if parts != nil {
		f.commit(e, parts...)
	}
	if err := f.sink.Abort(ctx, e); err != nil {
		f.t.Fatal(err)
	}
	return f
}

func (f *sinkFixture) writer(part int) connector.Writer {
	f.t.Helper()
	w, err := f.sink.Open(ctx, part)
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

// batch makes rows (id, "row id"); a negative id deletes.
func batch(ids ...int64) *arrowbatch.Batch {
	b := arrowbatch.NewLike([]arrowbatch.Shape{types.TInt8.Shape(), types.TText.Shape()})
	for _, id := range ids {
		op := arrowbatch.Insert
		if id < 0 {
			op, id = arrowbatch.Delete, -id
		}
		b.Cols[0].AppendInt64(id)
		b.Cols[1].AppendString("row, " + strings.Repeat("x", int(id%3)))
		b.AppendOp(op)
	}
	return b
}

func (f *sinkFixture) write(w connector.Writer, ids ...int64) {
	f.t.Helper()
	b := batch(ids...)
	defer b.Release()
	if err := w.Write(ctx, b); err != nil {
		f.t.Fatal(err)
	}
}

func (f *sinkFixture) prepare(w connector.Writer, e connector.Epoch) []byte {
	f.t.Helper()
	p, err := w.Prepare(ctx, e)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func (f *sinkFixture) commit(e connector.Epoch, parts ...[]byte) {
	f.t.Helper()
	if err := f.sink.Commit(ctx, e, parts); err != nil {
		f.t.Fatal(err)
	}
}

// want compares the directory with files, "name: text", but the manifest.
func (f *sinkFixture) want(what string, files ...string) {
	f.t.Helper()
	var got []string
	err := filepath.WalkDir(f.dir, func(path string, de fs.DirEntry, err error) error {
		name, _ := filepath.Rel(f.dir, path)
		switch {
		case err != nil:
			return err
		case name == manifestDir:
			return fs.SkipDir
		case de.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		got = append(got, name+": "+string(text))
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if g, w := strings.Join(got, "|"), strings.Join(files, "|"); g != w {
		f.t.Errorf("%s:\n got  %s\n want %s", what, g, w)
	}
}

const (
	row1 = `{"id":1,"t":"row, x"}` + "\n"
	row2 = `{"id":2,"t":"row, xx"}` + "\n"
	row3 = `{"id":3,"t":"row, "}` + "\n"
)

func TestSinkTwoPhases(t *testing.T) {
	f := newSink(t).recover(0)
	w0, w1 := f.writer(0), f.writer(1)
	f.write(w0, 1)
	f.write(w0, 2)
	f.write(w1, 3)
	p0, p1 := f.prepare(w0, 1), f.prepare(w1, 1)
	f.want("prepared", "_staging/part-0000000001-000.json: "+row1+row2, "_staging/part-0000000001-001.json: "+row3)
	f.commit(1, p0, p1)
	committed := []string{"part-0000000001-000.json: " + row1 + row2, "part-0000000001-001.json: " + row3}
	f.want("committed", committed...)
	f.commit(1, p0, p1)
	f.want("committed twice", committed...)
	f.commit(2, f.prepare(w0, 2), f.prepare(w1, 2))
	f.want("an empty epoch", committed...)
	f.write(w1, 1)
	if err := w1.Close(); err != nil {
		t.Fatal(err)
	}
	f.want("closed", committed...)
}

func TestSinkAfterCrash(t *testing.T) {
	f := newSink(t).recover(3)
	w0, w1 := f.writer(0), f.writer(1)
	f.write(w0, 1)
	f.write(w1, 2)
	p0, p1 := f.prepare(w0, 4), f.prepare(w1, 4)
	// A crash within the commit, while the next epoch is written.
	if err := os.Rename(filepath.Join(f.dir, "_staging/part-0000000004-000.json"),
		filepath.Join(f.dir, "part-0000000004-000.json")); err != nil {
		t.Fatal(err)
	}
	f.write(w0, 3)
	f.prepare(w0, 5) // never in a checkpoint
	if err := os.WriteFile(filepath.Join(f.dir, "_staging/part-0000000005-001.json"), []byte("half a r"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.recover(4, p0, p1)
	f.want("recovered", "part-0000000004-000.json: "+row1, "part-0000000004-001.json: "+row2)
	w0 = f.writer(0)
	f.write(w0, 3)
	f.commit(5, f.prepare(w0, 5))
	f.want("went on", "part-0000000004-000.json: "+row1, "part-0000000004-001.json: "+row2,
		"part-0000000005-000.json: "+row3)
}

func TestSinkFormats(t *testing.T) {
	f := newSink(t, "format", "csv", "op_column", "op")
	f.spec.AppendOnly = false
	w := f.recover(0).writer(0)
	f.write(w, 1, -1, 2)
	f.commit(1, f.prepare(w, 1))
	f.want("changes", "part-0000000001-000.csv: id,t,op\n1,\"row, x\",insert\n1,\"row, x\",delete\n2,\"row, xx\",insert\n")

	f = newSink(t, "header", "false")
	f.spec.Encode = "csv"
	w = f.recover(0).writer(0)
	f.write(w, 3)
	f.commit(1, f.prepare(w, 1))
	f.want("no header", "part-0000000001-000.csv: 3,\"row, \"\n")

	f = newSink(t)
	f.spec.Encode = "text"
	f.spec.Columns = f.spec.Columns[1:]
	w = f.recover(0).writer(0)
	b := batch(1, 2)
	b.Cols = b.Cols[1:]
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	f.commit(1, f.prepare(w, 1))
	f.want("text", "part-0000000001-000.txt: row, x\nrow, xx\n")
}

func TestSinkErrors(t *testing.T) {
	check := func(what string, err error, code sqlerr.Code, want string) {
		t.Helper()
		if err == nil || sqlerr.CodeOf(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v (%s), want %s", what, err, sqlerr.CodeOf(err), want)
		}
	}
	f := newSink(t)
	f.spec.AppendOnly = false
	check("changes", Factory.CheckSink(t.Context(), f.spec), sqlerr.FeatureNotSupported,
		`sink "k" writes files, which take inserts only, but its query changes rows`)
	f.spec.Options["op_column"] = "t"
	check("op column", Factory.CheckSink(t.Context(), f.spec), sqlerr.InvalidParameterValue, `column "t" exists already`)

	f = newSink(t).recover(0)
	w := f.writer(0)
	b := batch(-1)
	check("delete", w.Write(ctx, b), sqlerr.FeatureNotSupported, "cannot take a deleted row")
	for _, p := range []string{`x`, `{"temp":".part-x.tmp","name":"part-x"}`} {
		check("damaged", f.sink.Commit(ctx, 7, [][]byte{[]byte(p)}), sqlerr.DataCorrupted, "is damaged")
	}
	check("lost", f.sink.Commit(ctx, 7, [][]byte{[]byte(`{"version":1,"done":[{"name":"part-x"}]}`)}),
		sqlerr.UndefinedFile, `could not rename file "`+f.dir+`/_staging/part-x": no such file or directory`)

	// A file that is not the sink's.
	if err := os.WriteFile(filepath.Join(f.dir, "part-0000000001-000.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.write(w, 1)
	_, err := w.Prepare(ctx, 1)
	check("in the way", err, sqlerr.DuplicateFile, "exists already")
	f.spec.Options["path"] = filepath.Join(f.dir, "part-0000000001-000.json")
	_, err = Factory.Sink(ctx, f.spec)
	check("a file", err, sqlerr.WrongObjectType, "is not a directory")

	// A full disk: a link to the device that has no space.
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	f = newSink(t).recover(0)
	if err := os.MkdirAll(filepath.Join(f.dir, stagingDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(f.dir, "_staging/part-0000000001-000.json")); err != nil {
		t.Fatal(err)
	}
	w = f.writer(0)
	f.write(w, 1)
	_, err = w.Prepare(ctx, 1)
	check("full disk", err, sqlerr.DiskFull, `_staging/part-0000000001-000.json": no space left on device`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.want("nothing half written")
}

func TestSinkUnwritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	f := newSink(t).recover(0)
	if err := os.Chmod(f.dir, 0o500); err != nil {
		t.Fatal(err)
	}
	b := batch(1)
	defer b.Release()
	if err := f.writer(0).Write(ctx, b); sqlerr.CodeOf(err) != sqlerr.InsufficientPrivilege {
		t.Errorf("got %v", err)
	}
}

// What a sink wrote a source reads.
func TestSinkToSource(t *testing.T) {
	f := newSink(t).recover(0)
	w := f.writer(0)
	f.write(w, 1, 2)
	f.commit(1, f.prepare(w, 1))
	f.write(w, 3)
	p := f.prepare(w, 2)
	in := newFixture(t, "watch", "false")
	in.spec.Options["path"] = f.dir
	rows, _, _, err := in.drain(in.open(in.source(), ""), "")
	in.want("one epoch", rows, err, "1 2")
	f.commit(2, p)
	rows, _, _, err = in.drain(in.open(in.source(), ""), "")
	in.want("two epochs", rows, err, "1 2 3")
}
