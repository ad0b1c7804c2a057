package file

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// chain is a sink with a source that reads what it writes.
func chain(t *testing.T, sinkOpts []string, sourceOpts ...string) (*sinkFixture, *fixture) {
	f := newSink(t, sinkOpts...).recover(0)
	in := newFixture(t, sourceOpts...)
	in.spec.Options["path"] = f.dir
	return f, in
}

func (f *sinkFixture) epoch(w connector.Writer, e connector.Epoch, ids ...int64) {
	f.t.Helper()
	f.write(w, ids...)
	f.commit(e, f.prepare(w, e))
}

// A source reads the epochs that the manifest has, whole and in their order, and its
// offset does not grow with them.
func TestManifestSource(t *testing.T) {
	f, in := chain(t, []string{"roll_interval", "1 h", "partition_by", "t"})
	src := in.source()
	r := in.open(src, "")
	rows, at, _, err := in.drain(r, in.latest(src))
	in.want("nothing yet", rows, err, "")
	w := f.writer(0)
	f.epoch(w, 1, 1, 2) // kept open
	src = in.source()
	r = in.open(src, at)
	rows, _, _, err = in.drain(r, in.latest(src))
	in.want("files in work", rows, err, "")
	f.write(w, 4)
	w.(connector.KeepingWriter).Finish()
	p := f.prepare(w, 2)
	// A crash in the middle of the commit: one of the two files has its name.
	name := "part-0000000001-000-00000.json"
	dir := filepath.Join(f.dir, "t=row, x")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Rename(filepath.Join(f.dir, stagingDir, name),
		filepath.Join(dir, name))); err != nil {
		t.Fatal(err)
	}
	src = in.source()
	rows, _, _, err = in.drain(in.open(src, ""), in.latest(src))
	in.want("half an epoch", rows, err, "")
	f.commit(2, p)
	// A file that is not the sink's.
	in.dir = f.dir
	in.write("other.json", row1)
	src = in.source()
	r = in.open(src, "")
	rows, at, _, err = in.drain(r, in.latest(src))
	in.want("an epoch", rows, err, "1 4 2")
	if want := connector.Offset(`{"epoch":2}`); at != want || in.latest(src) != want {
		t.Errorf("offset %s, the source reaches to %s, want %s", at, in.latest(src), want)
	}
	if rows[0] != `{"id":1,"t":"row, x"}` {
		t.Errorf("got %s", rows[0])
	}
	w2 := f.recover(2, p).writer(0)
	f.write(w2, 5, 6)
	w2.(connector.KeepingWriter).Finish()
	f.commit(3, f.prepare(w2, 3))
	src = in.source()
	rows, at, _, err = in.drain(in.open(src, at), in.latest(src))
	in.want("the next one", rows, err, "6 5")
	if at != `{"epoch":3}` {
		t.Errorf("offset %s", at)
	}
}

