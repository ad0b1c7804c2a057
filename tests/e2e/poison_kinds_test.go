package e2e

import (
	bin "encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// poison is one kind of garbage among the records of a topic. What of it can be read
// after all is a row with id -1.
type poison struct {
	name  string
	value []byte // nil: a tombstone, which is no row and no bad record
	key   []byte
	ok    bool // it can be read
}

// poisoned is a format with its good records and its garbage.
type poisoned struct {
	name    string
	columns string // of the source
	encode  string // the clause
	id      string // the expression of a row's id, -1 of garbage that can be read
	good    func(id int) (key, value []byte)
	kinds   []poison
	// registry: the records' schema is number 1 there.
	schema string
}

// noise are n bytes of no meaning that begin with no zero: they are no Avro.
func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	b[0], b[n/2], b[n-1] = 0xff, 0xff, 0xff
	return b
}

func text(name, value string) poison { return poison{name: name, value: []byte(value)} }

func accepted(p poison) poison {
	p.ok = true
	return p
}

const (
	poisonMega  = 1_000_000 // bytes of the largest garbage
	poisonNest  = 100_000
	poisonLong  = 200_000
	poisonBytes = "\xff\xfe\xfd"
)

func poisonJSON() poisoned {
	return poisoned{name: "json", columns: "id bigint NOT NULL, name text, v int, ok boolean, at timestamptz, n numeric",
		encode: "JSON", id: "id",
		good: func(id int) ([]byte, []byte) {
			return nil, fmt.Appendf(nil, `{"id":%d,"name":"n%d","v":%d,"ok":true,"at":"2026-01-01T00:00:00Z","n":1.5}`, id, id, id%1000)
		},
		kinds: []poison{
			text("empty", ""), text("blank", " \n"), text("truncated", `{"id":-1,"name":"a`), text("opened", "{"),
			text("wrong type", `{"id":"five"}`), text("out of range", `{"id":99999999999999999999}`),
			text("huge exponent", `{"id":1e400}`), text("fraction", `{"id":1.5}`),
			text("invalid UTF-8", `{"id":-1,"name":"`+poisonBytes+`"}`), text("NUL byte", "{\"id\":-1,\"name\":\"a\x00b\"}"),
			text("escaped NUL", `{"id":-1,"name":"a\u0000b"}`), text("lone surrogate", `{"id":-1,"name":"\ud800"}`),
			text("deep, unclosed", strings.Repeat("[", poisonNest)),
			text("deep in an unread field", `{"id":-1,"x":`+strings.Repeat("[", poisonNest)+strings.Repeat("]", poisonNest)+`}`),
			text("array", `[1,2]`), text("number", `42`), text("null", `null`), text("trailing bytes", `{"id":-1} x`),
			text("two objects", `{"id":-1}{"id":-1}`), text("byte order mark", "\xef\xbb\xbf{\"id\":-1}"),
			text("duplicate key, bad one last", `{"id":-1,"id":"bad"}`),
			text("duplicate key, bad one first", `{"id":"bad","id":-1}`),
			text("control character", "{\"id\":-1,\"name\":\"a\x01\"}"), text("single quotes", `{'id':-1}`),
			text("no value", `{"id":}`), text("not a number", `{"id":NaN}`), text("no id", `{"name":"x"}`),
			text("null id", `{"id":null}`), text("bad boolean", `{"id":-1,"ok":"maybe"}`),
			text("bad time", `{"id":-1,"at":"2026-13-45"}`), text("numeric too large", `{"id":-1,"n":`+strings.Repeat("9", 2000)+`}`),
			text("overlong", `{"id":"`+strings.Repeat("x", poisonLong)+`"}`),
			text("Avro", "\x00\x00\x00\x00\x01\x02\x02a"), {name: "megabyte", value: noise(poisonMega)},
			accepted(text("unknown fields", `{"id":-1,"a":{"b":[1,{"c":null}]},"d":"é"}`)),
			accepted(text("spaces about", " \t{ \"id\" : -1 }\n")), {name: "tombstone"},
		}}
}

