package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sink writes files into a directory that is its own.
type sink struct {
	opts     sinkOptions
	dir      string
	name     string
	identity string
	clock    clock.Clock
	disk     *disk

	// man is the manifest without the files in its segments; begun: it has been read,
	// and the directory is what the checkpoint says. Both belong to the coordinator.
	man   manifest
	begun bool
	// durable: every directory is, in the one above it.
	durable bool
	// after is the epoch before the first that writers write.
	after connector.Epoch
	// held are files that the last checkpoint left open. The writer of part 0 ends them.
	held []outFile

	mu      sync.Mutex // guards what follows: writers claim the directory
	claimed bool
	lock    *os.File
}

// outFile is a file that a sink writes, as checkpoints know it.
type outFile struct {
	// Name is within the staging directory, and within Dir when it is visible.
	Name  string `json:"name"`
	Dir   string `json:"dir,omitempty"` // with slashes
	First uint64 `json:"first"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// prepared is what a checkpoint knows of a part's output.
type prepared struct {
	Version int `json:"version"`
	// Last is an epoch in which files became visible before this one, 0: none is known.
	Last uint64 `json:"last,omitempty"`
	// Done are to become visible, Open are to be written on.
	Done []outFile `json:"done,omitempty"`
	Open []outFile `json:"open,omitempty"`
}

func openSink(_ context.Context, s *connector.Spec) (connector.Sink, error) {
	return newSinkOn(s, &disk{})
}

func newSinkOn(spec *connector.Spec, d *disk) (*sink, error) {
	opts, err := readSink(spec)
	if err != nil {
		return nil, err
	}
	dir := filepath.Clean(opts.path)
	switch st, err := os.Stat(dir); {
	case err == nil && !st.IsDir():
		return nil, sqlerr.New(sqlerr.WrongObjectType, `"%s" is not a directory`, opts.path).
			WithHint("A file sink writes files into a directory.").AsPermanent()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, osError("open directory", dir, err)
	}
	return &sink{opts: opts, dir: dir, name: spec.Name, identity: spec.Identity, clock: spec.Clock, disk: d,
		man: manifest{dir: dir}}, nil
}

func (s *sink) staging(name string) string { return filepath.Join(s.dir, stagingDir, name) }

// final is the path of a file that is visible.
func (s *sink) final(f *outFile) string {
	return filepath.Join(s.dir, filepath.FromSlash(f.Dir), f.Name)
}

// begin compares the directory with the checkpoint of epoch e.
func (s *sink) begin(e connector.Epoch, parts []prepared) error {
	o, err := readOwner(s.dir)
	if err != nil {
		return err
	}
	if o != nil {
		if err := s.claim(o); err != nil {
			return err
		}
	}
	stale, err := s.man.read()
	if err != nil {
		return err
	}
	want := uint64(0)
	for i := range parts {
		want = max(want, parts[i].Last)
		s.held = append(s.held, parts[i].Open...)
	}
	head := s.man.head()
	switch {
	case head > uint64(e):
		return s.ahead(e, head)
	case head < want:
		return s.lacks(want, head)
	case e == 0:
		if err := s.disk.mkdirAll(s.dir); err != nil {
			return err
		}
	}
	// What is there may not be durable: it is what a process before this one has done
	// last.
	for _, d := range []string{filepath.Dir(s.dir), s.dir, filepath.Join(s.dir, manifestDir), s.staging("")} {
		if err := s.disk.syncDir(d); err != nil && sqlerr.CodeOf(err) != sqlerr.UndefinedFile && d != filepath.Dir(s.dir) {
			return err
		}
	}
	for _, name := range stale {
		if err := s.disk.remove(filepath.Join(s.dir, manifestDir, name)); err != nil {
			return err
		}
	}
	s.forgetFiles()
	s.begun = true
	return nil
}

// forgetFiles drops the files of segments, which are of no use to a sink.
func (s *sink) forgetFiles() {
	for _, seg := range s.man.segments {
		seg.files = nil
	}
}

// claim makes the directory this sink's, or makes sure that it is; o is whose it is,
// nil: nobody's.
func (s *sink) claim(o *owner) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed {
		return nil
	}
	if o != nil && o.Sink != s.identity {
		return s.foreign(o)
	}
	dir := filepath.Join(s.dir, manifestDir)
	if err := s.disk.mkdirAll(dir); err != nil {
		return err
	}
	if err := s.lockLocked(filepath.Join(dir, lockName)); err != nil {
		return err
	}
	// Now it can have no other owner than the one that is there.
	me := owner{Version: manifestVersion, Sink: s.identity, Name: s.name, Encode: s.opts.format.Encode,
		Compression: s.opts.compression, PartitionBy: s.opts.partitionNames()}
	o, err := readOwner(s.dir)
	switch {
	case err != nil:
		return err
	case o == nil:
		raw, err := sealed(me)
		if err != nil {
			return err
		}
		if err := s.disk.put(dir, ownerName, raw); err != nil {
			return err
		}
	case o.Sink != s.identity:
		return s.foreign(o)
	case o.Encode != me.Encode || !slices.Equal(o.PartitionBy, me.PartitionBy):
		return s.another(o, &me)
	}
	if err := s.disk.mkdirAll(filepath.Join(s.dir, stagingDir)); err != nil {
		return err
	}
	s.claimed = true
	return nil
}

func (s *sink) lockLocked(path string) error {
	if s.lock != nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return osError("open file", path, err)
	}
	ok, err := tryLock(f)
	if err != nil {
		err = osError("lock file", path, err)
	} else if !ok {
		err = sqlerr.New(sqlerr.CannotConnectNow, `directory "%s" is being written by another server`, s.dir).
			WithHint("Is a server running on a copy of this one's data directory?")
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	s.lock = f
	return nil
}

func (s *sink) foreign(o *owner) error {
	return sqlerr.New(sqlerr.ObjectInUse, `directory "%s" belongs to another sink, "%s"`, s.dir, o.Name).
		WithDetail(`Its identity is %s, that of this sink is %s.`, o.Sink, s.identity).
		WithHint("Choose another directory, or remove this one if its rows are no longer needed.").AsPermanent()
}

// another is the error of a sink whose options have changed so that readers could not
// read its directory any more.
func (s *sink) another(was, is *owner) error {
	text := func(o *owner) string {
		if len(o.PartitionBy) == 0 {
			return o.Encode + ", not partitioned"
		}
		return o.Encode + ", partitioned by " + strings.Join(o.PartitionBy, ", ")
	}
	return sqlerr.New(sqlerr.ObjectNotInState,
		`directory "%s" has files of another layout (%s) than sink "%s" writes (%s)`,
		s.dir, text(was), s.name, text(is)).WithHint("Choose another directory.").AsPermanent()
}

func (s *sink) ahead(e connector.Epoch, head uint64) error {
	return sqlerr.New(sqlerr.ObjectNotInState,
		`directory "%s" has epoch %d of this sink, whose last checkpoint is of epoch %d`, s.dir, head, e).
		WithDetail("The data directory is an older copy, or another server runs on a copy of it.").
		WithHint("Drop the sink and create it again with an empty directory; rows after the checkpoint would be " +
			"written twice.").AsPermanent()
}

func (s *sink) lacks(want, head uint64) error {
	return sqlerr.New(sqlerr.IOError, `directory "%s" does not have epoch %d, which this sink has written`, s.dir, want).
		WithDetail("Its manifest ends with epoch %d: the directory was removed or replaced, or is not mounted.", head).
		WithHint("Bring the directory back, or drop the sink and create it again.")
}

// parse reads what writers prepared.
func parse(parts [][]byte) ([]prepared, error) {
	out := make([]prepared, 0, len(parts))
	for _, p := range parts {
		if len(p) == 0 {
			continue
		}
		var pr prepared
		if err := json.Unmarshal(p, &pr); err != nil || pr.Version != manifestVersion {
			return nil, sqlerr.New(sqlerr.DataCorrupted, "the prepared output of a file sink is damaged").AsPermanent()
		}
		out = append(out, pr)
	}
	return out, nil
}

// Commit gives the epoch's files their names, and then enters them in the manifest.
func (s *sink) Commit(_ context.Context, e connector.Epoch, raw [][]byte) error {
	parts, err := parse(raw)
	if err != nil {
		return err
	}
	if !s.begun {
		if err := s.begin(e, parts); err != nil {
			return err
		}
	}
	if s.man.head() >= uint64(e) {
		return nil // committed before a crash
	}
	seg := segment{Version: manifestVersion, Sink: s.identity, First: uint64(e), Last: uint64(e),
		Previous: s.man.head(), Epochs: 1}
	dirs := map[string]bool{}
	for i := range parts {
		for k := range parts[i].Done {
			f := &parts[i].Done[k]
			if err := s.publish(f, dirs); err != nil {
				return err
			}
			seg.files = append(seg.files, listed{Path: path.Join(f.Dir, f.Name), Epoch: uint64(e), First: f.First,
				Rows: f.Rows, Bytes: f.Bytes})
		}
	}
	if len(seg.files) == 0 {
		return nil
	}
	if !s.durable {
		s.above(dirs)
	}
	if err := s.syncDirs(dirs); err != nil {
		return err
	}
	slices.SortFunc(seg.files, func(a, b listed) int { return strings.Compare(a.Path, b.Path) })
	if err := seg.write(s.disk, s.dir); err != nil {
		return err
	}
	s.durable = true
	seg.files = nil
	s.man.segments = append(s.man.segments, &seg)
	return s.man.merge(s.disk)
}

// publish gives a file its name, unless it has it since before a crash, and notes
// the directories whose names change.
func (s *sink) publish(f *outFile, dirs map[string]bool) error {
	from, to := s.staging(f.Name), s.final(f)
	dir := filepath.Dir(to)
	if f.Dir != "" && !dirs[dir] {
		if err := s.disk.mkdirAll(dir); err != nil {
			return err
		}
	}
	dirs[dir] = true
	st, err := os.Stat(to)
	switch {
	case err == nil && exists(from):
		return inTheWay(to)
	case err == nil && st.Size() != f.Bytes:
		return changed(to, "has another size than the sink has written")
	case err == nil:
		return nil
	}
	return s.disk.rename(from, to)
}

func inTheWay(path string) error {
	return sqlerr.New(sqlerr.DuplicateFile, `file "%s" exists already`, path).
		WithHint("Somebody else has written to this directory: choose an empty one.").AsPermanent()
}

// syncers is how many files or directories are synced at once: a file system's
// journal takes them together.
const syncers = 8

// together calls fn for 0 to n-1, some at once.
func together(n int, fn func(i int) error) error {
	if n <= 1 {
		for i := range n {
			if err := fn(i); err != nil {
				return err
			}
		}
		return nil
	}
	g, _ := spawn.NewGroup(context.Background())
	k := min(n, syncers)
	for first := range k {
		g.Go("sync", func(ctx context.Context) error {
			for i := first; i < n && ctx.Err() == nil; i += k {
				if err := fn(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// above adds the directories that the others are in.
func (s *sink) above(dirs map[string]bool) {
	for d := range maps.Clone(dirs) {
		for ; d != s.dir && !dirs[filepath.Dir(d)]; d = filepath.Dir(d) {
			dirs[filepath.Dir(d)] = true
		}
	}
}

func (s *sink) syncDirs(dirs map[string]bool) error {
	all := make([]string, 0, len(dirs))
	for d := range dirs {
		all = append(all, d)
	}
	slices.Sort(all)
	return together(len(all), func(i int) error { return s.disk.syncDir(all[i]) })
}

// Abort removes what is in no checkpoint, and brings the files that the last one
// left open back to the length that they had then.
func (s *sink) Abort(_ context.Context, after connector.Epoch) error {
	if !s.begun {
		if err := s.begin(after, nil); err != nil {
			return err
		}
	}
	s.after = after
	keep := map[string]int64{}
	for i := range s.held {
		keep[s.held[i].Name] = s.held[i].Bytes
	}
	dir := filepath.Join(s.dir, stagingDir)
	des, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return osError("open directory", dir, err)
	}
	for _, de := range des {
		path := s.staging(de.Name())
		bytes, kept := keep[de.Name()]
		if !kept {
			if err := s.disk.remove(path); err != nil {
				return err
			}
			continue
		}
		delete(keep, de.Name())
		if err := s.restore(path, bytes); err != nil {
			return err
		}
	}
	for name := range keep {
		return osError("open file", s.staging(name), fs.ErrNotExist)
	}
	return nil
}

// restore cuts a file that was open to what of it was in the checkpoint.
func (s *sink) restore(path string, bytes int64) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return osError("stat file", path, err)
	case st.Size() < bytes:
		return sqlerr.New(sqlerr.DataCorrupted, `file "%s" has %d bytes, of %d that were written`, path, st.Size(), bytes).
			AsPermanent()
	case st.Size() > bytes:
		return s.disk.cut(path, bytes)
	}
	return nil
}

func (s *sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock, s.claimed = nil, false
	return err
}
