package file

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
)

var errKilled = errors.New("the process has ended")

// crasher ends a process before one of its steps on the file system. It knows what
// of the earlier ones would be lost if the power went.
type crasher struct {
	mu     sync.Mutex
	steps  int
	killAt int // the number of the step, from 0
	dead   bool

	synced  map[string]int64 // bytes of a file that are durable, all if it is missing here
	pending []pendingName    // names that are not
}

// pendingName is a change of a directory that is not durable.
type pendingName struct {
	dir  string
	undo func() error
}

func (c *crasher) before(s *step) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errKilled
	}
	c.steps++
	if c.steps > c.killAt {
		c.dead = true
		if s.op == "write to file" { // a part of it
			if f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
				_, _ = f.Write(s.data[:len(s.data)/2])
				_ = f.Close()
			}
		}
		return errKilled
	}
	c.note(s)
	return nil
}

// note notes what the step changes.
func (c *crasher) note(s *step) {
	change := func(dir string, undo func() error) { c.pending = append(c.pending, pendingName{dir, undo}) }
	switch s.op {
	case "create directory":
		change(filepath.Dir(s.path), func() error { return os.RemoveAll(s.path) })
	case "create file":
		c.synced[s.path] = 0
		if !exists(s.path) {
			change(filepath.Dir(s.path), func() error { return os.Remove(s.path) })
		}
	case "rename file":
		c.moved(s.path, s.to)
		change(filepath.Dir(s.to), func() error {
			c.moved(s.to, s.path)
			return os.Rename(s.to, s.path)
		})
	case "remove file":
		if text, err := os.ReadFile(s.path); err == nil {
			change(filepath.Dir(s.path), func() error { return os.WriteFile(s.path, text, 0o600) })
		}
	case "fsync file":
		if st, err := os.Stat(s.path); err == nil {
			c.synced[s.path] = st.Size()
		}
	case "fsync directory":
		c.pending = slices.DeleteFunc(c.pending, func(p pendingName) bool { return p.dir == s.path })
	}
}

func (c *crasher) moved(from, to string) {
	if n, ok := c.synced[from]; ok {
		c.synced[to] = n
		delete(c.synced, from)
	}
}

// again lets a process begin in which the kill is somewhere else.
func (c *crasher) again(killAt int) { c.steps, c.killAt, c.dead = 0, killAt, false }

