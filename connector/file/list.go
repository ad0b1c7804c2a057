package file

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// entry is a file that was there when the path was listed.
type entry struct {
	name  string // within the directory; as matched, for a pattern
	size  int64
	mtime int64 // nanoseconds
	// epoch is when a sink has shown it, in a directory that is a sink's; else 0.
	epoch uint64
}

// place is what a path names.
type place struct {
	path    string
	pattern bool
	dir     bool
	// partitions: the files of directories that are named after partitions are read too.
	partitions bool
}

// look tells what the path names; a file or directory must be there.
func look(path string) (place, error) {
	p := place{path: filepath.Clean(path)}
	st, err := os.Stat(p.path)
	switch {
	case err == nil && st.IsDir():
		p.dir = true
	case err == nil && !st.Mode().IsRegular():
		return p, sqlerr.New(sqlerr.WrongObjectType, `"%s" is not a regular file`, path).AsPermanent()
	case err == nil:
	case strings.ContainsAny(path, "*?["):
		p.pattern = true
		if _, err := filepath.Match(p.path, ""); err != nil {
			return p, sqlerr.New(sqlerr.InvalidParameterValue, `"%s" is no valid file pattern`, path).AsPermanent()
		}
	default:
		return p, osError("open file", path, err)
	}
	return p, nil
}

// file returns the path of the file of an entry's name.
func (p place) file(name string) string {
	if p.dir {
		return filepath.Join(p.path, name)
	}
	return name
}

// ignored tells whether a file is hidden or not complete yet.
func ignored(base string) bool {
	return base[0] == '.' || base[0] == '_' || strings.HasSuffix(base, ".tmp")
}

// list returns the files there are now, sorted by name.
func (p place) list() ([]entry, error) {
	if !p.dir && !p.pattern {
		st, err := os.Stat(p.path)
		if err != nil {
			return nil, osError("open file", p.path, err)
		}
		return []entry{{name: p.path, size: st.Size(), mtime: st.ModTime().UnixNano()}}, nil
	}
	names, err := p.names()
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(names))
	for _, name := range names {
		st, err := os.Stat(p.file(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since it was listed
		}
		if err != nil {
			return nil, osError("stat file", p.file(name), err)
		}
		if st.Mode().IsRegular() {
			out = append(out, entry{name: name, size: st.Size(), mtime: st.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(out, byName)
	return out, nil
}

func (p place) names() (names []string, err error) {
	var found []string
	if p.pattern {
		if found, err = filepath.Glob(p.path); err != nil {
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, `"%s" is no valid file pattern`, p.path)
		}
	} else if found, err = p.below(""); err != nil {
		return nil, err
	}
	for _, name := range found {
		if !ignored(filepath.Base(name)) {
			names = append(names, name)
		}
	}
	return names, nil
}

func byName(a, b entry) int { return strings.Compare(a.name, b.name) }

func byTime(a, b entry) int { return cmp.Or(cmp.Compare(a.mtime, b.mtime), byName(a, b)) }
