package types

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
)

// ID names a SQL type without its modifiers.
type ID uint8

// The SQL types.
const (
	Unknown ID = iota // the type of an untyped literal or NULL before it is resolved
	Bool
	Int2
	Int4
	Int8
	Float4
	Float8
	Numeric
	Text
	Varchar
	Bpchar
	Name
	Char // the one-byte internal type "char"
	Bytea
	Date
	Time
	Timestamp
	Timestamptz
	Interval
	JSON
	JSONB
	UUID
	OID
	Regclass
	Regtype
	Regproc
	Regnamespace
	Array  // Elem
	Struct // Fields; shown to clients as record
	Void
	numIDs
)

// Field is a named part of a struct.
type Field struct {
	Name string
	Type Type
}

// Type is a SQL type with its modifiers. Types are values; compare with Equal.
type Type struct {
	ID ID
	// Mod is numeric's precision or the length of varchar and bpchar, or the
	// digits after the second of time types, -1 there for no digits; 0: none.
	Mod int16
	// Scale is numeric's scale; it has a meaning only if Mod is not 0.
	Scale  int16
	Elem   *Type
	Fields []Field
}

// The unmodified types.
var (
	TUnknown      = Type{ID: Unknown}
	TBool         = Type{ID: Bool}
	TInt2         = Type{ID: Int2}
	TInt4         = Type{ID: Int4}
	TInt8         = Type{ID: Int8}
	TFloat4       = Type{ID: Float4}
	TFloat8       = Type{ID: Float8}
	TNumeric      = Type{ID: Numeric}
	TText         = Type{ID: Text}
	TVarchar      = Type{ID: Varchar}
	TBpchar       = Type{ID: Bpchar}
	TName         = Type{ID: Name}
	TChar         = Type{ID: Char}
	TBytea        = Type{ID: Bytea}
	TDate         = Type{ID: Date}
	TTime         = Type{ID: Time}
	TTimestamp    = Type{ID: Timestamp}
	TTimestamptz  = Type{ID: Timestamptz}
	TInterval     = Type{ID: Interval}
	TJSON         = Type{ID: JSON}
	TJSONB        = Type{ID: JSONB}
	TUUID         = Type{ID: UUID}
	TOID          = Type{ID: OID}
	TRegclass     = Type{ID: Regclass}
	TRegtype      = Type{ID: Regtype}
	TRegproc      = Type{ID: Regproc}
	TRegnamespace = Type{ID: Regnamespace}
	TVoid         = Type{ID: Void}
)

// ArrayOf returns the array type of elem.
func ArrayOf(elem Type) Type { return Type{ID: Array, Elem: &elem} }

// StructOf returns the struct type of fields.
func StructOf(fields ...Field) Type { return Type{ID: Struct, Fields: fields} }

type info struct {
	oid, array uint32
	size       int16 // typlen; -1: varies
	layout     arrowbatch.Layout
	name       string // as format_type prints it
	pgName     string // pg_type.typname
}

// infos holds PostgreSQL's identity of each type (pg_type.dat).
var infos = [numIDs]info{
	Unknown:      {705, 0, -2, arrowbatch.Bytes, "unknown", "unknown"},
	Bool:         {16, 1000, 1, arrowbatch.Bool, "boolean", "bool"},
	Int2:         {21, 1005, 2, arrowbatch.Int16, "smallint", "int2"},
	Int4:         {23, 1007, 4, arrowbatch.Int32, "integer", "int4"},
	Int8:         {20, 1016, 8, arrowbatch.Int64, "bigint", "int8"},
	Float4:       {700, 1021, 4, arrowbatch.Float32, "real", "float4"},
	Float8:       {701, 1022, 8, arrowbatch.Float64, "double precision", "float8"},
	Numeric:      {1700, 1231, -1, arrowbatch.Decimal, "numeric", "numeric"},
	Text:         {25, 1009, -1, arrowbatch.Bytes, "text", "text"},
	Varchar:      {1043, 1015, -1, arrowbatch.Bytes, "character varying", "varchar"},
	Bpchar:       {1042, 1014, -1, arrowbatch.Bytes, "character", "bpchar"},
	Name:         {19, 1003, 64, arrowbatch.Bytes, "name", "name"},
	Char:         {18, 1002, 1, arrowbatch.Bytes, `"char"`, "char"},
	Bytea:        {17, 1001, -1, arrowbatch.Bytes, "bytea", "bytea"},
	Date:         {1082, 1182, 4, arrowbatch.Int32, "date", "date"},
	Time:         {1083, 1183, 8, arrowbatch.Int64, "time without time zone", "time"},
	Timestamp:    {1114, 1115, 8, arrowbatch.Int64, "timestamp without time zone", "timestamp"},
	Timestamptz:  {1184, 1185, 8, arrowbatch.Int64, "timestamp with time zone", "timestamptz"},
	Interval:     {1186, 1187, 16, arrowbatch.Interval, "interval", "interval"},
	JSON:         {114, 199, -1, arrowbatch.Bytes, "json", "json"},
	JSONB:        {3802, 3807, -1, arrowbatch.Bytes, "jsonb", "jsonb"},
	UUID:         {2950, 2951, 16, arrowbatch.UUID, "uuid", "uuid"},
	OID:          {26, 1028, 4, arrowbatch.Int64, "oid", "oid"},
	Regclass:     {2205, 2210, 4, arrowbatch.Int64, "regclass", "regclass"},
	Regtype:      {2206, 2211, 4, arrowbatch.Int64, "regtype", "regtype"},
	Regproc:      {24, 1008, 4, arrowbatch.Int64, "regproc", "regproc"},
	Regnamespace: {4089, 4090, 4, arrowbatch.Int64, "regnamespace", "regnamespace"},
	Array:        {2277, 0, -1, arrowbatch.List, "anyarray", "anyarray"},
	Struct:       {2249, 2287, -1, arrowbatch.Struct, "record", "record"},
	Void:         {2278, 0, 4, arrowbatch.Bytes, "void", "void"},
}

