package format

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Schema is the text of a schema as a registry keeps it.
type Schema struct {
	// Type is "AVRO", "PROTOBUF" or "JSON".
	Type string
	Text string
	// References are the schemas that Text refers to, each behind those that it
	// refers to itself.
	References []Reference
}

// Reference is a schema that another refers to by Name: the full name of an Avro
// type, or the path in a protobuf import.
type Reference struct{ Name, Text string }

// UnknownSchema is Append's error for a record whose schema was not given to
// AddSchema yet. The record is not bad: AddSchema, then Append it again.
type UnknownSchema struct {
	ID int32
	// Key: it is the schema of the record's key.
	Key bool
}

// Error tells which schema is missing.
func (e *UnknownSchema) Error() string { return fmt.Sprintf("schema %d was not looked up yet", e.ID) }

// MaxSchemas is how many schemas are remembered: garbage names one a record.
const MaxSchemas = 10_000

// schemaCodec is a codec whose records name the schema that they were written with.
type schemaCodec interface {
	codec
	// unknown returns the id of the record's schema if it is not known.
	unknown(record []byte) (id int32, missing bool)
	// learn makes records of schema id readable; why says why they are not.
	learn(id int32, writer, reader *Schema, why *sqlerr.Error)
}

// AddSchema makes records with the schema id readable, which were written with
// writer. reader is the schema that the columns were declared by: it has the
// defaults of fields that writer lacks and their older names; nil: writer. A
// schema that cannot be read, or does not fit the columns, makes its records bad. Of
// many schemas the earlier ones are forgotten and are then unknown again.
func (d *Decoder) AddSchema(id int32, writer, reader *Schema) {
	if c, ok := d.codec.(schemaCodec); ok {
		c.learn(id, writer, reader, nil)
	}
}

// RefuseSchema makes records with the schema id bad: the registry does not have it.
func (d *Decoder) RefuseSchema(id int32, why *sqlerr.Error) {
	if c, ok := d.codec.(schemaCodec); ok {
		c.learn(id, nil, nil, why)
	}
}

// Keys returns the decoder of the records' keys, to which their schemas are given; nil
// where keys are not read.
func (d *Decoder) Keys() *Decoder {
	if d.keyed == nil {
		return nil
	}
	return d.keyed.dec
}

// frame is the number of bytes before a record's own: a zero and the schema's id.
const frame = 5

// schemaID reads the front of a record as Confluent's serializers write it.
func schemaID(b []byte) (id int32, err *sqlerr.Error) {
	if len(b) < frame || b[0] != 0 {
		return 0, sqlerr.New(sqlerr.InvalidBinaryRepresentation,
			"the record does not begin with a schema's id").
			WithDetail("A zero byte and four bytes of the id are expected, as the registry's serializers write them.")
	}
	return int32(binary.BigEndian.Uint32(b[1:])), nil
}

func appendFrame(dst []byte, id int32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0), uint32(id))
}

func badBinary(msg string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.InvalidBinaryRepresentation, msg, args...)
}

// untakable tells that a column cannot have what the schema has in its place.
func untakable(n *node, what string) *sqlerr.Error {
	return sqlerr.New(sqlerr.DatatypeMismatch, "type %s cannot take the schema's %s", n.t, what)
}
