package file

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// chunk is what is read from a file at once.
const chunk = 256 << 10

// input is an open file with the part of it that is in memory.
type input struct {
	path string
	f    *os.File
	// from is what is read: f, or what comes out of it where it is packed. Places are in
	// what comes out; size is f's then.
	from   io.Reader
	packed bool
	size   int64
	// buf[lo:hi] has been read from the file and not decoded; buf[:lo] has been
	// decoded, and holds at least checkBytes of it where there are as many.
	buf    []byte
	lo, hi int
	at     int64 // place in the file of buf[lo]
	head   []byte
	eof    bool // the file has no more bytes, for now if it is tailed
	tail   bool
	begun  bool
	max    int // bytes of a record
	// skip: the rest of a record that is too long is left out; the place to go on
	// from is its start until then.
	skip  bool
	start int64
	check string
}

// state is where decode stopped.
type state uint8

const (
	inFile    state = iota
	atFileEnd       // every record is decoded
	atBound         // nothing more for now
)

// file opens a file of the source.
func (s *source) file(name string) (f *os.File, path string, err error) {
	path = s.at.file(name)
	f, err = os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && s.many() {
		return nil, path, removed(path)
	}
	if err != nil {
		return nil, path, osError("open file", path, err)
	}
	return f, path, nil
}

func (s *source) open(name string) (*input, error) {
	f, path, err := s.file(name)
	if err != nil {
		return nil, err
	}
	in := &input{path: path, f: f, buf: make([]byte, checkBytes+chunk), tail: s.opts.tail, max: s.opts.maxRecord}
	if in.from, in.packed = unpacked(f); in.packed {
		st, err := f.Stat()
		if err != nil {
			in.close()
			return nil, osError("stat file", path, err)
		}
		in.size = st.Size()
	}
	return in, nil
}

