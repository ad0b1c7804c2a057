package kafka

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/format"
)

// Headers that a dead letter has behind the record's own. The first is always the one
// that names whose it is.
const (
	headerSource     = "streamsql.source"      // of a record that could not be read
	headerSink       = "streamsql.sink"        // of one that could not be written
	headerQuery      = "streamsql.query"       // that read or wrote it
	headerTopic      = "streamsql.topic"       // where it was read, or was to be written
	headerPartition  = "streamsql.partition"   //
	headerOffset     = "streamsql.offset"      //
	headerOp         = "streamsql.op"          // of a row that could not be written: insert or delete
	headerTimestamp  = "streamsql.timestamp"   // the record's own
	headerCode       = "streamsql.sqlstate"    //
	headerReason     = "streamsql.error"       //
	headerTime       = "streamsql.time"        // when it was met
	headerValueBytes = "streamsql.value_bytes" // how long the value was, which is left out
	headerKeyBytes   = "streamsql.key_bytes"   // how long the key was, which is left out
)

const headerPrefix = "streamsql."

// letter is a dead letter while it is made: a record with headers added to it.
type letter struct {
	key, value []byte
	headers    []byte // encoded
	n          int    // how many
	rec        outRecord
	list       []byte
}

// begin starts a letter with a record's key, value and own headers, encoded with their
// number in front; nil: none.
func (l *letter) begin(key, value, own []byte) {
	l.key, l.value, l.n, l.headers = key, value, 0, l.headers[:0]
	if own != nil {
		n, i := binary.Varint(own)
		l.n, l.headers = int(n), append(l.headers, own[i:]...)
	}
}

func (l *letter) add(name string, value []byte) {
	l.headers = appendBytes(appendBytes(l.headers, []byte(name)), value)
	l.n++
}

func (l *letter) addText(name, value string) { l.add(name, []byte(value)) }

func (l *letter) addTime(name string, us int64) {
	l.add(name, time.UnixMicro(us).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000000Z"))
}

// record returns the record to be sent, valid until the letter is begun anew.
func (l *letter) record(ms int64) *outRecord {
	l.list = append(binary.AppendVarint(l.list[:0], int64(l.n)), l.headers...)
	l.rec = outRecord{key: l.key, value: l.value, headers: l.list, ms: ms, part: -1}
	return &l.rec
}

// leaveOut puts a summary in the place of the record's value, and the value's length
// into the headers.
func (l *letter) leaveOut(value []byte) {
	l.add(headerValueBytes, strconv.AppendInt(nil, int64(len(value)), 10))
	l.value = l.summary()
}

// shrink makes l what is left of a letter that is too large for its topic: first the
// value goes, then the key and the record's own headers. ok is false if nothing is left
// to go.
func (l *letter) shrink(r *outRecord) (ok bool) {
	hs := parseHeaders(r.headers)
	if len(hs) == 0 {
		return false
	}
	switch last := string(hs[len(hs)-1].name); last {
	case headerKeyBytes:
		return false
	case headerValueBytes:
		l.leaveKey(r, hs)
	default:
		l.begin(r.key, nil, r.headers)
		l.leaveOut(r.value)
	}
	return true
}

// leaveKey makes l the letter r, with the headers hs, without its key and the record's
// own headers.
func (l *letter) leaveKey(r *outRecord, hs []header) {
	l.begin(nil, nil, nil)
	for _, h := range ours(hs) {
		l.add(string(h.name), h.value)
	}
	l.add(headerKeyBytes, strconv.AppendInt(nil, int64(len(r.key)), 10))
	l.value = l.summary()
}

// ours are the headers of a letter behind the record's own.
func ours(hs []header) []header {
	first := 0
	for i, h := range hs {
		if n := string(h.name); n == headerSource || n == headerSink {
			first = i
		}
	}
	return hs[first:]
}

// numberHeaders are those whose values are numbers.
var numberHeaders = map[string]bool{headerPartition: true, headerOffset: true, headerValueBytes: true,
	headerKeyBytes: true}

// summary is a JSON object with what the letter's own headers say.
func (l *letter) summary() []byte {
	hs := parseHeaders(append(binary.AppendVarint(nil, int64(l.n)), l.headers...))
	dst := []byte{'{'}
	for i, h := range ours(hs) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(format.AppendJSONString(dst, h.name[len(headerPrefix):]), ':')
		if numberHeaders[string(h.name)] {
			dst = append(dst, h.value...)
		} else {
			dst = format.AppendJSONString(dst, h.value)
		}
	}
	return append(dst, '}')
}

// parseHeaders parses headers that were encoded here or checked before.
func parseHeaders(raw []byte) []header {
	n, i := binary.Varint(raw)
	hs, _ := appendHeaders(nil, &record{headers: raw[i:], nHeaders: int(n)})
	return hs
}

// headerList appends the record's headers with their number, as an outRecord has them.
func (r *record) headerList(dst []byte) []byte {
	return append(binary.AppendVarint(dst, int64(r.nHeaders)), r.headers...)
}
