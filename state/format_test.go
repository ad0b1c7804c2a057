package state

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestNewerFormat: a directory of a program that is yet to come is refused, and stays.
func TestNewerFormat(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("d", Options{FS: fs, MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set(formatKey, []byte("99"), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = Open("d", Options{FS: fs, MinFreeBytes: -1})
		if e := sqlerr.From(err); err == nil || e.Code != sqlerr.ObjectNotInState || !strings.Contains(e.Message, "format 99") {
			t.Fatal(err)
		}
	}
}

// TestOutboxMoves: what a sink had sent under format 1 is found, and late rows beside it
// stay.
func TestOutboxMoves(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("d", Options{FS: fs, MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	d := s.NewDelta()
	d.PutRecord(7, LateRecord, 3, []byte("late"))
	if err := s.Commit(nil, d); err != nil {
		t.Fatal(err)
	}
	if err := s.Outbox(7, 1).Put(0, 5, 0, nil, []byte("piece")); err != nil {
		t.Fatal(err)
	}
	key := append(s.Outbox(7, 1).epoch(0, 5), make([]byte, 8)...)
	old := bytes.Clone(key)
	old[5] = outboxBefore
	for _, err := range []error{s.db.Delete(key, nil), s.db.Set(old, []byte("piece"), nil),
		s.db.Set(formatKey, []byte("1"), pebble.Sync), s.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s, err = Open("d", Options{FS: fs, MinFreeBytes: -1}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := ""
	if err := s.Outbox(7, 1).Each(0, 5, func(p []byte) error { got += string(p); return nil }); err != nil || got != "piece" {
		t.Errorf("%q %v", got, err)
	}
	if first, next, err := s.RecordRange(7, LateRecord); first != 3 || next != 4 || err != nil {
		t.Errorf("late rows from %d to %d, %v", first, next, err)
	}
}