func poisonCSV() poisoned {
	return poisoned{name: "csv", columns: "id bigint NOT NULL, name text, v int, ok boolean, at timestamptz", encode: "CSV", id: "id",
		good: func(id int) ([]byte, []byte) {
			return nil, fmt.Appendf(nil, `%d,"n%d",%d,t,2026-01-01 00:00:00+00`, id, id, id%1000)
		},
		kinds: []poison{
			text("empty", ""), text("blank", "  "), text("too few", "-1,a,1"), text("too many", "-1,a,1,t,2026-01-01,x"),
			text("unclosed quote", `-1,"a,1,t,2026-01-01`), text("quote that closes late", `-1,"a""b,1,t,2026-01-01 00:00:00+00`),
			text("wrong type", "five,a,1,t,"), text("out of range", "-1,a,99999999999,t,"), text("fraction", "1.5,a,1,t,"),
			text("invalid UTF-8", "-1,"+poisonBytes+",1,t,"), text("NUL byte", "-1,a\x00b,1,t,"),
			text("byte order mark", "\xef\xbb\xbf-1,a,1,t,"), text("two records", "-1,a,1,t,\n-1,a,1,t,"),
			text("bad boolean", "-1,a,1,maybe,"), text("bad time", "-1,a,1,t,2026-13-45"), text("no id", ",a,1,t,"),
			text("quoted nothing", `-1,a,"",t,`), text("semicolons", "-1;a;1;t;"), text("JSON", `{"id":-1}`),
			text("overlong", strings.Repeat("9", poisonLong)+",a,1,t,"), text("only quotes", `"""""`), text("commas", ",,,,"),
			text("Avro", "\x00\x00\x00\x00\x01\x02\x02a"), {name: "megabyte", value: noise(poisonMega)},
			accepted(text("line end", "-1,a,1,t,\r\n")), accepted(text("embedded line", "-1,\"a\nb\",1,t,")), {name: "tombstone"},
		}}
}

