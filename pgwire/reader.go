package pgwire

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Sizes of the connection's buffers in bytes. What an idle connection keeps is
// idleReadBytes; the rest goes back to the pools.
const (
	idleReadBytes = 2 << 10
	readBytes     = 16 << 10
	maxReadAhead  = 64 << 10 // what the watcher takes in behind a running statement
)

var readPool = sync.Pool{New: func() any { return new([readBytes]byte) }}

// tooLargeError is a message whose announced length is over the limit.
type tooLargeError struct{ size, limit int }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("message of %d bytes exceeds the limit of %d bytes", e.size, e.limit)
}

// reader is the pgproto3.ChunkReader of a connection. It refuses what is over
// the limit before it allocates, and grows as bytes arrive, never by what a
// header claims. A read that a passed deadline interrupts calls wake and goes
// on, so that SetReadDeadline serves as a bell (see conn.ring).
type reader struct {
	nc    net.Conn
	limit int
	hooks readHooks

	buf    []byte
	pooled *[readBytes]byte // the memory of buf when it came from the pool
	small  [idleReadBytes]byte
	r, w   int   // unread bytes are buf[r:w]
	err    error // that a read-ahead met after buf[:w]
}

// readHooks are what a reader asks of its connection.
type readHooks interface {
	// beforeRead is called before each read that may block.
	beforeRead() error
	// wake decides what an interrupted read does: nil goes on.
	wake() error
}

func newReader(nc net.Conn, limit int, hooks readHooks) *reader {
	rd := &reader{nc: nc, limit: limit, hooks: hooks}
	rd.buf = rd.small[:]
	return rd
}

// buffered is the number of bytes that were received and not read yet.
func (rd *reader) buffered() int { return rd.w - rd.r }

// Next returns the next n bytes; they are valid until the next call. On an
// error nothing is consumed.
func (rd *reader) Next(n int) ([]byte, error) {
	if n > rd.limit {
		return nil, &tooLargeError{n, rd.limit}
	}
	if rd.r == rd.w {
		rd.r, rd.w = 0, 0
	}
	if err := rd.need(n); err != nil {
		return nil, err
	}
	b := rd.buf[rd.r : rd.r+n : rd.r+n]
	rd.r += n
	return b, nil
}

// need waits until n bytes are buffered.
func (rd *reader) need(n int) error {
	for rd.w-rd.r < n {
		if rd.err != nil {
			return rd.err
		}
		rd.makeRoom(n)
		if err := rd.fill(); err != nil {
			return err
		}
	}
	return nil
}

// await waits until the next message is here as a whole and returns its type;
// nothing is consumed, so that an interrupted wait can be resumed.
func (rd *reader) await() (byte, error) {
	if rd.r == rd.w {
		rd.r, rd.w = 0, 0
	}
	if err := rd.need(1); err != nil {
		return 0, err
	}
	typ := rd.buf[rd.r]
	if strings.IndexByte(frontendTypes, typ) < 0 {
		return typ, protocolError("invalid frontend message type %d", typ)
	}
	if err := rd.need(5); err != nil {
		return typ, err
	}
	n := int(binary.BigEndian.Uint32(rd.buf[rd.r+1:]))
	if n < 4 {
		return typ, protocolError("invalid message length")
	}
	if n-4 > rd.limit {
		return typ, &tooLargeError{n - 4, rd.limit}
	}
	return typ, rd.need(n + 1)
}

// frontendTypes are the types of messages that clients send.
const frontendTypes = "BCDEFHPQSXcdfp"

// makeRoom leaves free bytes behind w for a chunk of n bytes that begins at r.
// Beyond a pooled buffer the size doubles with what has arrived.
func (rd *reader) makeRoom(n int) {
	if rd.w < len(rd.buf) && rd.r+n <= len(rd.buf) {
		return
	}
	have := rd.w - rd.r
	switch {
	case n <= len(rd.buf):
		copy(rd.buf, rd.buf[rd.r:rd.w])
	case n <= readBytes:
		p := readPool.Get().(*[readBytes]byte)
		copy(p[:], rd.buf[rd.r:rd.w])
		rd.dropBuf()
		rd.buf, rd.pooled = p[:], p
	case have < len(rd.buf):
		copy(rd.buf, rd.buf[rd.r:rd.w])
	default:
		b := make([]byte, min(n, max(2*have, readBytes)))
		copy(b, rd.buf[rd.r:rd.w])
		rd.dropBuf()
		rd.buf = b
	}
	rd.r, rd.w = 0, have
}

// fill reads once. Whatever ends the stream is errGone.
func (rd *reader) fill() error {
	if err := rd.hooks.beforeRead(); err != nil {
		return err
	}
	for {
		n, err := rd.nc.Read(rd.buf[rd.w:])
		rd.w += n
		if err != nil && !isTimeout(err) {
			rd.err = errGone
		}
		switch {
		case n > 0:
			return nil
		case rd.err != nil:
			return rd.err
		case err != nil:
			if err := rd.hooks.wake(); err != nil {
				return err
			}
		}
	}
}

// release gives the large buffer back; call it when the message in it is done.
func (rd *reader) release() {
	if rd.r == rd.w && len(rd.buf) != idleReadBytes {
		rd.dropBuf()
		rd.buf, rd.r, rd.w = rd.small[:], 0, 0
	}
}

func (rd *reader) dropBuf() {
	if rd.pooled != nil {
		readPool.Put(rd.pooled)
		rd.pooled = nil
	}
}

// readAhead reads once behind the unread bytes, without touching the current
// message's, and returns how many came. full: enough is read ahead. It runs in
// the watcher while nobody else uses the reader.
func (rd *reader) readAhead() (n int, full bool, err error) {
	if rd.err != nil {
		return 0, false, rd.err
	}
	if rd.buffered() >= maxReadAhead {
		return 0, true, nil
	}
	if len(rd.buf)-rd.w < 1<<10 {
		// The message in work may alias the old buffer: leave it to the collector.
		b := make([]byte, rd.buffered()+readBytes)
		rd.w = copy(b, rd.buf[rd.r:rd.w])
		rd.r, rd.buf, rd.pooled = 0, b, nil
	}
	n, err = rd.nc.Read(rd.buf[rd.w:])
	rd.w += n
	if err != nil && !isTimeout(err) {
		rd.err = errGone
	}
	return n, false, rd.err
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

// discard reads and drops up to n bytes until the deadline, so that closing
// does not reset the connection under a message still on its way to the client.
func (rd *reader) discard(n int64, until time.Time) {
	if rd.nc.SetReadDeadline(until) == nil {
		_, _ = io.CopyN(io.Discard, rd.nc, n) // how it ends does not matter
	}
}
