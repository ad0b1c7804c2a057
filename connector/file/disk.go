package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// disk is what a sink does to the file system, a step at a time. Its errors name the
// path.
type disk struct {
	// before, if it is not nil, is asked before each step and may fail it: so tests end
	// a process between any two.
	before func(s *step) error
}

// step is one operation on the file system.
type step struct {
	op   string // the words of the error message
	path string
	to   string // of a rename
	data []byte // of a write
	size int64  // of a truncation
}

func (d *disk) ask(s *step) error {
	if d.before == nil {
		return nil
	}
	if err := d.before(s); err != nil {
		return osError(s.op, s.path, err)
	}
	return nil
}

// mkdirAll makes a directory and those above it, each durable in the one above.
func (d *disk) mkdirAll(path string) error {
	if st, err := os.Stat(path); err == nil {
		if !st.IsDir() {
			return sqlerr.New(sqlerr.WrongObjectType, `"%s" is not a directory`, path).AsPermanent()
		}
		return nil
	}
	if up := filepath.Dir(path); up != path {
		if err := d.mkdirAll(up); err != nil {
			return err
		}
	}
	if err := d.ask(&step{op: "create directory", path: path}); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return osError("create directory", path, err)
	}
	return d.syncDir(filepath.Dir(path))
}

// create makes an empty file, or empties it.
func (d *disk) create(path string) (*os.File, error) {
	if err := d.ask(&step{op: "create file", path: path}); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, osError("create file", path, err)
	}
	return f, nil
}

// reopen opens a file to write on at its end.
func (d *disk) reopen(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, osError("open file", path, err)
	}
	return f, nil
}

func (d *disk) write(f *os.File, b []byte) (int, error) {
	if err := d.ask(&step{op: "write to file", path: f.Name(), data: b}); err != nil {
		return 0, err
	}
	n, err := f.Write(b)
	if err != nil {
		return n, osError("write to file", f.Name(), err)
	}
	return n, nil
}

func (d *disk) sync(f *os.File) error {
	if err := d.ask(&step{op: "fsync file", path: f.Name()}); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return osError("fsync file", f.Name(), err)
	}
	return nil
}

// syncDir makes the names in a directory durable.
func (d *disk) syncDir(path string) error {
	if err := d.ask(&step{op: "fsync directory", path: path}); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return osError("open directory", path, err)
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return osError("fsync directory", path, err)
	}
	return nil
}

func (d *disk) rename(from, to string) error {
	if err := d.ask(&step{op: "rename file", path: from, to: to}); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return osError("rename file", from, err)
	}
	return nil
}

// remove removes a file, if there is one.
func (d *disk) remove(path string) error {
	if err := d.ask(&step{op: "remove file", path: path}); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return osError("remove file", path, err)
	}
	return nil
}

// cut takes off a file what is behind size.
func (d *disk) cut(path string, size int64) error {
	if err := d.ask(&step{op: "truncate file", path: path, size: size}); err != nil {
		return err
	}
	f, err := d.reopen(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return osError("truncate file", path, err)
	}
	return d.sync(f)
}

// put makes a durable file with content, which has its name only when it is whole.
func (d *disk) put(dir, name string, content []byte) error {
	temp := filepath.Join(dir, "."+name+".tmp")
	f, err := d.create(temp)
	if err != nil {
		return err
	}
	if _, err = d.write(f, content); err == nil {
		err = d.sync(f)
	}
	if cerr := f.Close(); err == nil && cerr != nil {
		err = osError("close file", temp, cerr)
	}
	if err == nil {
		err = d.rename(temp, filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(temp) // room for another try; else the next start removes it
		return err
	}
	return d.syncDir(dir)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
