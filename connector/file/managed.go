package file

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// A directory that a sink writes is read by its manifest: the files of epochs that are
// whole, in the order of the epochs.

// managed is what a source knows of such a directory. It is guarded by the source's
// mu.
type managed struct {
	owner *owner
	man   manifest
	files []entry
	head  uint64 // what files was made from
}

// look tells whether the directory is a sink's, from when on it stays so.
func (m *managed) look(dir string) (bool, error) {
	if m.owner != nil {
		return true, nil
	}
	if !exists(filepath.Join(dir, manifestDir)) {
		return false, nil
	}
	o, err := readOwner(dir)
	m.owner, m.man.dir = o, dir
	return o != nil, err
}

// list returns the files in the manifest, by epoch and path.
func (m *managed) list() ([]entry, error) {
	if _, err := m.man.read(); err != nil {
		return nil, err
	}
	if m.man.head() == m.head && m.files != nil {
		return m.files, nil
	}
	at := sort.Search(len(m.files), func(i int) bool { return m.files[i].epoch > m.head })
	files := slices.Clone(m.files[:at]) // a listing is in use elsewhere
	for _, s := range m.man.segments {
		if s.Last <= m.head {
			continue
		}
		for _, l := range s.files {
			if l.Epoch > m.head {
				files = append(files, entry{name: l.Path, size: l.Bytes, epoch: l.Epoch})
			}
		}
	}
	m.files, m.head = files, m.man.head()
	return files, nil
}

// after returns the entries of epochs behind e, all for 0: files that no sink has
// written are in none.
func after(all []entry, e uint64) []entry {
	if e == 0 {
		return all
	}
	return all[sort.Search(len(all), func(i int) bool { return all[i].epoch > e }):]
}

// reached is the offset of a split that has read the files in done. mine are its files of
// epochs behind from, up to which it has read all.
func reached(mine []entry, from uint64, done map[string]int64) progress {
	p := progress{Epoch: from, Done: map[string]int64{}}
	for _, f := range mine {
		if _, read := done[f.name]; !read {
			p.Epoch = max(p.Epoch, f.epoch-1)
			break
		}
		p.Epoch = f.epoch // unless one of the same is not read, which comes next
	}
	for _, f := range mine {
		if _, read := done[f.name]; read && f.epoch > p.Epoch {
			p.Done[f.name] = f.size
		}
	}
	return p
}

// ofSplit returns the entries of a split in epochs behind e.
func (s *source) ofSplit(split string, all []entry, e uint64) []entry {
	all = after(all, e)
	if s.opts.splits == 1 {
		return all
	}
	var out []entry
	for _, f := range all {
		if s.mine(split, f.name) {
			out = append(out, f)
		}
	}
	return out
}

// pass forgets the files of epochs of which all have been read, when one has been that
// is not followed by another of its epoch: the offset names the last such epoch.
func (r *reader) pass(left entry) {
	if left.epoch == 0 || len(r.next) > 0 && r.next[0].epoch == left.epoch {
		return
	}
	r.src.mu.Lock()
	defer r.src.mu.Unlock()
	p := reached(r.src.ofSplit(r.split, r.src.managed.files, r.pos.Epoch), r.pos.Epoch, r.pos.Done)
	r.pos.Epoch, r.pos.Done = p.Epoch, p.Done
	r.text.reset(p.Done)
}

// partitionColumns are the columns that the paths of files say, by their numbers.
func (s *source) partitionColumns() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.opts.partition
	if s.managed.owner != nil {
		names = s.managed.owner.PartitionBy
	}
	var out []int
	for _, n := range names {
		if i := slices.IndexFunc(s.spec.Columns, func(c connector.Column) bool { return c.Name == n }); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// layout says what of a source's columns a file has, and what its path.
type layout struct {
	path string // the directories
	// inFile are the columns in the file, inPath the others, and values those.
	inFile []connector.Column
	inPath []int
	values []*arrowbatch.Vec // a row each
}

// layoutOf reads the path of a file. It returns was where that fits.
func (s *source) layoutOf(name string, was *layout) (*layout, error) {
	dir := filepath.Dir(name)
	at := s.partitionColumns()
	if was != nil && slices.Equal(was.inPath, at) && (was.path == dir || len(at) == 0) {
		return was, nil
	}
	l := &layout{path: dir, inPath: at}
	for i, c := range s.spec.Columns {
		if !slices.Contains(at, i) {
			l.inFile = append(l.inFile, c)
		}
	}
	given := partitionValues(filepath.ToSlash(name))
	for _, i := range at {
		c := s.spec.Columns[i]
		k := slices.IndexFunc(given, func(v partitionValue) bool { return v.column == c.Name })
		if k < 0 {
			return nil, sqlerr.New(sqlerr.DataCorrupted, `the path of file "%s" has no value of partition column "%s"`,
				s.at.file(name), c.Name).AsPermanent()
		}
		v := arrowbatch.NewVec(c.Type.Shape(), 0)
		l.values = append(l.values, v)
		if given[k].null {
			if c.NotNull {
				return nil, sqlerr.New(sqlerr.NotNullViolation, `null value in column "%s" in the path of file "%s"`, c.Name,
					s.at.file(name)).AsPermanent()
			}
			v.AppendNull()
			continue
		}
		if err := types.ParseString(c.Type, given[k].text, v, nil); err != nil {
			e := sqlerr.From(err)
			return nil, sqlerr.New(e.Code, `could not read column "%s" in the path of file "%s": %s`, c.Name,
				s.at.file(name), e.Message).AsPermanent()
		}
	}
	return l, nil
}

// widen adds the columns that the path says to a batch of those in the file.
func (l *layout) widen(b *arrowbatch.Batch) *arrowbatch.Batch {
	if l == nil || len(l.inPath) == 0 || b == nil {
		return b
	}
	cols := make([]*arrowbatch.Vec, 0, len(l.inFile)+len(l.inPath))
	rest := b.Cols
	for i := range len(l.inFile) + len(l.inPath) {
		k := slices.Index(l.inPath, i)
		if k < 0 {
			cols, rest = append(cols, rest[0]), rest[1:]
			continue
		}
		v := arrowbatch.NewVec(l.values[k].Shape(), 0)
		for range b.Len {
			v.AppendFrom(l.values[k], 0)
		}
		cols = append(cols, v)
	}
	b.Cols = cols
	return b
}

// below returns the files in directories that are named after partitions.
func (p place) below(dir string) (found []string, err error) {
	path := filepath.Join(p.path, dir)
	des, err := os.ReadDir(path)
	if err != nil {
		return nil, osError("open directory", path, err)
	}
	for _, de := range des {
		name := filepath.Join(dir, de.Name())
		if !de.IsDir() {
			found = append(found, name)
			continue
		}
		if p.partitions && len(partitionValues(de.Name()+"/")) == 1 && !ignored(de.Name()) {
			more, err := p.below(name)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
	}
	return found, nil
}

// unescapePath is the way back. What is no escape stands for itself.
func unescapePath(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// partitionValue is a value that the path of a file has.
type partitionValue struct {
	column string
	text   string
	null   bool
}

// partitionValues reads the directories of a file's path.
func partitionValues(path string) []partitionValue {
	var out []partitionValue
	dirs := strings.Split(path, "/")
	for _, d := range dirs[:len(dirs)-1] {
		name, value, ok := strings.Cut(d, "=")
		if !ok {
			continue
		}
		out = append(out, partitionValue{unescapePath(name), unescapePath(value), value == nullPartition})
	}
	return out
}
