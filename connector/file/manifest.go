package file

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// The names of what a sink keeps beside its files. Who looks for data passes over
// names that begin with an underscore, and none of these ends as data does.
const (
	manifestDir = "_manifest"
	ownerName   = "owner" // whose directory it is, in the manifest's
	lockName    = ".lock" // held while a sink writes
	stagingDir  = "_staging"
	segmentExt  = ".ndjson"
)

// manifestVersion is that of the manifest's format.
const manifestVersion = 1

// owner says whose directory it is and what the rows in it look like.
type owner struct {
	Version     int      `json:"version"`
	Sink        string   `json:"sink"` // the identity
	Name        string   `json:"name"`
	Encode      string   `json:"encode"`
	Compression string   `json:"compression"`
	PartitionBy []string `json:"partition_by,omitempty"`
}

// segment is a file of the manifest: the files that became visible in epochs First
// to Last, one where the segment has not been merged with others.
type segment struct {
	Version int    `json:"version"`
	Sink    string `json:"sink"`
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	// Previous is the last epoch before First in which files became visible, 0 for none:
	// a segment that is missing is noticed.
	Previous uint64 `json:"previous"`
	// Epochs is in how many of them files became visible.
	Epochs int `json:"epochs"`

	files []listed
}

// listed is a file of the directory that is complete.
type listed struct {
	Path string `json:"path"` // within the directory, with slashes
	// Epoch is when it became visible, First when it was begun.
	Epoch uint64 `json:"epoch"`
	First uint64 `json:"first"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// seal is the last line of each file of the manifest.
type seal struct {
	Lines int    `json:"lines"` // before this one
	Check string `json:"check"` // of all bytes before this line
}

func (s *segment) name() string {
	if s.First == s.Last {
		return fmt.Sprintf("%010d%s", s.Last, segmentExt)
	}
	return fmt.Sprintf("%010d-%010d%s", s.First, s.Last, segmentExt)
}

// span reads a segment's name.
func span(name string) (first, last uint64, ok bool) {
	base, ok := strings.CutSuffix(name, segmentExt)
	if !ok || strings.HasPrefix(name, ".") {
		return 0, 0, false
	}
	lo, hi, two := strings.Cut(base, "-")
	if !two {
		hi = lo
	}
	first, err1 := strconv.ParseUint(lo, 10, 64)
	last, err2 := strconv.ParseUint(hi, 10, 64)
	return first, last, err1 == nil && err2 == nil && first <= last
}

// print returns the file of the lines, each as JSON, with the seal.
func sealed(lines ...any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, l := range lines {
		if err := e.Encode(l); err != nil {
			return nil, err
		}
	}
	err := e.Encode(seal{Lines: len(lines), Check: sum(b.Bytes())})
	return b.Bytes(), err
}

func sum(b []byte) string { return fmt.Sprintf("%016x", xxh3.Hash(b)) }

// unsealed returns the lines of a file of the manifest but the seal.
func unsealed(path string, raw []byte) ([][]byte, error) {
	body, ok := bytes.CutSuffix(raw, []byte{'\n'})
	at := bytes.LastIndexByte(body, '\n') + 1
	var s seal
	if !ok || at == 0 || json.Unmarshal(body[at:], &s) != nil {
		return nil, damaged(path, "is cut off")
	}
	lines := bytes.Split(bytes.TrimSuffix(raw[:at], []byte{'\n'}), []byte{'\n'})
	if s.Check != sum(raw[:at]) || s.Lines != len(lines) {
		return nil, damaged(path, "does not have the checksum that it should have")
	}
	return lines, nil
}

func damaged(path, how string) *sqlerr.Error {
	return sqlerr.New(sqlerr.DataCorrupted, `manifest file "%s" %s`, path, how).AsPermanent()
}

// readFile reads a file of the manifest; the error of one that is not there is
// fs.ErrNotExist.
func readFile(path string) ([][]byte, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, osError("read file", path, err)
	}
	return unsealed(path, raw)
}

// readOwner tells whose a directory is, nil for nobody's.
func readOwner(dir string) (*owner, error) {
	path := filepath.Join(dir, manifestDir, ownerName)
	lines, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := new(owner)
	if err := json.Unmarshal(lines[0], o); err != nil {
		return nil, damaged(path, "has a line that is no JSON")
	}
	return o, checkVersion(path, o.Version)
}

func checkVersion(path string, v int) error {
	if v == manifestVersion {
		return nil
	}
	return sqlerr.New(sqlerr.FeatureNotSupported, `manifest file "%s" has version %d, this program reads version %d`,
		path, v, manifestVersion).AsPermanent()
}

// readSegment reads a segment with its files.
func readSegment(dir, name string) (*segment, error) {
	path := filepath.Join(dir, manifestDir, name)
	lines, err := readFile(path)
	if err != nil {
		return nil, err
	}
	s := new(segment)
	if err := json.Unmarshal(lines[0], s); err != nil {
		return nil, damaged(path, "has a line that is no JSON")
	}
	if err := checkVersion(path, s.Version); err != nil {
		return nil, err
	}
	s.files = make([]listed, len(lines)-1)
	for i, l := range lines[1:] {
		if err := json.Unmarshal(l, &s.files[i]); err != nil {
			return nil, damaged(path, "has a line that is no JSON")
		}
	}
	if first, last, _ := span(name); first != s.First || last != s.Last {
		return nil, damaged(path, "is of other epochs than its name says")
	}
	return s, nil
}

// write makes the segment durable.
func (s *segment) write(d *disk, dir string) error {
	lines := make([]any, 0, len(s.files)+1)
	lines = append(lines, s)
	for i := range s.files {
		lines = append(lines, &s.files[i])
	}
	raw, err := sealed(lines...)
	if err != nil {
		return err
	}
	return d.put(filepath.Join(dir, manifestDir), s.name(), raw)
}

// names returns the segments that tell everything, in order: not those that have
// been merged into another, which are stale, nor what was not finished.
func segmentNames(dir string) (names, stale []string, err error) {
	path := filepath.Join(dir, manifestDir)
	des, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, osError("open directory", path, err)
	}
	type named struct {
		name        string
		first, last uint64
	}
	var all []named
	for _, de := range des {
		name := de.Name()
		if first, last, ok := span(name); ok {
			all = append(all, named{name, first, last})
		} else if strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") {
			stale = append(stale, name)
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.last, a.last))
	})
	reach := uint64(0)
	for _, n := range all {
		if n.last <= reach {
			stale = append(stale, n.name)
			continue
		}
		names = append(names, n.name)
		reach = n.last
	}
	return names, stale, nil
}

// manifest is what has been read of a directory's. Its segments never change, so
// each is read once.
type manifest struct {
	dir      string
	segments []*segment
}

// head is the last epoch in which files became visible, 0 for none.
func (m *manifest) head() uint64 {
	if n := len(m.segments); n > 0 {
		return m.segments[n-1].Last
	}
	return 0
}

// chainTries is how often a manifest is looked at that is being merged meanwhile.
const chainTries = 10

// read reads what is new and returns the names of files that are no longer needed.
func (m *manifest) read() (stale []string, err error) {
	for range chainTries {
		var next []*segment
		next, stale, err = m.chain()
		if err == nil {
			m.segments = next
			return stale, nil
		}
		if !errors.Is(err, errBroken) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, damaged(filepath.Join(m.dir, manifestDir), "lacks an epoch")
}

// errBroken: the segments found do not follow each other.
var errBroken = errors.New("a segment is missing")

func (m *manifest) chain() (next []*segment, stale []string, err error) {
	names, stale, err := segmentNames(m.dir)
	if err != nil {
		return nil, nil, err
	}
	known := make(map[string]*segment, len(m.segments))
	for _, s := range m.segments {
		known[s.name()] = s
	}
	before := uint64(0)
	for _, name := range names {
		s := known[name]
		if s == nil {
			if s, err = readSegment(m.dir, name); err != nil {
				return nil, nil, err
			}
		}
		if s.Previous != before {
			return nil, nil, errBroken
		}
		before = s.Last
		next = append(next, s)
	}
	if before < m.head() {
		return nil, nil, errBroken
	}
	return next, stale, nil
}

// mergeWidth is how many segments of about one size become one. Each file is written
// into a new segment as often as the number of epochs has digits.
const mergeWidth = 10

// merge merges segments at the end until there are few of each size.
func (m *manifest) merge(d *disk) error {
	for {
		n := len(m.segments) - mergeWidth
		if n < 0 {
			return nil
		}
		level := m.segments[n:]
		for _, s := range level {
			if size(s) != size(level[0]) {
				return nil
			}
		}
		one := *level[0]
		one.Last, one.Epochs, one.files = level[len(level)-1].Last, 0, nil
		for _, s := range level {
			whole, err := readSegment(m.dir, s.name())
			if err != nil {
				return err
			}
			one.Epochs += s.Epochs
			one.files = append(one.files, whole.files...)
		}
		if err := one.write(d, m.dir); err != nil {
			return err
		}
		one.files = nil
		m.segments = append(m.segments[:n:n], &one)
		for _, s := range level {
			if err := d.remove(filepath.Join(m.dir, manifestDir, s.name())); err != nil {
				return err
			}
		}
	}
}

// size is how often a segment has been merged.
func size(s *segment) int {
	n := 0
	for e := s.Epochs; e >= mergeWidth; e /= mergeWidth {
		n++
	}
	return n
}
