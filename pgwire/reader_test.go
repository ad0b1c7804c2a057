package pgwire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"testing"
)

type noHooks struct{}

func (noHooks) beforeRead() error { return nil }
func (noHooks) wake() error       { return nil }

// readerOf returns a reader of a stream of these bytes, written in pieces.
func readerOf(t *testing.T, limit, piece int, data []byte) *reader {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	go func() {
		for len(data) > 0 {
			n, err := client.Write(data[:min(piece, len(data))])
			if err != nil {
				return
			}
			data = data[n:]
		}
		client.Close()
	}()
	return newReader(server, limit, noHooks{})
}

func TestReaderGrowsWithWhatArrives(t *testing.T) {
	head := binary.BigEndian.AppendUint32([]byte{'Q'}, 60<<20)
	rd := readerOf(t, 64<<20, 100, append(head, make([]byte, 40_000)...))
	if _, err := rd.await(); !errors.Is(err, errGone) {
		t.Fatalf("got %v", err)
	}
	if len(rd.buf) > 128<<10 {
		t.Errorf("40,000 bytes of a message that claims 60 MiB took a buffer of %d bytes", len(rd.buf))
	}
}

func TestReaderRefusesOverTheLimit(t *testing.T) {
	head := binary.BigEndian.AppendUint32([]byte{'Q'}, 1004)
	rd := readerOf(t, 999, 100, append(head, make([]byte, 2000)...))
	var large *tooLargeError
	if _, err := rd.await(); !errors.As(err, &large) || large.size != 1000 {
		t.Errorf("got %v", err)
	}
	rd.limit = 1000
	if typ, err := rd.await(); err != nil || typ != 'Q' {
		t.Errorf("a refused message was consumed: %c %v", typ, err)
	}
	if _, err := rd.Next(1001); !errors.As(err, &large) {
		t.Errorf("got %v", err)
	}
}

func TestReaderKeepsBytesInOrder(t *testing.T) {
	var data []byte
	for i := range 100_000 {
		data = append(data, byte(i*7))
	}
	for _, piece := range []int{1000, 1 << 20} {
		rd := readerOf(t, 1<<20, piece, data)
		var got []byte
		for n := 1; len(got) < len(data); n = n*3%40_009 + 1 {
			n = min(n, len(data)-len(got))
			if n%5 == 0 { // as the watcher does behind a running statement
				if _, _, err := rd.readAhead(); err != nil && !errors.Is(err, errGone) {
					t.Fatal(err)
				}
			}
			b, err := rd.Next(n)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b...)
			rd.release()
		}
		if !bytes.Equal(got, data) {
			t.Errorf("pieces of %d bytes: the bytes changed", piece)
		}
		if _, err := rd.Next(1); !errors.Is(err, errGone) {
			t.Errorf("got %v at the end", err)
		}
	}
}
