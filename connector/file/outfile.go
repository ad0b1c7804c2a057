package file

import (
	"os"
	"slices"
)

// partFile is a file that a writer writes.
type partFile struct {
	outFile
	w     *writer
	key   string // of its partition
	begun int64  // microseconds since the Unix epoch
	out   fileWriter
	// f is nil where the descriptor was given to another file; used tells which has
	// been without use for the longest.
	f     *os.File
	used  uint64
	dirty bool // written since it was last synced
	held  int  // in memory, as far as the writer has counted it
}

// Write writes to the file's end; the file's encoder calls it.
func (p *partFile) Write(b []byte) (int, error) {
	if err := p.open(); err != nil {
		return 0, err
	}
	p.dirty = true
	n, err := p.w.sink.disk.write(p.f, b)
	p.Bytes += int64(n)
	return n, err
}

// open makes sure that there is a descriptor.
func (p *partFile) open() error {
	p.w.uses++
	p.used = p.w.uses
	if p.f != nil {
		return nil
	}
	if err := p.w.makeRoom(); err != nil {
		return err
	}
	d, path := p.w.sink.disk, p.w.sink.staging(p.Name)
	var err error
	if p.Bytes == 0 {
		p.f, err = d.create(path)
		p.w.created = true
	} else {
		p.f, err = d.reopen(path)
	}
	if err == nil {
		p.w.open = append(p.w.open, p)
	}
	return err
}

// shut gives the descriptor back.
func (p *partFile) shut() error {
	if p.f == nil {
		return nil
	}
	err := p.f.Close()
	if err != nil {
		err = osError("close file", p.f.Name(), err)
	}
	p.f = nil
	p.w.open = slices.DeleteFunc(p.w.open, func(o *partFile) bool { return o == p })
	return err
}

// sync makes what was written durable. It opens the file for itself where it has no
// descriptor, and so may be called for several files at once.
func (p *partFile) sync() error {
	if !p.dirty {
		return nil
	}
	f := p.f
	if f == nil {
		var err error
		if f, err = p.w.sink.disk.reopen(p.w.sink.staging(p.Name)); err != nil {
			return err
		}
		defer f.Close()
	}
	if err := p.w.sink.disk.sync(f); err != nil {
		return err
	}
	p.dirty = false
	return nil
}