// powerFails loses of what is not durable all names after some of them, and a part
// of each file's end.
func (c *crasher) powerFails(t *testing.T, rng *rand.Rand) {
	keep := rng.IntN(len(c.pending) + 1)
	for _, p := range slices.Backward(c.pending[keep:]) {
		if err := p.undo(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.synced)) {
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		if lost := st.Size() - c.synced[path]; lost > 0 {
			if err := os.Truncate(path, st.Size()-rng.Int64N(lost+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	clear(c.synced)
	c.pending = nil
}

// crashRun is a query whose sink is crashed: what its coordinator and sources do.
type crashRun struct {
	*sinkFixture
	set  func(o *sinkOptions)
	time *clock.Manual
	c    *crasher
	// The checkpoint: ids below next are in it.
	epoch    connector.Epoch
	next     int64
	prepared [][]byte
}

const (
	crashEpochs = 14
	crashIDs    = 9 // an epoch
)

// run goes on from the checkpoint until it is killed, false, or the end.
func (r *crashRun) run(parts int) (done bool) {
	r.t.Helper()
	err := r.epochs(parts)
	if err != nil && !errors.Is(err, errKilled) {
		r.t.Fatalf("step %d: %v", r.c.steps, err)
	}
	return err == nil
}

func (r *crashRun) epochs(parts int) error { return r.epochsOn(&disk{before: r.c.before}, parts) }

func (r *crashRun) epochsOn(d *disk, parts int) error {
	r.kill()
	s, err := newSinkOn(r.spec, d)
	if err != nil {
		return err
	}
	r.sink = s
	r.set(&s.opts)
	if r.prepared != nil {
		if err := s.Commit(ctx, r.epoch, r.prepared); err != nil {
			return err
		}
	}
	if err := s.Abort(ctx, r.epoch); err != nil {
		return err
	}
	ws := make([]connector.Writer, parts)
	for i := range ws {
		ws[i] = r.writer(i)
	}
	for r.epoch < crashEpochs || r.next < crashEpochs*crashIDs {
		if err := r.oneEpoch(ws); err != nil {
			return err
		}
	}
	for _, w := range ws {
		w.(connector.KeepingWriter).Finish()
	}
	return r.oneEpoch(ws)
}

func (r *crashRun) oneEpoch(ws []connector.Writer) error {
	next := r.next
	for range crashIDs {
		if next == crashEpochs*crashIDs {
			break
		}
		b := batch(next)
		err := ws[next%int64(len(ws))].Write(ctx, b)
		b.Release()
		if err != nil {
			return err
		}
		next++
	}
	var prepared [][]byte
	for _, w := range ws {
		p, err := w.Prepare(ctx, r.epoch+1)
		if err != nil {
			return err
		}
		prepared = append(prepared, p)
	}
	r.epoch, r.next, r.prepared = r.epoch+1, next, prepared
	r.time.Advance(time.Second)
	return r.sink.Commit(ctx, r.epoch, r.prepared)
}

// check compares what can be seen with the checkpoint: by the manifest, and by the
// names of files.
func (r *crashRun) check(what string, end bool) {
	r.t.Helper()
	m := manifest{dir: r.dir}
	if _, err := m.read(); err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
	seen := map[int64]int{}
	listed := map[string]bool{}
	for _, s := range m.segments {
		for _, l := range s.files {
			path := filepath.Join(r.dir, filepath.FromSlash(l.Path))
			listed[path] = true
			st, err := os.Stat(path)
			if err != nil || st.Size() != l.Bytes || l.Epoch < s.First || l.Epoch > s.Last || l.First > l.Epoch {
				r.t.Errorf("%s: %+v in epochs %d to %d: %v", what, l, s.First, s.Last, err)
				continue
			}
			if n := r.ids(path, seen); n != l.Rows {
				r.t.Errorf("%s: %d rows in %+v", what, n, l)
			}
		}
	}
	for _, path := range r.visible() {
		if !listed[path] {
			if end {
				r.t.Errorf("%s: %s is not in the manifest", what, path)
			}
			r.ids(path, seen)
		}
	}
	for id, n := range seen {
		if n > 1 || id >= r.next {
			r.t.Errorf("%s: id %d is there %d times, the checkpoint is at %d", what, id, n, r.next)
		}
	}
	if end && int64(len(seen)) != r.next {
		r.t.Errorf("%s: %d ids of %d", what, len(seen), r.next)
	}
}

// visible are the files that readers take for data.
func (r *crashRun) visible() (out []string) {
	_ = filepath.WalkDir(r.dir, func(path string, de fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // nothing has been made yet
		case path != r.dir && ignored(de.Name()):
			if de.IsDir() {
				return fs.SkipDir
			}
		case !de.IsDir():
			out = append(out, path)
		}
		return nil
	})
	return out
}

// ids counts the ids of a file, all of whose rows must be whole.
func (r *crashRun) ids(path string, seen map[int64]int) (rows int64) {
	text := unpack(r.t, path)
	if !strings.HasSuffix(text, "\n") {
		r.t.Errorf("%s ends within a row", path)
	}
	for line := range strings.Lines(text) {
		var id int64
		if _, err := fmt.Sscanf(line, `{"id":%d`, &id); err != nil || !strings.HasSuffix(line, "}\n") {
			r.t.Errorf("%s: %q, %v", path, line, err)
		}
		seen[id]++
		rows++
	}
	return rows
}

// ramDir is a directory whose syncs take no time, where there is such a thing.
func ramDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "streamsql")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// crashSinks are sinks of all kinds: plain ones, and such as do everything that a
// sink can do.
var crashSinks = map[string]struct {
	opts map[string]string
	set  func(o *sinkOptions)
}{
	"plain": {nil, func(*sinkOptions) {}},
	"partitioned": {map[string]string{"partition_by": "t", "max_open_files": "2"},
		func(o *sinkOptions) { o.heldBytes = 100 }},
	"rolled": {map[string]string{"roll_interval": "3 s"}, func(*sinkOptions) {}},
	"rolled by size": {map[string]string{"roll_interval": "6 s", "max_file_size": "4 kB", "compression": "gzip"},
		func(o *sinkOptions) { o.maxSize = 150 }},
	"all": {map[string]string{"roll_interval": "4 s", "max_file_size": "4 kB", "partition_by": "t", "max_open_files": "1"},
		func(o *sinkOptions) { o.heldBytes, o.maxSize = 200, 300 }},
}

// TestSinkCrashPoints kills a sink between two of its steps on the file system, half
// of the times with the power, and now and then again while it recovers. Of all rows
// each is visible once in the end, none before its checkpoint. With
// STREAMSQL_CRASH_POINTS it does so before every step.
func TestSinkCrashPoints(t *testing.T) {
	for name, kind := range crashSinks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 3))
			start := func(killAt int) *crashRun {
				r := &crashRun{sinkFixture: newSink(t), set: kind.set, time: clock.NewManual(time.Unix(1000, 0))}
				r.dir = filepath.Join(ramDir(t), "out")
				r.spec.Clock = r.time
				maps.Copy(r.spec.Options, kind.opts)
				r.spec.Options["path"] = r.dir
				r.c = &crasher{killAt: killAt, synced: map[string]int64{}}
				return r
			}
			r := start(math.MaxInt)
			r.run(2)
			r.check("undisturbed", true)
			steps := r.c.steps
			// A kill at each of them takes minutes of syncs; a run of the test has some.
			stride := 1
			if os.Getenv("STREAMSQL_CRASH_POINTS") == "" {
				stride = max(steps/25, 1)
			}
			for n := rng.IntN(stride); n < steps; n += stride {
				r := start(n)
				for again := 0; !r.run(1 + (n+again)%2); again++ {
					what := fmt.Sprintf("killed at step %d, the %d. time", n, again+1)
					r.kill()
					if rng.IntN(2) == 0 {
						r.c.powerFails(t, rng)
						what += ", power lost"
					}
					r.check(what, false)
					killAt := math.MaxInt
					if again < 3 && rng.IntN(3) == 0 {
						killAt = rng.IntN(40)
					}
					r.c.again(killAt)
				}
				r.check(fmt.Sprintf("step %d, in the end", n), true)
				if t.Failed() {
					return
				}
				_ = os.RemoveAll(r.dir)
			}
			t.Logf("%d steps", steps)
		})
	}
}
