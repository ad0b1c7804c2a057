package format

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// protoEncoder prints rows in protobuf's binary encoding: a field for each column,
// left out where it is NULL.
type protoEncoder struct {
	schema string
	tmp    []byte
	// err is the fault of the last row that had one.
	err *sqlerr.Error
}

// newProtoEncoder makes the schema of the columns, a message of the name.
func newProtoEncoder(cols []Column, name string) (*protoEncoder, error) {
	if name == "" {
		name = "Row"
	}
	b := protoSchemaText{}
	pkg := ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		pkg, name = "package "+name[:i]+";\n", name[i+1:]
	}
	fields := make([]types.Field, len(cols))
	for i, c := range cols {
		fields[i] = types.Field{Name: c.Name, Type: c.Type}
	}
	b.message(name, "", fields)
	if b.err != nil {
		return nil, b.err
	}
	text := "syntax = \"proto3\";\n" + pkg
	if b.times {
		text += "import \"google/protobuf/timestamp.proto\";\n"
	}
	e := &protoEncoder{schema: text + b.String()}
	// What the compiler would not take, as two fields of one JSON name, no reader
	// could read.
	if _, err := parseProto(&Schema{Type: "PROTOBUF", Text: e.schema}); err != nil {
		return nil, sqlerr.New(sqlerr.InvalidName, "the columns do not make a protobuf message: %s",
			sqlerr.From(err).Message).WithHint("Give columns other names with AS.")
	}
	return e, nil
}

// protoSchemaText prints a message.
type protoSchemaText struct {
	strings.Builder
	times bool
	err   *sqlerr.Error
}

func (b *protoSchemaText) message(name, indent string, fields []types.Field) {
	b.WriteString(indent + "message " + name + " {\n")
	for i, f := range fields {
		t, label := f.Type, "optional "
		if t.ID == types.Array {
			t, label = *t.Elem, "repeated "
		}
		word := protoTypeOf(t)
		switch t.ID {
		case types.Array:
			b.err = sqlerr.Unsupported(`column "%s" of type %s is not possible in a protobuf message`, f.Name, f.Type)
			return
		case types.Struct:
			word = name + "_" + f.Name
			b.message(word, indent+"  ", t.Fields)
		case types.Timestamp, types.Timestamptz:
			b.times = true
		}
		b.WriteString(indent + "  " + label + word + " " + f.Name + " = " + strconv.Itoa(protoNumber(i)) + ";\n")
	}
	b.WriteString(indent + "}\n")
}

// protoNumber is the number of the field at i: 19000 to 19999 are protobuf's own.
func protoNumber(i int) int {
	if i >= 18999 {
		return i + 1001
	}
	return i + 1
}

// protoTypeOf returns what a type other than arrays and structs is written as.
func protoTypeOf(t types.Type) string {
	switch t.ID {
	case types.Bool:
		return "bool"
	case types.Int2, types.Int4:
		return "int32"
	case types.Int8, types.OID:
		return "int64"
	case types.Float4:
		return "float"
	case types.Float8:
		return "double"
	case types.Bytea:
		return "bytes"
	case types.Timestamp, types.Timestamptz:
		return "google.protobuf.Timestamp"
	}
	return "string"
}

// row appends row i of vs.
func (e *protoEncoder) row(dst []byte, cols []Column, vs []*arrowbatch.Vec, i int, env *types.Env) []byte {
	for k, v := range vs {
		dst = e.field(dst, protowire.Number(protoNumber(k)), cols[k].Type, v, i, env)
	}
	return dst
}

// field appends a field; nothing for NULL and empty arrays.
func (e *protoEncoder) field(dst []byte, num protowire.Number, t types.Type, v *arrowbatch.Vec, i int,
	env *types.Env) []byte {
	if v.IsNull(i) {
		return dst
	}
	if t.ID != types.Array {
		return e.value(protowire.AppendTag(dst, num, protoWireOf(t)), t, v, i, env)
	}
	lo, hi := v.ListAt(i)
	items, wire := v.Kids[0], protoWireOf(*t.Elem)
	packed := wire != protowire.BytesType && lo < hi
	start := 0
	if packed {
		dst = protowire.AppendTag(dst, num, protowire.BytesType)
		start = len(dst)
	}
	for k := lo; k < hi; k++ {
		if items.IsNull(k) {
			e.err = sqlerr.New(sqlerr.NullValueNotAllowed, "an array in a protobuf message cannot hold NULL")
			continue
		}
		if !packed {
			dst = protowire.AppendTag(dst, num, wire)
		}
		dst = e.value(dst, *t.Elem, items, k, env)
	}
	if packed {
		dst = prefixed(dst, start)
	}
	return dst
}

// prefixed puts the length of what is in dst from start on in front of it.
func prefixed(dst []byte, start int) []byte {
	var head [10]byte
	return slices.Insert(dst, start, protowire.AppendVarint(head[:0], uint64(len(dst)-start))...)
}

func protoWireOf(t types.Type) protowire.Type {
	switch t.ID {
	case types.Bool, types.Int2, types.Int4, types.Int8, types.OID:
		return protowire.VarintType
	case types.Float4:
		return protowire.Fixed32Type
	case types.Float8:
		return protowire.Fixed64Type
	}
	return protowire.BytesType
}

// value appends a value behind its tag.
func (e *protoEncoder) value(dst []byte, t types.Type, v *arrowbatch.Vec, i int, env *types.Env) []byte {
	switch t.ID {
	case types.Bool:
		return protowire.AppendVarint(dst, protowire.EncodeBool(v.Bits.Get(i)))
	case types.Int2:
		return protowire.AppendVarint(dst, uint64(v.I16[i]))
	case types.Int4:
		return protowire.AppendVarint(dst, uint64(v.I32[i]))
	case types.Int8, types.OID:
		return protowire.AppendVarint(dst, uint64(v.I64[i]))
	case types.Float4:
		return protowire.AppendFixed32(dst, math.Float32bits(v.F32[i]))
	case types.Float8:
		return protowire.AppendFixed64(dst, math.Float64bits(v.F64[i]))
	case types.Bytea, types.Text, types.Varchar, types.JSON, types.JSONB:
		return protowire.AppendBytes(dst, v.BytesAt(i))
	case types.Timestamp, types.Timestamptz:
		return e.time(dst, v.I64[i])
	case types.Struct:
		start := len(dst)
		for k, f := range t.Fields {
			dst = e.field(dst, protowire.Number(protoNumber(k)), f.Type, v.Kids[k], i, env)
		}
		return prefixed(dst, start)
	}
	e.tmp = types.AppendText(e.tmp[:0], t, v, i, env)
	return protowire.AppendBytes(dst, e.tmp)
}

// time appends google.protobuf.Timestamp; its nanoseconds count forward.
func (e *protoEncoder) time(dst []byte, us int64) []byte {
	if !types.IsFiniteTime(us) {
		e.err = sqlerr.New(sqlerr.DatetimeFieldOverflow, "an infinite timestamp is not possible in a protobuf message")
		us = 0
	}
	start := len(dst)
	seconds, rest := us/1_000_000, us%1_000_000
	if rest < 0 {
		seconds, rest = seconds-1, rest+1_000_000
	}
	dst = protowire.AppendVarint(protowire.AppendTag(dst, 1, protowire.VarintType), uint64(seconds))
	dst = protowire.AppendVarint(protowire.AppendTag(dst, 2, protowire.VarintType), uint64(rest*1000))
	return prefixed(dst, start)
}
