package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

var ctx = context.Background()

// badRows collects what is skipped.
type badRows struct{ rows []connector.BadRow }

func (b *badRows) Add(r connector.BadRow) { b.rows = append(b.rows, r) }

// fixture is a directory with a spec that reads it.
type fixture struct {
	t    *testing.T
	dir  string
	spec *connector.Spec
	bad  *badRows
}

// newFixture makes a source of rows {id bigint, t text}; opts are names and values.
func newFixture(t *testing.T, opts ...string) *fixture {
	f := &fixture{t: t, dir: t.TempDir(), bad: &badRows{}}
	f.spec = &connector.Spec{Name: "s", Clock: clock.System{}, BadRows: f.bad,
		Options: map[string]string{"path": f.dir, "poll_interval": "1 ms"},
		Columns: []connector.Column{{Name: "id", Type: types.TInt8}, {Name: "t", Type: types.TText}}}
	for i := 0; i < len(opts); i += 2 {
		f.spec.Options[opts[i]] = opts[i+1]
	}
	return f
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// add appends to a file.
func (f *fixture) add(name, text string) {
	f.t.Helper()
	old, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.t.Fatal(err)
	}
	f.write(name, string(old)+text)
}

func (f *fixture) source() connector.Source {
	f.t.Helper()
	src, err := Factory.Source(ctx, f.spec)
	if err != nil {
		f.t.Fatal(err)
	}
	return src
}

func (f *fixture) open(src connector.Source, from connector.Offset) connector.Reader {
	f.t.Helper()
	r, err := src.Open(ctx, connector.Split{ID: "files-0"}, from)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) latest(src connector.Source) connector.Offset {
	f.t.Helper()
	m, err := src.Latest(ctx, []connector.Split{{ID: "files-0"}})
	if err != nil {
		f.t.Fatal(err)
	}
	return m["files-0"]
}

func (f *fixture) rows(b *arrowbatch.Batch) (out []string) {
	cols := connector.FormatColumns(f.spec.Columns)
	for i := range b.Len {
		out = append(out, string(format.AppendJSONRow(nil, cols, b.Cols, i, nil)))
	}
	b.Release()
	return out
}

// ids returns the ids of rows {"id":…,…}.
func ids(rows []string) string {
	var out []string
	for _, r := range rows {
		id, _, _ := strings.Cut(strings.TrimPrefix(r, `{"id":`), ",")
		out = append(out, id)
	}
	return strings.Join(out, " ")
}

// drain reads until the reader has nothing now; end tells whether for good.
func (f *fixture) drain(r connector.Reader, until connector.Offset) (rows []string, at connector.Offset, end bool,
	err error) {
	f.t.Helper()
	for {
		b, next, err := r.Read(ctx, until)
		at = next
		switch {
		case errors.Is(err, connector.ErrEnd):
			return rows, at, true, nil
		case errors.Is(err, connector.ErrIdle):
			return rows, at, false, nil
		case err != nil:
			return rows, at, false, err
		}
		rows = append(rows, f.rows(b)...)
	}
}

func (f *fixture) want(what string, rows []string, err error, wantIDs string) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
	if got := ids(rows); got != wantIDs {
		f.t.Fatalf("%s: got ids %q, want %q", what, got, wantIDs)
	}
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, `{"id":%d,"t":"row %d"}`+"\n", i, i)
	}
	return b.String()
}