// Layout returns how columns of the type lie in memory.
func (t Type) Layout() arrowbatch.Layout { return infos[t.ID].layout }

// Shape returns the layout with the children's.
func (t Type) Shape() arrowbatch.Shape {
	s := arrowbatch.Shape{Layout: t.Layout()}
	switch t.ID {
	case Array:
		s.Kids = []arrowbatch.Shape{t.Elem.Shape()}
	case Struct:
		for _, f := range t.Fields {
			s.Kids = append(s.Kids, f.Type.Shape())
		}
	}
	return s
}

// OID returns PostgreSQL's type oid.
func (t Type) OID() uint32 {
	if t.ID == Array && t.Elem != nil {
		return infos[t.Elem.ID].array
	}
	return infos[t.ID].oid
}

// Size returns PostgreSQL's typlen: bytes, or -1 for a varying length.
func (t Type) Size() int16 { return infos[t.ID].size }

// TypMod returns PostgreSQL's atttypmod, -1 for none.
func (t Type) TypMod() int32 {
	switch {
	case t.ID == Numeric && t.Mod > 0:
		return (int32(t.Mod)<<16 | int32(t.Scale)&0x7ff) + 4
	case (t.ID == Varchar || t.ID == Bpchar) && t.Mod > 0:
		return int32(t.Mod) + 4
	case t.ID == Interval && t.Mod != 0:
		return 0x7fff<<16 | int32(max(t.Mod, 0))
	case (t.ID == Time || t.IsTimestamp()) && t.Mod != 0:
		return int32(max(t.Mod, 0))
	case t.ID == Array && t.Elem != nil:
		return t.Elem.TypMod()
	}
	return -1
}

// String returns the type's SQL name as format_type prints it.
func (t Type) String() string {
	switch t.ID {
	case Numeric:
		if t.Mod > 0 {
			return "numeric(" + strconv.Itoa(int(t.Mod)) + "," + strconv.Itoa(int(t.Scale)) + ")"
		}
	case Varchar, Bpchar:
		if t.Mod > 0 {
			return infos[t.ID].name + "(" + strconv.Itoa(int(t.Mod)) + ")"
		}
	case Time, Timestamp, Timestamptz, Interval:
		if p, ok := t.Precision(); ok {
			first, rest, _ := strings.Cut(infos[t.ID].name, " ")
			return strings.TrimSuffix(first+"("+strconv.Itoa(p)+") "+rest, " ")
		}
	case Array:
		if t.Elem != nil {
			return t.Elem.String() + "[]"
		}
	case Struct:
		if len(t.Fields) == 0 {
			return "record"
		}
		var b strings.Builder
		b.WriteString("struct<")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(f.Name + " " + f.Type.String())
		}
		return b.String() + ">"
	}
	return infos[t.ID].name
}

// PGName returns pg_type.typname.
func (t Type) PGName() string {
	if t.ID == Array && t.Elem != nil {
		return "_" + infos[t.Elem.ID].pgName
	}
	return infos[t.ID].pgName
}

// Equal tells whether t and o are the same type with the same modifiers.
func (t Type) Equal(o Type) bool {
	if t.ID != o.ID || t.Mod != o.Mod || (t.Mod != 0 && t.Scale != o.Scale) || len(t.Fields) != len(o.Fields) {
		return false
	}
	if t.ID == Array {
		return t.Elem == nil && o.Elem == nil || t.Elem != nil && o.Elem != nil && t.Elem.Equal(*o.Elem)
	}
	for i, f := range t.Fields {
		if f.Name != o.Fields[i].Name || !f.Type.Equal(o.Fields[i].Type) {
			return false
		}
	}
	return true
}

// Base returns the type without its modifiers.
func (t Type) Base() Type { t.Mod, t.Scale = 0, 0; return t }

// IsString tells whether the type is one of the text types.
func (t Type) IsString() bool {
	switch t.ID {
	case Text, Varchar, Bpchar, Name, Unknown:
		return true
	}
	return false
}

// IsNumber tells whether the type is numeric in PostgreSQL's type category N.
func (t Type) IsNumber() bool {
	switch t.ID {
	case Int2, Int4, Int8, Float4, Float8, Numeric, OID, Regclass, Regtype, Regproc, Regnamespace:
		return true
	}
	return false
}

// IsInteger tells whether the type is smallint, integer or bigint.
func (t Type) IsInteger() bool { return t.ID == Int2 || t.ID == Int4 || t.ID == Int8 }

// IsTimestamp tells whether the type is timestamp or timestamptz.
func (t Type) IsTimestamp() bool { return t.ID == Timestamp || t.ID == Timestamptz }

// All returns every simple type (no arrays, no structs) with an oid of its own.
func All() []Type {
	var ts []Type
	for id := range numIDs {
		if id != Array && id != Struct {
			ts = append(ts, Type{ID: id})
		}
	}
	return ts
}

// ByOID returns the type with PostgreSQL's oid; ok is false for an unknown one.
func ByOID(oid uint32) (t Type, ok bool) {
	for id := range numIDs {
		in := infos[id]
		if in.oid == oid && id != Array {
			return Type{ID: id}, true
		}
		if in.array == oid && oid != 0 {
			return ArrayOf(Type{ID: id}), true
		}
	}
	return Type{}, false
}
