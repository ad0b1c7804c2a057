package connector

import (
	"maps"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/format"
)

// The envelopes of records.
const (
	Plain    = "plain"    // a record is a row
	Upsert   = "upsert"   // a record is the newest row of its key
	Debezium = "debezium" // a record is a change of a row
)

// Changing tells whether the records of an envelope are changes of rows that have a key.
func Changing(envelope string) bool { return envelope == Upsert || envelope == Debezium }

// keyPrefix begins the names of the options of KEY ENCODE among those of a Spec.
const keyPrefix = "key."

// keyOptions takes the options of KEY ENCODE out of those of ENCODE; nil: there is none.
func keyOptions(all map[string]string) (inner, keys map[string]string) {
	inner = maps.Clone(all)
	for n, v := range all {
		if rest, ok := strings.CutPrefix(n, keyPrefix); ok {
			if keys == nil {
				keys = map[string]string{}
			}
			keys[rest] = v
			delete(inner, n)
		}
	}
	return inner, keys
}

// keyEncodings are what the key of an upsert can be encoded by; keyOf tells by which it
// is where the statement does not.
var (
	keyEncodings = []string{format.JSON, format.Text, format.Bytes, format.CSV, format.Avro, format.Proto}
	keyOf        = map[string]string{format.JSON: format.JSON, format.Avro: format.Avro, format.Proto: format.Proto,
		format.CSV: format.CSV, format.Text: format.Text, format.Bytes: format.Text}
)

// readChanges reads what a source's records do to rows, and how their keys are encoded.
func readChanges(f *Format, s *Spec, o *Options, keys map[string]string) {
	f.Options.Key.Columns = s.Key
	if Changing(f.Envelope) && len(s.Key) == 0 {
		o.Fault("FORMAT %s needs a primary key", strings.ToUpper(f.Envelope))
		return
	}
	switch f.Envelope {
	case Upsert:
		f.Options.Changes = format.Upserts
	case Debezium:
		f.Options.Changes = format.Events
		if f.Encode != format.JSON {
			o.Fault("%s does not read FORMAT DEBEZIUM with ENCODE %s; it reads it with ENCODE JSON", o.owner,
				strings.ToUpper(f.Encode))
		}
	}
	if f.Envelope != Upsert {
		if keys != nil {
			o.Fault("%s reads keys with FORMAT UPSERT only: KEY ENCODE has no meaning", o.owner)
		}
		return
	}
	enc := keys["encode"]
	delete(keys, "encode")
	if enc == "" {
		enc = keyOf[f.Encode]
	}
	if !slices.Contains(keyEncodings, enc) {
		o.Fault("%s does not support KEY ENCODE %s; it supports: %s", o.owner, strings.ToUpper(enc),
			strings.ToUpper(strings.Join(keyEncodings, ", ")))
		return
	}
	if (enc == format.Text || enc == format.Bytes) && len(s.Key) != 1 {
		o.Fault("KEY ENCODE %s is for a key of one column", strings.ToUpper(enc))
		return
	}
	f.Options.Key.Encode = enc
	in := NewOptions("KEY ENCODE "+strings.ToUpper(enc), keys)
	if enc == format.Avro || enc == format.Proto {
		readKeySchema(f, in)
	}
	o.faults = append(o.faults, in.allFaults()...)
}

// readKeySchema reads where the schemas of keys are: where those of values are, if KEY
// ENCODE does not tell.
func readKeySchema(f *Format, in *Options) {
	k := Format{Encode: f.Options.Key.Encode}
	if f.Registry != nil && !in.Has("schema_registry_url") && !in.Has("schema") {
		r := *f.Registry
		r.Subject = in.String("schema_registry_subject", "")
		f.KeyRegistry = &r
		return
	}
	formatReader{in: in, with: NewOptions("", nil)}.readSchema(&k, true)
	f.KeyRegistry, f.Options.Key.Schema, f.Options.Key.SchemaName = k.Registry, k.Options.Schema, k.Options.SchemaName
}