func TestDirectoryIsWatched(t *testing.T) {
	f := newFixture(t)
	f.write("b.json", lines(3, 4))
	f.write("a.json", lines(1, 2))
	f.write(".hidden", lines(90, 90))
	f.write("_x", lines(91, 91))
	f.write("c.json.tmp", lines(92, 92))
	if err := os.Mkdir(filepath.Join(f.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	src := f.source()
	if src.Bounded() {
		t.Error("a watched directory is bounded")
	}
	r := f.open(src, "")
	rows, at, end, err := f.drain(r, "")
	f.want("first files", rows, err, "1 2 3 4")
	if end {
		t.Error("a watched directory ended")
	}
	if want := connector.Offset(`{"done":{"a.json":42,"b.json":42}}`); at != want {
		t.Errorf("offset %s, want %s", at, want)
	}
	// A file whose name comes before those that were read, and a renamed one.
	f.write("0.json", lines(5, 5))
	if err := os.Rename(filepath.Join(f.dir, "c.json.tmp"), filepath.Join(f.dir, "c.json")); err != nil {
		t.Fatal(err)
	}
	rows = nil
	for deadline := time.Now().Add(5 * time.Second); len(rows) < 2 && time.Now().Before(deadline); {
		more, _, _, err := f.drain(r, "")
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, more...)
	}
	f.want("new files", rows, nil, "5 92")
}

func TestBoundsOfMicroBatches(t *testing.T) {
	f := newFixture(t, "max_files_per_trigger", "2")
	for i := range 5 {
		f.write(fmt.Sprintf("%d.json", i), lines(i, i))
	}
	src := f.source()
	r := f.open(src, "")
	var got []string
	for range 4 {
		rows, at, end, err := f.drain(r, f.latest(src))
		if err != nil || !end {
			t.Fatal(end, err)
		}
		got = append(got, ids(rows))
		if strings.Contains(string(at), "file") {
			t.Errorf("at the bound a file is open: %s", at)
		}
	}
	if want := []string{"0 1", "2 3", "4", ""}; !slices.Equal(got, want) {
		t.Errorf("epochs %q, want %q", got, want)
	}
	// A reader that stands past a bound reads nothing.
	early := connector.Offset(`{"done":{"0.json":1}}`)
	rows, _, end, err := f.drain(r, early)
	if err != nil || !end || len(rows) > 0 {
		t.Errorf("past the bound: %q %v %v", rows, end, err)
	}
}

func TestOrderByTime(t *testing.T) {
	f := newFixture(t, "order", "mtime", "watch", "false")
	for i, name := range []string{"c.json", "a.json", "b.json"} {
		f.write(name, lines(i, i))
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(f.dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	src := f.source()
	if !src.Bounded() {
		t.Error("a directory that is not watched is unbounded")
	}
	rows, _, end, err := f.drain(f.open(src, ""), "")
	f.want("by time", rows, err, "0 1 2")
	if !end {
		t.Error("no end")
	}
}

func TestPatternAndSplits(t *testing.T) {
	f := newFixture(t, "splits", "3")
	f.spec.Options["path"] = filepath.Join(f.dir, "in-*.json")
	var want []string
	for i := 100; i < 120; i++ {
		f.write(fmt.Sprintf("in-%d.json", i), lines(i, i))
		want = append(want, fmt.Sprint(i))
	}
	f.write("out.json", lines(1, 1))
	src := f.source()
	splits, err := src.Splits(ctx)
	if err != nil || len(splits) != 3 {
		t.Fatal(splits, err)
	}
	var all []string
	for _, sp := range splits {
		r, err := src.Open(ctx, sp, "")
		if err != nil {
			t.Fatal(err)
		}
		m, err := src.Latest(ctx, splits)
		if err != nil {
			t.Fatal(err)
		}
		rows, _, end, err := f.drain(r, m[sp.ID])
		if err != nil || !end || len(rows) == 0 || len(rows) == 20 {
			t.Fatalf("split %s: %d rows, %v, %v", sp.ID, len(rows), end, err)
		}
		all = append(all, rows...)
	}
	slices.Sort(all)
	f.want("all splits", all, nil, strings.Join(want, " "))
}

// From every offset that a reader gave, another one reads exactly the rest.
func TestRestart(t *testing.T) {
	for _, c := range []struct {
		name, enc string
		files     []string
	}{
		{"lines", "json", []string{lines(1, 40), lines(41, 45), "", lines(46, 60)}},
		{"no line end", "json", []string{strings.TrimSpace(lines(1, 3)), strings.TrimSpace(lines(4, 6))}},
		{"array", "json", []string{
			"\xef\xbb\xbf[" + strings.ReplaceAll(strings.TrimSpace(lines(1, 20)), "\n", "\n , ") + "\n]\n", "[]"}},
		{"csv", "csv", []string{"t,ID\na,1\n\"b\nb\",2\nc,3\n", "\xef\xbb\xbfid,x,t\n4,,\n5,,y", "id,t\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, "format", c.enc, "watch", "false", "batch_rows", "1")
			for i, text := range c.files {
				f.write(fmt.Sprint(i), text)
			}
			var rows []string
			var offsets []connector.Offset
			var counts []int
			r := f.open(f.source(), "")
			for {
				b, next, err := r.Read(ctx, "")
				if errors.Is(err, connector.ErrEnd) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, f.rows(b)...)
				offsets, counts = append(offsets, next), append(counts, len(rows))
			}
			if len(rows) < 3 {
				t.Fatalf("rows: %q", rows)
			}
			for i, o := range offsets {
				got, _, _, err := f.drain(f.open(f.source(), o), "")
				if err != nil {
					t.Fatalf("from %s: %v", o, err)
				}
				if !slices.Equal(got, rows[counts[i]:]) {
					t.Fatalf("from %s: got %q, want %q", o, got, rows[counts[i]:])
				}
			}
		})
	}
}

func TestSingleFile(t *testing.T) {
	f := newFixture(t)
	f.write("one.json", lines(1, 3))
	f.spec.Options["path"] = filepath.Join(f.dir, "one.json")
	src := f.source()
	if !src.Bounded() {
		t.Error("a single file is unbounded")
	}
	rows, at, end, err := f.drain(f.open(src, ""), "")
	f.want("file", rows, err, "1 2 3")
	if !end {
		t.Error("no end")
	}
	f.add("one.json", lines(4, 4)) // after the end
	rows, _, end, err = f.drain(f.open(f.source(), at), f.latest(src))
	if err != nil || !end || len(rows) > 0 {
		t.Errorf("again: %q %v %v", rows, end, err)
	}
}

func TestTail(t *testing.T) {
	f := newFixture(t, "tail", "true", "format", "csv")
	f.write("log", "")
	f.spec.Options["path"] = filepath.Join(f.dir, "log")
	src := f.source()
	if src.Bounded() {
		t.Error("a tailed file is bounded")
	}
	r := f.open(src, "")
	step := func(what, text, wantIDs string) connector.Offset {
		t.Helper()
		f.add("log", text)
		time.Sleep(2 * time.Millisecond) // the listing is made anew
		rows, at, end, err := f.drain(r, "")
		f.want(what, rows, err, wantIDs)
		if end {
			t.Fatalf("%s: the file ended", what)
		}
		return at
	}
	step("nothing", "", "")
	step("half a header", "id,", "")
	step("a row and a half", "t\n1,a\n2,", "1")
	at := step("the rest of it", "b\n3,c\n", "2 3")
	// As a micro-batch: to the size there is, then no further.
	f.add("log", "4,d\n5")
	time.Sleep(2 * time.Millisecond)
	until := f.latest(src)
	f.add("log", "5,e\n")
	rows, _, end, err := f.drain(r, until)
	f.want("to the bound", rows, err, "4")
	if !end {
		t.Error("no end at the bound")
	}
	time.Sleep(2 * time.Millisecond)
	until = f.latest(src)
	rows, _, _, err = f.drain(r, until)
	f.want("to the next bound", rows, err, "55")
	f.add("log", "6,f\n")
	time.Sleep(2 * time.Millisecond)
	rows, _, _, err = f.drain(r, f.latest(src))
	f.want("to the one after", rows, err, "6")
	rows, _, _, err = f.drain(f.open(f.source(), at), "")
	f.want("after a restart", rows, err, "4 55 6")
	// What was read must stay.
	f.write("log", "id,t\n1,a\n2,b\n3,x\n4,d\n")
	if _, err := f.source().Open(ctx, connector.Split{ID: "files-0"}, at); err == nil ||
		!strings.Contains(err.Error(), "was replaced after a part of it had been read") {
		t.Errorf("replaced: %v", err)
	}
	f.write("log", "id,t\n")
	if _, err := f.source().Open(ctx, connector.Split{ID: "files-0"}, at); err == nil ||
		!strings.Contains(err.Error(), "became shorter after a part of it had been read") {
		t.Errorf("shortened: %v", err)
	}
}

func TestChangedFiles(t *testing.T) {
	check := func(err error, code sqlerr.Code, want string) {
		t.Helper()
		if err == nil || sqlerr.CodeOf(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v (%s), want %s", err, sqlerr.CodeOf(err), want)
		}
	}
	f := newFixture(t, "batch_rows", "1")
	f.write("a", lines(1, 2))
	f.write("b", lines(3, 4))
	src := f.source()
	until := f.latest(src)
	r := f.open(src, "")
	b, _, err := r.Read(ctx, until)
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	// b is removed before it is read.
	if err := os.Remove(filepath.Join(f.dir, "b")); err != nil {
		t.Fatal(err)
	}
	rows, _, _, err := f.drain(r, until)
	if ids(rows) != "2" {
		t.Errorf("rows before the error: %q", rows)
	}
	check(err, sqlerr.UndefinedFile, `b" was removed before it was read`)
	// The same when the bound is older than the process.
	_, _, _, err = f.drain(f.open(f.source(), ""), until)
	check(err, sqlerr.UndefinedFile, `b" was removed before it was read`)
	// A file that was read grows.
	f.write("b", lines(3, 4))
	src = f.source()
	r = f.open(src, "")
	if _, _, _, err = f.drain(r, f.latest(src)); err != nil {
		t.Fatal(err)
	}
	f.add("b", lines(5, 5))
	time.Sleep(2 * time.Millisecond)
	_, _, _, err = f.drain(r, "")
	check(err, sqlerr.DataCorrupted, `b" has another size than when it was read`)
	// A file grows while it is read.
	f.write("b", "")
	f.write("a", lines(1, 3))
	r = f.open(f.source(), "")
	if _, _, err = r.Read(ctx, ""); err != nil {
		t.Fatal(err)
	}
	in := r.(*reader).in
	in.eof = true // as if its end had been seen before it grew
	f.add("a", lines(4, 4))
	_, _, _, err = f.drain(r, "")
	check(err, sqlerr.DataCorrupted, `a" grew while it was read`)
	// There is nothing to read at all.
	f.spec.Options["path"] = filepath.Join(f.dir, "none", "x.json")
	_, err = Factory.Source(ctx, f.spec)
	check(err, sqlerr.UndefinedFile, "could not open file")
}

func TestBadRecords(t *testing.T) {
	text := lines(1, 1) + `{"id":7x,"t":1}` + "\n" + lines(2, 2) + `{"id":"no"}` + "\n" + lines(3, 3) + `{"id":`
	f := newFixture(t, "on_error", "skip", "watch", "false")
	f.write("x", text)
	rows, at, end, err := f.drain(f.open(f.source(), ""), "")
	f.want("skip", rows, err, "1 2 3")
	if !end {
		t.Error("no end")
	}
	if want := connector.Offset(fmt.Sprintf(`{"done":{"x":%d}}`, len(text))); at != want {
		t.Errorf("offset %s, want %s", at, want)
	}
	var got []string
	for _, b := range f.bad.rows {
		got = append(got, fmt.Sprintf("%s %s %s: %s", b.Split, b.Offset, b.Bytes, b.Reason))
	}
	want := []string{
		`files-0 {"file":"x","at":21} {"id":7x,"t":1}: ` +
			`invalid input syntax for type json (Expected JSON value, but found "7x".)`,
		`files-0 {"file":"x","at":58} {"id":"no"}: column "id": invalid input syntax for type bigint: "no"`,
		`files-0 {"file":"x","at":91} {"id":: invalid input syntax for type json (The input string ended unexpectedly.)`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("bad rows:\n%s", strings.Join(got, "\n"))
	}

	// fail: the rows before it come first, and the offset stays before it.
	f.spec.Options["on_error"] = "fail"
	r := f.open(f.source(), "")
	rows, at, _, err = f.drain(r, "")
	if ids(rows) != "1" || sqlerr.CodeOf(err) != sqlerr.InvalidTextRepresentation {
		t.Errorf("fail: %q, %v", rows, err)
	}
	if e := sqlerr.From(err); !e.Permanent || !strings.HasSuffix(e.Where, `x", byte 21`) {
		t.Errorf("where: %s, permanent: %v", e.Where, e.Permanent)
	}
	if _, _, _, err2 := f.drain(f.open(f.source(), at), ""); err2 == nil || err2.Error() != err.Error() {
		t.Errorf("after a restart: %v, want %v", err2, err)
	}
	f.spec.Options["on_error"] = "skip"
	rows, _, _, err = f.drain(f.open(f.source(), at), "")
	f.want("skip after fail", rows, err, "2 3")
}

// An element that fails is read again as an element.
func TestBadElementOfArray(t *testing.T) {
	f := newFixture(t, "watch", "false")
	f.write("x", `[{"id":1}, {"id":"no"} , {"id":3}]`)
	_, at, _, err := f.drain(f.open(f.source(), ""), "")
	if err == nil {
		t.Fatal("no error")
	}
	f.spec.Options["on_error"] = "skip"
	rows, _, _, err := f.drain(f.open(f.source(), at), "")
	f.want("rest", rows, err, "3")
	if len(f.bad.rows) != 1 || string(f.bad.rows[0].Bytes) != `{"id":"no"}` {
		t.Errorf("%d bad rows", len(f.bad.rows))
	}
}

func TestIdleAndCancel(t *testing.T) {
	f := newFixture(t, "poll_interval", "1 s")
	r := f.open(f.source(), "")
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	if _, _, err := r.Read(short, ""); !errors.Is(err, connector.ErrIdle) {
		t.Errorf("deadline: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := r.Read(gone, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestCheckSource(t *testing.T) {
	for _, c := range []struct {
		change func(s *connector.Spec)
		want   string
	}{
		{func(s *connector.Spec) { delete(s.Options, "path") }, `connector "file" requires option "path"`},
		{func(s *connector.Spec) { s.Options["pathh"] = "x" }, `unrecognized option "pathh" of connector "file"`},
		{func(s *connector.Spec) { s.Options["format"] = "xml" }, `invalid value for option "format": "xml"`},
		{func(s *connector.Spec) { s.Options["format"] = "csv"; s.Encode = "json" },
			`option "format" is "csv", but the statement says ENCODE JSON`},
		{func(s *connector.Spec) { s.Format, s.Key = "upsert", []int{0} },
			`connector "file" does not support FORMAT UPSERT; it supports: PLAIN, DEBEZIUM`},
		{func(s *connector.Spec) { s.Format = "debezium" }, `FORMAT DEBEZIUM needs a primary key`},
		{func(s *connector.Spec) { s.Format, s.Encode, s.Key = "debezium", "csv", []int{0} },
			`connector "file" does not read FORMAT DEBEZIUM with ENCODE CSV; it reads it with ENCODE JSON`},
		{func(s *connector.Spec) { s.FormatOptions = map[string]string{"delimiter": ";"} },
			`unrecognized option "delimiter" of ENCODE JSON`},
		{func(s *connector.Spec) {
			s.FormatOptions = map[string]string{"on_error": "skip"}
			s.Options["on_error"] = "fail"
		}, `option "on_error" is given twice: "fail" in WITH and "skip" in ENCODE`},
		{func(s *connector.Spec) { s.Options["poll_interval"] = "1 h" }, `option "poll_interval" must be from 1 ms to 1 s`},
		{func(s *connector.Spec) { s.Columns[0].Meta = "offset" }, `connector "file" has no metadata "offset"`},
		{func(s *connector.Spec) { s.Encode = "text" }, "ENCODE text fills exactly one column besides metadata columns"},
	} {
		f := newFixture(t)
		c.change(f.spec)
		if err := Factory.CheckSource(f.spec); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	f := newFixture(t, "tail", "true")
	if _, err := Factory.Source(ctx, f.spec); err == nil {
		t.Error("tail of a directory was taken")
	}
}
