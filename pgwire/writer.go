package pgwire

import (
	"net"
	"sync"

	"github.com/jackc/pgproto3/v2"
)

// Sizes of the output buffer in bytes: it is written out when flushBytes are
// full, and kept for reuse up to keepBytes.
const (
	flushBytes = 48 << 10
	writeBytes = 64 << 10
	keepBytes  = 1 << 20
)

var writePool = sync.Pool{New: func() any { b := make([]byte, 0, writeBytes); return &b }}

// writer collects messages and writes them in blocks. After an error it drops
// everything and keeps the error.
type writer struct {
	nc  net.Conn
	buf []byte
	err error
}

// room makes sure that there is a buffer.
func (w *writer) room() {
	if w.buf == nil {
		w.buf = (*writePool.Get().(*[]byte))[:0]
	}
}

// send adds a message.
func (w *writer) send(m pgproto3.BackendMessage) {
	if w.err != nil {
		return
	}
	w.room()
	b, err := m.Encode(w.buf)
	if err != nil {
		w.err = err
		return
	}
	w.buf = b
}

// flush writes out what there is.
func (w *writer) flush() error {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.nc.Write(w.buf)
	}
	w.buf = w.buf[:0]
	return w.err
}

// flushFull is flush when the buffer has reached its size.
func (w *writer) flushFull() error {
	if len(w.buf) < flushBytes {
		return w.err
	}
	return w.flush()
}

// release flushes and gives the buffer back.
func (w *writer) release() error {
	err := w.flush()
	if cap(w.buf) >= writeBytes && cap(w.buf) <= keepBytes {
		b := w.buf
		writePool.Put(&b)
	}
	w.buf = nil
	return err
}
