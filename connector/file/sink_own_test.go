package file

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

func wantErr(t *testing.T, what string, err error, code sqlerr.Code, text string) {
	t.Helper()
	if err == nil || sqlerr.CodeOf(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v (%s), want %s", what, err, sqlerr.CodeOf(err), text)
	}
}

// A directory is one sink's: that of one data directory, as it is now.
func TestSinkOwnsDirectory(t *testing.T) {
	f := newSink(t).recover(0)
	w := f.writer(0)
	f.epoch(w, 1, 1)
	p2 := f.prepare(w, 2)
	f.commit(2, p2)
	f.write(w, 2)
	p3 := f.prepare(w, 3)
	f.commit(3, p3)

	abort := func(identity string, after connector.Epoch) error {
		f.spec.Identity = identity
		s, err := newSinkOn(f.spec, &disk{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Abort(ctx, after)
	}
	wantErr(t, "another sink", abort("store-2", 0), sqlerr.ObjectInUse, `belongs to another sink, "k"`)
	wantErr(t, "two servers", abort("store-1", 3), sqlerr.CannotConnectNow, "is being written by another server")
	f.kill()
	wantErr(t, "an older copy", abort("store-1", 2), sqlerr.ObjectNotInState,
		"has epoch 3 of this sink, whose last checkpoint is of epoch 2")
	wantErr(t, "no checkpoint", abort("store-1", 0), sqlerr.ObjectNotInState,
		"has epoch 3 of this sink, whose last checkpoint is of epoch 0")

	f.spec.Options["partition_by"] = "t"
	wantErr(t, "another layout", abort("store-1", 3), sqlerr.ObjectNotInState,
		`has files of another layout (json, not partitioned) than sink "k" writes (json, partitioned by t)`)
	delete(f.spec.Options, "partition_by")

	// The older copy's commit of its last epoch.
	s, err := newSinkOn(f.spec, &disk{})
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, "an older copy's commit", s.Commit(ctx, 2, [][]byte{p2}), sqlerr.ObjectNotInState, "has epoch 3")
	_ = s.Close()

	// The directory is away, and comes back.
	if err := os.Rename(f.dir, f.dir+".away"); err != nil {
		t.Fatal(err)
	}
	s, _ = newSinkOn(f.spec, &disk{})
	f.write(w, 5)
	later := `{"version":1,"last":3}`
	wantErr(t, "away", s.Commit(ctx, 4, [][]byte{[]byte(later)}), sqlerr.IOError, "does not have epoch 3")
	if _, err := w.Prepare(ctx, 4); sqlerr.CodeOf(err) != sqlerr.UndefinedFile {
		t.Errorf("writing to a directory that is away: %v", err)
	}
	if exists(f.dir) {
		t.Error("the directory was made again")
	}
	if err := os.Rename(f.dir+".away", f.dir); err != nil {
		t.Fatal(err)
	}
	f.recover(4, []byte(later))
	f.epoch(f.writer(0), 5, 3)
	f.want("back again", "part-0000000001-000.json: "+row1, "part-0000000003-000.json: "+row2,
		"part-0000000005-000.json: "+row3)

	// A second sink that begins before the first has written anything.
	one, two := newSink(t).recover(0), newSink(t)
	two.dir = one.dir
	two.spec.Options["path"], two.spec.Identity = one.dir, "store-2"
	w1, w2 := one.writer(0), two.recover(0).writer(0)
	one.write(w1, 1)
	b := batch(2)
	defer b.Release()
	wantErr(t, "the second of two", w2.Write(ctx, b), sqlerr.CannotConnectNow, "is being written")
}

func TestSinkOptions(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"partition_by", "tt", `there is no column "tt"`},
		{"partition_by", "t, t", `column "t" is named twice`},
		{"partition_by", "id, t", "names all columns"},
		{"max_file_size", "1 kB", "must be at least 4 kB"},
		{"max_open_files", "0", "outside the valid range"},
		{"compression", "gz", `invalid value for option "compression"`},
	} {
		err := Factory.CheckSink(ctx, newSink(t, c.name, c.value).spec)
		wantErr(t, c.name+" "+c.value, err, sqlerr.InvalidParameterValue, c.want)
	}
	f := newSink(t, "partition_by", "a")
	f.spec.Columns = append(f.spec.Columns, connector.Column{Name: "a", Type: types.ArrayOf(types.TInt4)})
	wantErr(t, "an array", Factory.CheckSink(ctx, f.spec), sqlerr.InvalidParameterValue,
		"is of type integer[], which has no text")
	f = newSink(t, "roll_interval", "1 min", "format", "parquet")
	wantErr(t, "parquet", Factory.CheckSink(ctx, f.spec), sqlerr.InvalidParameterValue, "is complete with its footer only")
	f = newSink(t, "partition_by", "op", "op_column", "op")
	if f.spec.AppendOnly = false; Factory.CheckSink(ctx, f.spec) != nil {
		t.Error(Factory.CheckSink(ctx, f.spec))
	}
}