func poisonText() poisoned {
	return poisoned{name: "text", columns: "v text", encode: "TEXT",
		id: `CASE WHEN v ~ '^id:[0-9]+$' THEN substr(v, 4)::bigint ELSE -1 END`,
		good: func(id int) ([]byte, []byte) {
			return nil, fmt.Appendf(nil, "id:%d", id)
		},
		kinds: []poison{
			text("invalid UTF-8", "a"+poisonBytes), text("cut UTF-8", "a\xe2\x82"), text("overlong UTF-8", "\xc0\x80"),
			text("surrogate", "\xed\xa0\x80"), text("beyond Unicode", "\xf4\x90\x80\x80"), text("NUL byte", "a\x00b"),
			text("NUL alone", "\x00"), text("latin", "caf\xe9"), {name: "megabyte", value: noise(poisonMega)},
			text("Avro", "\x00\x00\x00\x00\x01\x02\x02a"),
			accepted(text("empty", "")), accepted(text("blank", " ")), accepted(text("line ends", "a\r\nb\n")),
			accepted(text("byte order mark", "\xef\xbb\xbfid:1")), accepted(text("control", "\x01\x1b[31m\x7f")),
			accepted(text("JSON", `{"id":`)), accepted(text("long", strings.Repeat("x", poisonLong))),
			accepted(text("combining", "e\u0301\u200d\u2028")), accepted(text("emoji", "👩‍👩‍👧")),
			accepted(text("backslashes", `\N\x00\`)), {name: "tombstone"},
		}}
}

func poisonRaw() poisoned {
	p := poisoned{name: "bytes", columns: "v bytea", encode: "BYTES",
		id: `CASE WHEN k ~ '^[0-9]+$' AND octet_length(v) = 4 THEN k::bigint ELSE -1 END`,
		good: func(id int) ([]byte, []byte) {
			return fmt.Append(nil, id), []byte{0, 0xff, 0, 1}
		}}
	for i, k := range []poison{
		text("empty", ""), text("NUL", "\x00"), text("invalid UTF-8", poisonBytes), text("JSON", `{"id":`),
		text("long", strings.Repeat("\xff", poisonLong)), {name: "megabyte", value: noise(poisonMega)},
	} {
		p.kinds = append(p.kinds, accepted(k))
		for j, key := range []string{"\xff", "a\x80", "\xc0\x80", "k\xed\xa0\x80"} {
			p.kinds = append(p.kinds, poison{name: fmt.Sprintf("key %d, value %d", j, i), key: []byte(key), value: k.value})
		}
	}
	p.kinds = append(p.kinds, poison{name: "tombstone"})
	return p
}

// zigzag appends a number as Avro has it.
func zigzag(b []byte, n int64) []byte { return bin.AppendVarint(b, n) }

func poisonAvro() poisoned {
	head := "\x00\x00\x00\x00\x01"
	value := func(id int64, name string) []byte {
		return append(zigzag(zigzag([]byte(head), id), int64(len(name))), name...)
	}
	bad := func(name string, b []byte) poison { return poison{name: name, value: b} }
	return poisoned{name: "avro", columns: "id bigint NOT NULL, name text", encode: "AVRO", id: "id",
		schema: `{"schema":"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"name\",\"type\":\"string\"}]}"}`,
		good:   func(id int) ([]byte, []byte) { return nil, value(int64(id), "n") },
		kinds: []poison{
			text("empty", ""), text("magic alone", "\x00"), text("head cut", "\x00\x00\x00"), text("head alone", head),
			text("wrong magic", "\x01"+string(value(-1, "a")[1:])), text("unknown schema", "\x00\x00\x00\x00\x63\x01\x02a"),
			text("negative schema", "\x00\xff\xff\xff\xff\x01\x02a"), text("number cut", head+"\x80"),
			text("number too long", head+strings.Repeat("\xff", 11)+"\x01\x02a"), text("text missing", head+"\x01"),
			text("text cut", head+"\x01\x10ab"), text("negative length", head+"\x01\x01a"),
			bad("huge length", append(zigzag(zigzag([]byte(head), -1), 1<<40), "a"...)),
			bad("greatest length", append(zigzag(zigzag([]byte(head), -1), 1<<62), "a"...)),
			bad("trailing bytes", append(value(-1, "a"), "xyz"...)), bad("invalid UTF-8", value(-1, poisonBytes)),
			bad("NUL byte", value(-1, "a\x00b")), text("JSON", `{"id":-1,"name":"a"}`), text("text", "hello"),
			bad("two records", append(value(-1, "a"), value(-1, "b")...)), bad("protobuf", []byte("\x00\x00\x00\x00\x02\x00\x08\x01")),
			{name: "megabyte", value: noise(poisonMega)}, bad("megabyte behind the head", append([]byte(head), noise(poisonMega)...)),
			accepted(bad("empty text", value(-1, ""))), accepted(bad("long text", value(-1, strings.Repeat("é", 1000)))),
			{name: "tombstone"},
		}}
}

func poisonProto() poisoned {
	head := "\x00\x00\x00\x00\x01\x00"
	value := func(id int64, name string) []byte {
		b := bin.AppendUvarint([]byte(head+"\x08"), uint64(id))
		return append(bin.AppendUvarint(append(b, 0x12), uint64(len(name))), name...)
	}
	bad := func(name string, b []byte) poison { return poison{name: name, value: b} }
	minus := string(value(-1, "a"))
	return poisoned{name: "protobuf", columns: "id bigint NOT NULL, name text", encode: "PROTOBUF", id: "id",
		schema: `{"schemaType":"PROTOBUF","schema":"syntax = \"proto3\"; message R { int64 id = 1; string name = 2; }"}`,
		good:   func(id int) ([]byte, []byte) { return nil, value(int64(id), "n") },
		kinds: []poison{
			text("empty", ""), text("magic alone", "\x00"), text("head cut", "\x00\x00\x00"), text("no message index", head[:5]),
			text("wrong magic", "\x01"+minus[1:]), text("unknown schema", "\x00\x00\x00\x00\x63\x00\x08\x01"),
			text("wrong message", "\x00\x00\x00\x00\x01\x02\x0e\x08\x01"), text("tag alone", head+"\x08"),
			text("varint cut", head+"\x08\xff\xff"), text("varint too long", head+"\x08"+strings.Repeat("\xff", 11)),
			text("text cut", head+"\x08\x01\x12\x10ab"), text("huge length", head+"\x12\xff\xff\xff\xff\x0fab"),
			text("field 0", head+"\x00\x01"), text("wire type 6", head+"\x0e\x01"), text("wire type 7", head+"\x0f\x01"),
			text("group unclosed", head+"\x1b\x08\x01"), text("group closed unopened", head+"\x1c"),
			text("deep groups", head+strings.Repeat("\x1b", poisonNest)), text("fixed cut", head+"\x19\x01\x02"),
			bad("invalid UTF-8", value(-1, poisonBytes)), bad("NUL byte", value(-1, "a\x00b")),
			text("JSON", `{"id":-1,"name":"a"}`), text("Avro", "\x00\x00\x00\x00\x02\x01\x02a"),
			{name: "megabyte", value: noise(poisonMega)}, bad("megabyte behind the head", append([]byte(head), noise(poisonMega)...)),
			accepted(text("unknown field", minus+"\x98\x06\x01")), accepted(text("fields twice", head+"\x08\x05"+minus[6:])),
			{name: "tombstone"},
		}}
}
