package state

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// unfinished is the file that is there while a store is made. Pebble's first files
// are not atomic: after a crash among them some may be missing, and the directory
// would never open again. With the mark there, nothing was promised yet, and what
// the directory has of a store is removed and made anew.
const unfinished = "UNFINISHED"

// begin readies a directory: it removes what a crash has left of a store's making,
// and marks the directory if there is no store. finish takes the mark away.
func begin(fs vfs.FS, dir string) (finish func() error, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	marked := slices.Contains(names, unfinished)
	if !marked && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "marker.manifest.") }) {
		return func() error { return nil }, dropMarker(fs, dir, names)
	}
	mark := fs.PathJoin(dir, unfinished)
	if !marked {
		f, err := fs.Create(mark, vfs.WriteCategoryUnspecified)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close(), syncDir(fs, dir))
		}
		if err != nil {
			return nil, err
		}
	}
	for _, n := range names {
		if marked && ofStore(n) {
			if err := fs.Remove(fs.PathJoin(dir, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
	}
	if err := syncDir(fs, dir); err != nil {
		return nil, err
	}
	return func() error {
		// Everything must be on the disk before the mark is gone from it.
		return errors.Join(syncDir(fs, dir), fs.Remove(mark), syncDir(fs, dir))
	}, nil
}

// dropMarker removes the newest marker of a manifest that is not there. Pebble makes a
// manifest, then a marker that names it, then syncs the directory for both, and only
// then removes the marker before it: a crash in between may leave the new marker
// without its manifest, beside the old one with all that counts.
func dropMarker(fs vfs.FS, dir string, names []string) error {
	const prefix = "marker.manifest."
	var markers []string
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			markers = append(markers, n)
		}
	}
	slices.Sort(markers) // a counter of a fixed width follows the prefix
	for len(markers) > 1 {
		last := markers[len(markers)-1]
		_, manifest, _ := strings.Cut(last[len(prefix):], ".")
		if slices.Contains(names, manifest) {
			return nil
		}
		if err := fs.Remove(fs.PathJoin(dir, last)); err != nil {
			return err
		}
		if err := syncDir(fs, dir); err != nil {
			return err
		}
		markers = markers[:len(markers)-1]
	}
	return nil
}

// makeDir makes a directory that a crash does not lose.
func makeDir(fs vfs.FS, dir string) error {
	made := []string{}
	for d := dir; ; d = fs.PathDir(d) {
		if _, err := fs.Stat(d); err == nil || fs.PathDir(d) == d {
			break
		}
		made = append(made, d)
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range made {
		if err := syncDir(fs, fs.PathDir(d)); err != nil {
			return err
		}
	}
	return nil
}

// ofStore tells the names of files that Pebble makes.
func ofStore(name string) bool {
	patterns := []string{"MANIFEST-*", "OPTIONS-*", "marker.*", "CURRENT", "*.log", "*.sst", "*.blob", "*.dbtmp"}
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