// A file is written over epochs until its time has come, and then shown.
func TestSinkRolls(t *testing.T) {
	f := newSink(t, "roll_interval", "3 s")
	at := clock.NewManual(time.Unix(1000, 0))
	f.spec.Clock = at
	w := f.recover(0).writer(0)
	k := w.(connector.KeepingWriter)
	f.epoch(w, 1, 1)
	if due := k.Due(); due != time.Unix(1003, 0).UnixMicro() {
		t.Errorf("due at %d", due)
	}
	f.want("one epoch", "_staging/part-0000000001-000.json: "+row1)
	at.Advance(2 * time.Second)
	f.epoch(w, 2, 2)
	at.Advance(time.Second)
	f.epoch(w, 3)
	shown := "part-0000000001-000.json: " + row1 + row2
	f.want("three seconds later", shown)
	if due := k.Due(); due != math.MaxInt64 {
		t.Errorf("due at %d", due)
	}
	f.epoch(w, 4, 3)
	p := f.prepare(w, 5)
	f.commit(5, p)
	f.write(w, 1)
	f.prepare(w, 6) // in no checkpoint
	f.recover(5, p)
	f.want("after a crash", "_staging/part-0000000004-000.json: "+row3, shown)
	w = f.writer(0)
	f.epoch(w, 6, 1)
	f.want("and an epoch", "_staging/part-0000000006-000.json: "+row1, shown, "part-0000000004-000.json: "+row3)
	w.(connector.KeepingWriter).Finish()
	f.epoch(w, 7)
	f.want("finished", shown, "part-0000000004-000.json: "+row3, "part-0000000006-000.json: "+row1)
}

// Thousands of partitions in one epoch need few descriptors and little memory.
func TestSinkManyPartitions(t *testing.T) {
	f := newSink(t, "partition_by", "id", "max_open_files", "5")
	f.dir = filepath.Join(ramDir(t), "out")
	f.spec.Options["path"] = f.dir
	f.recover(0)
	f.sink.(*sink).opts.heldBytes = 10_000
	w := f.writer(0).(*writer)
	open := func() int {
		des, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("only Linux tells in /proc which descriptors a process has open:", err)
		}
		return len(des)
	}
	before, most, held := open(), 0, 0
	const partitions, rounds = 2000, 4
	for range rounds {
		for lo := int64(0); lo < partitions; lo += 500 {
			var ids []int64
			for id := lo; id < lo+500; id++ {
				ids = append(ids, id)
			}
			f.write(w, ids...)
			most, held = max(most, open()-before), max(held, w.held)
		}
	}
	p := f.prepare(w, 1)
	f.commit(1, p)
	if most > 10 || held > 10_000 {
		t.Errorf("%d descriptors, %d bytes held", most, held)
	}
	for id := range partitions {
		files, err := filepath.Glob(filepath.Join(f.dir, fmt.Sprintf("id=%d/*.json", id)))
		if err != nil || len(files) != 1 || strings.Count(unpack(t, files[0]), "\n") != rounds {
			t.Fatalf("partition %d: %q, %v", id, files, err)
		}
	}
}

// Files that cannot be cut are completed when they hold too much.
func TestSinkParquet(t *testing.T) {
	f, in := chain(t, []string{"partition_by", "t", "format", "parquet"}, "format", "parquet")
	f.sink.(*sink).opts.heldBytes = 1
	w := f.writer(0)
	for e := range connector.Epoch(3) {
		f.epoch(w, e+1, int64(10*e), int64(10*e+1), int64(10*e+2))
		f.want("nothing is left", func() (all []string) {
			files, _ := filepath.Glob(filepath.Join(f.dir, "t=*/*"))
			for _, p := range files {
				text, _ := os.ReadFile(p)
				name, _ := filepath.Rel(f.dir, p)
				all = append(all, name+": "+string(text))
			}
			return all
		}()...)
	}
	src := in.source()
	rows, at, _, err := in.drain(in.open(src, ""), in.latest(src))
	in.want("parquet", rows, err, "0 1 2 12 10 11 21 22 20")
	if at != `{"epoch":3}` || rows[1] != `{"id":1,"t":"row, x"}` {
		t.Errorf("%s, %q", at, rows)
	}
}

// When an operation fails for a while nothing is lost or there twice.
func TestSinkHeals(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EACCES, syscall.EIO} {
		for _, op := range []string{"create directory", "create file", "write to file", "fsync file", "fsync directory",
			"rename file"} {
			r := &crashRun{sinkFixture: newSink(t, "partition_by", "t", "roll_interval", "2 s"), set: func(*sinkOptions) {},
				time: clock.NewManual(time.Unix(1000, 0))}
			r.spec.Clock = r.time
			var mu sync.Mutex // files are synced side by side
			fails := 0
			fail := func(s *step) error {
				mu.Lock()
				defer mu.Unlock()
				if s.op != op || fails == 10 || fails > 0 && rand.IntN(4) > 0 {
					return nil
				}
				fails++
				return cause
			}
			for try := 0; ; try++ {
				err := r.epochsOn(&disk{before: fail}, 1)
				if err == nil {
					break
				}
				if !errors.Is(err, cause) || !strings.Contains(err.Error(), "could not "+op+` "`+filepath.Dir(r.dir)) {
					t.Fatalf("%s, try %d: %v", op, try, err)
				}
				r.check(fmt.Sprintf("%s, try %d", op, try), false)
			}
			r.check(op, true)
		}
	}
}

var benchRows = func() *arrowbatch.Batch {
	var ids []int64
	for i := range int64(8192) {
		ids = append(ids, i)
	}
	return batch(ids...)
}()

// BenchmarkSinkWrite writes rows to one partition, and to three.
func BenchmarkSinkWrite(b *testing.B) {
	for _, by := range []string{"", "t"} {
		b.Run("by="+by, func(b *testing.B) {
			spec := &connector.Spec{Name: "k", Clock: clock.System{}, AppendOnly: true, Identity: "b",
				Options: map[string]string{"path": filepath.Join(b.TempDir(), "out"), "partition_by": by},
				Columns: []connector.Column{{Name: "id", Type: types.TInt8}, {Name: "t", Type: types.TText}}}
			s, err := newSinkOn(spec, &disk{})
			if err == nil {
				err = s.Abort(ctx, 0)
			}
			if err != nil {
				b.Fatal(err)
			}
			w, err := s.Open(ctx, 0)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(ctx, benchRows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*8192/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
