package file

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// osError is PostgreSQL's message for a failed operation on a file, with the
// SQLSTATE of its cause.
func osError(what, path string, err error) error {
	code := sqlerr.IOError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = sqlerr.UndefinedFile
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		code = sqlerr.InsufficientPrivilege
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		code = sqlerr.DiskFull
	}
	cause := err
	var pe *fs.PathError
	if errors.As(err, &pe) {
		cause = pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		cause = le.Err
	}
	return sqlerr.Wrap(cause, code, `could not %s "%s"`, what, path)
}

// changed is the error of a file that is not what it was.
func changed(path, how string) error {
	return sqlerr.New(sqlerr.DataCorrupted, `file "%s" %s`, path, how).
		WithHint("Files of a source must not be changed: write a new file under another name and rename it.").
		AsPermanent()
}

// removed is the error of a file that vanished before all of it was read.
func removed(path string) error {
	return sqlerr.New(sqlerr.UndefinedFile, `file "%s" was removed before it was read`, path).AsPermanent()
}

// tailMany is the error of tail with more than one file.
func tailMany(path string) error {
	return sqlerr.New(sqlerr.InvalidParameterValue, `option "tail" needs a single file, but "%s" names several`, path).
		AsPermanent()
}

// lineOf is the number of the line at a place in a file, from 1; what cannot be
// read any more is not counted.
func lineOf(path string, at int64) int {
	f, err := os.Open(path)
	if err != nil {
		return 1
	}
	defer f.Close()
	from, _ := unpacked(f)
	line, buf, rest := 1, make([]byte, chunk), io.LimitReader(from, at)
	for {
		n, err := rest.Read(buf)
		line += bytes.Count(buf[:n], []byte{'\n'})
		if err != nil {
			return line
		}
	}
}
