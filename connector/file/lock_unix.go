//go:build unix

package file

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open file for this process; ok is false where another holds the
// lock. It ends when the file is closed, at the process's end at the latest.
func tryLock(f *os.File) (ok bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS):
		return true, nil // a file system without locks
	}
	return false, err
}
