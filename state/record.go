package state

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// RecordKind is a kind of records that a query keeps beside its state.
type RecordKind byte

// The kinds.
const (
	LateRecord RecordKind = iota + 1
	BadRecord
	FailedRecord
	plannedRecord // see Planned
)

func recordPrefix(query uint32, k RecordKind) []byte {
	return append(prefix32(spaceRecord, query), byte(k))
}

func recordKey(query uint32, k RecordKind, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(recordPrefix(query, k), seq)
}

// PutRecord stores a query's record under a number of its own.
func (d *Delta) PutRecord(query uint32, k RecordKind, seq uint64, val []byte) {
	d.Put(recordKey(query, k, seq), val)
}

// DropRecords removes a query's records from number lo up to but not including hi.
func (d *Delta) DropRecords(query uint32, k RecordKind, lo, hi uint64) {
	d.DeleteRange(recordKey(query, k, lo), recordKey(query, k, hi))
}

// Records calls fn for each record of a query by rising number. The slice is valid
// during the call.
func (s *Store) Records(query uint32, k RecordKind, fn func(seq uint64, val []byte) error) error {
	p := recordPrefix(query, k)
	return s.Scan(p, After(p), func(key, val []byte) error {
		if len(key) != len(p)+8 {
			return sqlerr.New(sqlerr.DataCorrupted, "a record of query %d is unreadable", query)
		}
		return fn(binary.BigEndian.Uint64(key[len(p):]), val)
	})
}

// RecordRange returns the number of a query's first record and the one after the
// last; both are 0 when there is none.
func (s *Store) RecordRange(query uint32, k RecordKind) (first, next uint64, err error) {
	p := recordPrefix(query, k)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: p, UpperBound: After(p)})
	if err != nil {
		return 0, 0, readError(err)
	}
	if it.First() {
		first = binary.BigEndian.Uint64(it.Key()[len(p):])
	}
	if it.Last() {
		next = binary.BigEndian.Uint64(it.Key()[len(p):]) + 1
	}
	return first, next, readError(it.Close())
}
