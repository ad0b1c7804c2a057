package format

import (
	"strings"

	"github.com/hamba/avro/v2"

	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// avroOp is how a value of an Avro type is written.
type avroOp uint8

const (
	avroNull avroOp = iota
	avroBool
	avroInt
	avroLong
	avroFloat
	avroDouble
	avroBytes
	avroString
	avroFixed
	avroEnum
	avroArray
	avroMap
	avroUnion
	avroRecord
)

// avroType is a parsed type, made for walking: references are resolved, so that a
// recursive type points at itself.
type avroType struct {
	op      avroOp
	logical avro.LogicalType
	scale   int      // of a decimal
	size    int      // of a fixed; of others the fewest bytes that a value takes
	names   []string // fields or symbols
	kids    []*avroType
	fields  []*avro.Field // of a record
	// fallback is an enum's default symbol.
	fallback string
}

// parseAvro parses a schema of a registry.
func parseAvro(s *Schema) (t *avroType, err error) {
	// The parser is not ours: what it cannot handle must not end the program.
	err = spawn.Call("avro schema", func() error {
		cache := &avro.SchemaCache{}
		for _, r := range s.References {
			if _, err := avro.ParseWithCache(r.Text, "", cache); err != nil {
				return badSchema(err)
			}
		}
		root, err := avro.ParseWithCache(s.Text, "", cache)
		if err != nil {
			return badSchema(err)
		}
		b := avroTypes{named: map[string]*avroType{}}
		t = b.of(root)
		return b.err
	})
	return t, err
}

func badSchema(err error) error {
	return sqlerr.New(sqlerr.InvalidParameterValue, "the schema cannot be read: %s",
		strings.TrimPrefix(err.Error(), "avro: "))
}

type avroTypes struct {
	named map[string]*avroType
	err   error
}

var avroOps = map[avro.Type]avroOp{avro.Null: avroNull, avro.Boolean: avroBool, avro.Int: avroInt,
	avro.Long: avroLong, avro.Float: avroFloat, avro.Double: avroDouble, avro.Bytes: avroBytes,
	avro.String: avroString, avro.Fixed: avroFixed, avro.Enum: avroEnum, avro.Array: avroArray,
	avro.Map: avroMap, avro.Union: avroUnion, avro.Record: avroRecord, avro.Error: avroRecord}

func (b *avroTypes) of(s avro.Schema) *avroType {
	if r, ok := s.(*avro.RefSchema); ok {
		s = r.Schema()
	}
	t := &avroType{op: avroOps[s.Type()]}
	if n, ok := s.(avro.NamedSchema); ok {
		if known := b.named[n.FullName()]; known != nil {
			return known
		}
		b.named[n.FullName()] = t
	}
	if l, ok := s.(avro.LogicalTypeSchema); ok && l.Logical() != nil {
		t.logical = l.Logical().Type()
		if d, ok := l.Logical().(*avro.DecimalLogicalSchema); ok {
			t.scale = d.Scale()
		}
	}
	switch s := s.(type) {
	case *avro.FixedSchema:
		t.size = s.Size()
		if t.size < 0 || t.size > 1<<30 {
			b.err = badSchema(sqlerr.New(sqlerr.InvalidParameterValue, "fixed of %d bytes", t.size))
		}
	case *avro.EnumSchema:
		t.names, t.fallback = s.Symbols(), s.Default()
	case *avro.ArraySchema:
		t.kids = []*avroType{b.of(s.Items())}
	case *avro.MapSchema:
		t.kids = []*avroType{b.of(s.Values())}
	case *avro.UnionSchema:
		for _, k := range s.Types() {
			t.kids = append(t.kids, b.of(k))
		}
	case *avro.RecordSchema:
		t.fields = s.Fields()
		for _, f := range t.fields {
			t.names = append(t.names, f.Name())
			t.kids = append(t.kids, b.of(f.Type()))
		}
	}
	switch t.op {
	case avroNull, avroFixed:
	case avroFloat:
		t.size = 4
	case avroDouble:
		t.size = 8
	case avroRecord:
		for _, k := range t.kids {
			t.size = min(t.size+k.size, 1<<20)
		}
	default:
		t.size = 1
	}
	return t
}

// class returns the class of a scalar type's values; ok is false for the others.
func (t *avroType) class() (c class, ok bool) {
	switch t.op {
	case avroBool:
		return classBool, true
	case avroFloat:
		return classFloat4, true
	case avroDouble:
		return classFloat8, true
	case avroString, avroEnum:
		return classText, true
	case avroInt, avroLong:
		switch t.logical {
		case avro.Date:
			return classDate, true
		case avro.TimeMillis, avro.TimeMicros:
			return classTime, true
		case avro.TimestampMillis, avro.TimestampMicros:
			return classInstant, true
		case avro.LocalTimestampMillis, avro.LocalTimestampMicros:
			return classLocal, true
		}
		return classInt, true
	case avroBytes, avroFixed:
		switch {
		case t.logical == avro.Decimal:
			return classDecimal, true
		case t.logical == avro.Duration && t.size == 12:
			return classInterval, true
		}
		return classBytes, true
	}
	return 0, false
}

// describe names the type for messages.
func (t *avroType) describe() string {
	if t.logical != "" {
		return string(t.logical)
	}
	for name, op := range avroOps {
		if op == t.op && name != avro.Error {
			return string(name)
		}
	}
	return "type"
}