// With a bound on files of a trigger and several splits each file is read once, from
// whatever offset a reader begins.
func TestManifestSourceOffsets(t *testing.T) {
	for _, compression := range []string{"none", "gzip", "zstd"} {
		f, in := chain(t, []string{"partition_by", "t", "compression", compression}, "max_files_per_trigger", "2",
			"splits", "3", "batch_rows", "2")
		w := f.writer(0)
		id := int64(0)
		for e := range 25 { // so that the manifest is merged
			var batch []int64
			for range 1 + e%7 {
				batch = append(batch, id)
				id++
			}
			f.epoch(w, connector.Epoch(e+1), batch...)
		}
		seen := map[string]int{}
		for split := range 3 {
			at, last := connector.Offset(""), connector.Offset("-")
			for at != last {
				last = at
				src := in.source()
				r, err := src.Open(ctx, connector.Split{ID: splitID(split)}, at)
				if err != nil {
					t.Fatal(err)
				}
				m, err := src.Latest(ctx, []connector.Split{{ID: splitID(split)}})
				if err != nil {
					t.Fatal(err)
				}
				// A crash after each second batch, often within a file.
				for range 2 {
					b, next, err := r.Read(ctx, m[splitID(split)])
					if errors.Is(err, connector.ErrEnd) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					for _, row := range in.rows(b) {
						seen[row]++
					}
					at = next
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(string(at), "done") {
				t.Errorf("split %d ends at %s", split, at)
			}
		}
		for i := range id {
			if n := seen[fmt.Sprintf(`{"id":%d,"t":"row, %s"}`, i, strings.Repeat("x", int(i%3)))]; n != 1 {
				t.Errorf("%s: id %d is read %d times", compression, i, n)
			}
		}
	}
}

func TestManifestDamage(t *testing.T) {
	f, in := chain(t, nil)
	w := f.writer(0)
	for e := range connector.Epoch(12) {
		f.epoch(w, e+1, int64(e))
	}
	segments, stale, err := segmentNames(f.dir)
	if err != nil || len(stale) > 0 ||
		!slices.Equal(segments, []string{"0000000001-0000000010.ndjson", "0000000011.ndjson", "0000000012.ndjson"}) {
		t.Fatalf("%q, %q, %v", segments, stale, err)
	}
	try := func(what string, want string) {
		t.Helper()
		_, err := in.source().Latest(ctx, []connector.Split{{ID: "files-0"}})
		if err == nil || !strings.Contains(err.Error(), want) || sqlerr.CodeOf(err) != sqlerr.DataCorrupted {
			t.Errorf("%s: %v", what, err)
		}
	}
	path := filepath.Join(f.dir, manifestDir, segments[1])
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		for _, text := range [][]byte{bad, good[:i]} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := readSegment(f.dir, segments[1]); sqlerr.CodeOf(err) != sqlerr.DataCorrupted {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
	try("a byte", "is cut off")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	try("a segment", "lacks an epoch")
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(f.dir, "part-0000000011-000.json"), 3); err != nil {
		t.Fatal(err)
	}
	src := in.source()
	_, _, _, err = in.drain(in.open(src, ""), in.latest(src))
	if sqlerr.CodeOf(err) != sqlerr.DataCorrupted {
		t.Errorf("a short file: %v", err)
	}
}

// Whatever a text is, its directory is one name, and gives it back.
func FuzzPartition(f *testing.F) {
	for _, s := range []string{"", "a", "a/b", "..", ".", "%", "%2F", "100%", nullPartition, "_x", "é\n", "a=b", "\x00"} {
		f.Add(s, s+"x")
	}
	f.Fuzz(func(t *testing.T, value, column string) {
		o := sinkOptions{cols: []connector.Column{{Name: column, Type: types.TText}, {Name: "n", Type: types.TInt8}},
			partition: []int{0, 1}}
		p := newPartitioner(&o)
		a, n := arrowbatch.NewVec(types.TText.Shape(), 0), arrowbatch.NewVec(types.TInt8.Shape(), 0)
		a.AppendString(value)
		a.AppendNull()
		n.AppendInt64(-5)
		n.AppendNull()
		groups := p.split([]*arrowbatch.Vec{a, n}, 2)
		if len(groups) != 2 && value != "" {
			t.Fatalf("%d groups", len(groups))
		}
		parts := strings.Split(groups[0].dir, "/")
		if len(parts) != 2 || strings.ContainsAny(parts[0], "\x00/\\:*?\"<>|") || parts[0] == ".." {
			t.Fatalf("%q", groups[0].dir)
		}
		got := partitionValues(groups[0].dir + "/part-1")
		want := []partitionValue{{column, value, value == ""}, {"n", "-5", false}}
		if value == "" {
			want[0].text = nullPartition // as Hive has it: an empty text is NULL
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q became %q and then %v", value, groups[0].dir, got)
		}
		_ = unescapePath(value)
	})
}

func TestPartitionTypes(t *testing.T) {
	cols := []connector.Column{{Name: "id", Type: types.TInt8}, {Name: "t", Type: types.TText}}
	texts := map[string]types.Type{"t": types.TBool, "-7": types.TInt4, "1.50": types.TNumeric, "0.1": types.TFloat8,
		"2024-02-29": types.TDate, "2024-02-29 12:34:56.789": types.TTimestamp, "2024-02-29 12:34:56+00": types.TTimestamptz,
		"infinity": types.TDate, "12:00:00": types.TTime, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11": types.TUUID}
	row := int64(0)
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		typ := texts[text]
		f, in := newSink(t, "partition_by", "p"), newFixture(t, "watch", "false")
		in.spec.Options["path"] = f.dir
		f.spec.Columns = append(slices.Clone(cols), connector.Column{Name: "p", Type: typ})
		in.spec.Columns = []connector.Column{{Name: "p", Type: typ}, cols[0]}
		w := f.recover(0).writer(0)
		b := batch(row, row+1)
		v := arrowbatch.NewVec(typ.Shape(), 0)
		if err := types.ParseString(typ, text, v, nil); err != nil {
			t.Fatal(err)
		}
		v.AppendNull()
		b.Cols = append(b.Cols, v)
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
		f.commit(1, f.prepare(w, 1))
		rest, _, _, err := in.drain(in.open(in.source(), ""), "")
		if err != nil || len(rest) != 2 {
			t.Fatalf("%s: %q, %v", typ, rest, err)
		}
		one := arrowbatch.NewVec(typ.Shape(), 0)
		if err := types.ParseString(typ, text, one, nil); err != nil {
			t.Fatal(err)
		}
		want := string(types.AppendText(nil, typ, one, 0, nil))
		dirs, _ := filepath.Glob(filepath.Join(f.dir, "p=*"))
		if len(dirs) != 2 {
			t.Errorf("%s: directories %q", typ, dirs)
		}
		vals := partitionValues(filepath.Base(dirs[0]) + "/x")
		if vals[0].null {
			vals = partitionValues(filepath.Base(dirs[1]) + "/x")
		}
		if got := vals[0].text; got != want && typ.ID != types.Bool {
			t.Errorf("%s: %q became %q", typ, want, got)
		}
	}
}

// Without a manifest the option says which columns are in the paths.
func TestPartitionColumns(t *testing.T) {
	f := newFixture(t, "partition_columns", "t", "watch", "false", "format", "csv", "header", "false")
	for _, dir := range []string{"t=a%2Fb/n=1", "t=" + nullPartition, "u=1", "_t=2", "plain"} {
		if err := os.MkdirAll(filepath.Join(f.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.write("t=a%2Fb/n=1/1.csv", "1\n2\n")
	f.write("t=a%2Fb/x.csv", "3\n")
	f.write("t="+nullPartition+"/1.csv", "4\n")
	f.write("_t=2/1.csv", "9\n")
	f.write("plain/1.csv", "9\n")
	rows, _, _, err := f.drain(f.open(f.source(), ""), "")
	if want := []string{`{"id":4,"t":null}`, `{"id":1,"t":"a/b"}`, `{"id":2,"t":"a/b"}`, `{"id":3,"t":"a/b"}`}; err != nil ||
		!slices.Equal(rows, want) {
		t.Errorf("%q, %v", rows, err)
	}
	f.write("u=1/1.csv", "1\n")
	if _, _, _, err = f.drain(f.open(f.source(), ""), ""); err == nil ||
		!strings.Contains(err.Error(), `has no value of partition column "t"`) {
		t.Error(err)
	}
	f.spec.Columns[1].Type = types.TInt4
	if _, _, _, err = f.drain(f.open(f.source(), ""), ""); err == nil ||
		!strings.Contains(err.Error(), `could not read column "t" in the path of file`) {
		t.Error(err)
	}
	f.spec.Options["partition_columns"] = "tt"
	if err := Factory.CheckSource(f.spec); err == nil || !strings.Contains(err.Error(), `there is no column "tt"`) {
		t.Error(err)
	}
}

// A file that appears before those that were read does not look new for ever.
func TestLatestIsWhatWasRead(t *testing.T) {
	f := newFixture(t)
	names := []string{"b", "d", "a", "c"}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	src := f.source()
	r := f.open(src, "")
	at := connector.Offset("")
	for i, n := range names {
		f.write(n, fmt.Sprintf(`{"id":%d}`+"\n", i))
		for range 1000 {
			rows, next, _, err := f.drain(r, f.latest(src))
			if at = next; err != nil {
				t.Fatal(err)
			}
			if len(rows) > 0 {
				break
			}
		}
	}
	if l := f.latest(src); l != at {
		t.Errorf("read to %s, the source reaches to %s", at, l)
	}
}