// resume opens the file in work at its place.
func (s *source) resume(p *progress, dec *format.Decoder) (*input, error) {
	in, err := s.open(p.File)
	if err != nil {
		return nil, err
	}
	if err := in.seek(p, dec); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// seek moves to the place, and lets the decoder see the file's beginning.
func (in *input) seek(p *progress, dec *format.Decoder) error {
	st, err := in.f.Stat()
	if err != nil {
		return osError("stat file", in.path, err)
	}
	if st.Size() < p.At && !in.packed {
		return changed(in.path, "became shorter after a part of it had been read")
	}
	n, err := in.begin(dec)
	if err != nil || p.At <= int64(n) {
		p.At = int64(n)
		return err
	}
	if _, err := dec.Begin(in.buf[:in.hi], in.eof && !in.tail, true); err != nil {
		return err
	}
	// The beginning and what is before the place must be the same bytes.
	keep := int(min(p.At, checkBytes))
	in.head = make([]byte, keep)
	if in.packed {
		err = in.skipPacked(p.At, keep)
	} else if _, err = in.f.ReadAt(in.head, 0); err == nil {
		_, err = in.f.ReadAt(in.buf[:keep], p.At-int64(keep))
	}
	if err != nil {
		return in.failed(err)
	}
	in.lo, in.hi, in.eof, in.at = keep, keep, false, p.At
	if got := in.hash(); p.Check != "" && got != p.Check {
		return changed(in.path, "was replaced after a part of it had been read")
	}
	if in.packed {
		return nil
	}
	if _, err := in.f.Seek(p.At, io.SeekStart); err != nil {
		return osError("seek in file", in.path, err)
	}
	return nil
}

// skipPacked reads a packed file again from its beginning to a place, with the bytes
// at the beginning and before the place.
func (in *input) skipPacked(at int64, keep int) error {
	if _, err := in.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in.shut()
	in.from, _ = unpacked(in.f)
	if _, err := io.ReadFull(in.from, in.head); err != nil {
		return err
	}
	// The two may overlap: what is before the place begins within the head, then.
	from := at - int64(keep)
	n := copy(in.buf[:keep], in.head[min(from, int64(keep)):])
	if skip := from - int64(keep); skip > 0 {
		if _, err := io.CopyN(io.Discard, in.from, skip); err != nil {
			return err
		}
	}
	_, err := io.ReadFull(in.from, in.buf[n:keep])
	return err
}

// failed is the error of a file that cannot be read.
func (in *input) failed(err error) error {
	var pe *fs.PathError
	if !in.packed || errors.As(err, &pe) {
		return osError("read file", in.path, err)
	}
	return sqlerr.New(sqlerr.DataCorrupted, `could not unpack file "%s": %s`, in.path, err).AsPermanent()
}

// begin reads the file's beginning and returns where its records begin. A tailed
// file may have no beginning yet: begun stays false.
func (in *input) begin(dec *format.Decoder) (int, error) {
	for {
		if err := in.more(); err != nil {
			return 0, err
		}
		n, err := dec.Begin(in.buf[in.lo:in.hi], in.eof && !in.tail, false)
		if err != nil {
			return 0, err
		}
		switch {
		case n >= 0:
			in.begun = true
			in.take(n)
			return n, nil
		case in.eof:
			return 0, nil
		case in.hi-in.lo > in.max:
			return 0, &format.RecordError{Err: tooLong(in.max)}
		}
	}
}

// take moves the place n bytes on.
func (in *input) take(n int) {
	if want := checkBytes - len(in.head); want > 0 && in.at == int64(len(in.head)) {
		in.head = append(in.head, in.buf[in.lo:in.lo+min(n, want)]...)
	}
	in.lo += n
	in.at += int64(n)
}

// back moves the place n bytes back, as far as the last decode moved it on.
func (in *input) back(n int) {
	in.lo -= n
	in.at -= int64(n)
	in.skip = false
	in.head = in.head[:min(int64(len(in.head)), in.at)]
}

// more reads on; the undecoded part stays in the buffer.
func (in *input) more() error {
	keep := max(in.lo-checkBytes, 0)
	if in.hi == len(in.buf) && keep > 0 {
		copy(in.buf, in.buf[keep:in.hi])
		in.lo, in.hi = in.lo-keep, in.hi-keep
	}
	if in.hi == len(in.buf) {
		in.buf = append(in.buf, make([]byte, len(in.buf))...)
	}
	n, err := in.from.Read(in.buf[in.hi:])
	in.hi += n
	switch {
	case errors.Is(err, io.EOF):
		in.eof = true
	case err != nil:
		return in.failed(err)
	default:
		in.eof = false
	}
	return nil
}

// decode decodes records up to the limit, a place in the file (-1: its end), or
// until the decoder has rows rows, and returns the number of bytes decoded. A bad
// record is a *format.RecordError, and decoded.
func (in *input) decode(dec *format.Decoder, limit int64, rows int) (n int, at state, err error) {
	if !in.begun {
		if n, err = in.begin(dec); err != nil || !in.begun {
			return n, atBound, err
		}
	}
	if limit >= 0 && in.at >= limit {
		return n, atBound, nil
	}
	if in.skip {
		at, err = in.skipOn(limit)
		return n, at, err
	}
	end := in.hi
	if limit >= 0 {
		end = int(min(int64(end), int64(in.lo)+limit-in.at))
	}
	whole := in.eof && !in.tail
	n, err = dec.Decode(in.buf[in.lo:end], whole, rows)
	in.take(n)
	switch {
	case err != nil || n > 0 && dec.Len() == rows:
		return n, inFile, err
	case n > 0 && in.lo < end:
		return n, inFile, nil
	case whole && in.lo == in.hi:
		return n, atFileEnd, nil
	case limit >= 0 && in.at+int64(in.hi-in.lo) >= limit:
		return n, atBound, nil // what is left before the bound is no whole record
	case in.eof && in.tail:
		in.eof = false // ask again: at once where the bound says that there is more
		if limit < 0 {
			return n, atBound, nil
		}
		if err := in.more(); err != nil || in.eof {
			return n, atBound, err
		}
		return n, inFile, nil
	case in.hi-in.lo > in.max:
		return in.overlong(n)
	}
	return n, inFile, in.more()
}

// overlong skips a record that is too long, to the end of the line; what is not in
// the buffer yet is left to skipOn.
func (in *input) overlong(n int) (int, state, error) {
	rest := in.buf[in.lo:in.hi]
	// The end of the line before may be left over.
	blank := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
	before := bytes.LastIndexByte(rest[:blank], '\n') + 1
	end := in.hi
	if j := bytes.IndexByte(rest[before:], '\n'); j >= 0 {
		end = in.lo + before + j + 1
	} else {
		in.start, in.check, in.skip = in.at, in.hash(), true
	}
	m := end - in.lo
	in.take(m)
	return n + m, inFile, &format.RecordError{Before: n, Start: n + before, End: n + m, Err: tooLong(in.max)}
}

// skipOn goes on to the end of the line. What it passes is not decoded.
func (in *input) skipOn(limit int64) (state, error) {
	if j := bytes.IndexByte(in.buf[in.lo:in.hi], '\n'); j >= 0 {
		in.take(j + 1)
		in.skip = false
		return inFile, nil
	}
	in.take(in.hi - in.lo)
	switch {
	case in.eof && !in.tail:
		in.skip = false
		return inFile, nil
	case in.eof && limit < 0:
		in.eof = false
		return atBound, nil
	}
	if err := in.more(); err != nil || in.eof && in.tail {
		return atBound, err
	}
	return inFile, nil
}

// place returns where to go on from after a restart, and the hash of what has been
// read before it.
func (in *input) place() (int64, string) {
	if in.skip {
		return in.start, in.check
	}
	return in.at, in.hash()
}

// last returns a copy of bytes from to to of the last n bytes decoded.
func (in *input) last(n, from, to int) []byte {
	if n > in.lo {
		return nil
	}
	return bytes.Clone(in.buf[in.lo-n+from : in.lo-n+to])
}

// hash returns the hash of what has been read.
func (in *input) hash() string {
	return check(in.head, in.buf[max(in.lo-checkBytes, 0):in.lo])
}

// end returns the size of the file, all of which has been read. It must not have
// grown if it is one of a watched directory; of a single file is read what was
// there.
func (in *input) end(watched bool) (int64, error) {
	st, err := in.f.Stat()
	if err != nil {
		return 0, osError("stat file", in.path, err)
	}
	size := in.at + int64(in.hi-in.lo)
	if in.packed {
		size = in.size
	}
	switch {
	case st.Size() < size:
		return 0, changed(in.path, "became shorter while it was read")
	case st.Size() > size && watched:
		return 0, changed(in.path, "grew while it was read")
	}
	return size, nil
}

func (in *input) close() {
	in.shut()
	_ = in.f.Close() // it was only read
}

// shut ends the unpacking.
func (in *input) shut() {
	if c, ok := in.from.(io.Closer); ok && in.packed {
		_ = c.Close()
	}
}
