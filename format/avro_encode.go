package format

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// avroEncoder prints rows in Avro's binary encoding. Each value is a union with
// null, since any column of a query can be NULL.
type avroEncoder struct {
	schema string
	tmp    []byte
	// err is the fault of the last row that had one.
	err *sqlerr.Error
}

// newAvroEncoder makes the schema of the columns, a record of the name.
func newAvroEncoder(cols []Column, name string) (*avroEncoder, error) {
	if name == "" {
		name = "row"
	}
	b := avroSchemaText{}
	namespace := ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		namespace, name = name[:i], name[i+1:]
	}
	fields := make([]types.Field, len(cols))
	for i, c := range cols {
		fields[i] = types.Field{Name: c.Name, Type: c.Type}
	}
	for _, part := range strings.Split(namespace, ".") {
		if namespace != "" {
			b.checkName(part)
		}
	}
	b.record(name, namespace, fields)
	if b.err != nil {
		return nil, b.err
	}
	return &avroEncoder{schema: b.String()}, nil
}

// avroSchemaText prints a schema.
type avroSchemaText struct {
	strings.Builder
	err *sqlerr.Error
}

// checkName tells whether Avro allows the name.
func (b *avroSchemaText) checkName(name string) {
	for i, c := range []byte(name) {
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		b.err = sqlerr.New(sqlerr.InvalidName, `name "%s" is not possible in an Avro schema`, name).
			WithHint("Give the column a name of letters, digits and underscores with AS.")
		return
	}
	if name == "" {
		b.err = sqlerr.New(sqlerr.InvalidName, "a name in an Avro schema cannot be empty")
	}
}

func (b *avroSchemaText) record(name, namespace string, fields []types.Field) {
	b.checkName(name)
	b.WriteString(`{"type":"record","name":"` + name + `"`)
	if namespace != "" {
		b.WriteString(`,"namespace":"` + namespace + `"`)
	}
	b.WriteString(`,"fields":[`)
	seen := map[string]bool{}
	for i, f := range fields {
		b.checkName(f.Name)
		if seen[f.Name] {
			b.err = sqlerr.New(sqlerr.DuplicateColumn, `column "%s" specified more than once`, f.Name)
		}
		seen[f.Name] = true
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"name":"` + f.Name + `","type":["null",`)
		b.value(f.Type, name+"_"+f.Name)
		b.WriteString(`],"default":null}`)
	}
	b.WriteString("]}")
}

// value prints a type; a record in it is called name.
func (b *avroSchemaText) value(t types.Type, name string) {
	switch t.ID {
	case types.Array:
		b.WriteString(`{"type":"array","items":["null",`)
		b.value(*t.Elem, name+"_item")
		b.WriteString("]}")
		return
	case types.Struct:
		b.record(name, "", t.Fields)
		return
	}
	base, logical := avroTypeOf(t)
	switch {
	case logical == "":
		b.WriteString(`"` + base + `"`)
	case t.ID == types.Numeric:
		b.WriteString(`{"type":"bytes","logicalType":"decimal","precision":` + strconv.Itoa(int(t.Mod)) +
			`,"scale":` + strconv.Itoa(int(t.Scale)) + "}")
	default:
		b.WriteString(`{"type":"` + base + `","logicalType":"` + logical + `"}`)
	}
}

// avroTypeOf returns what a scalar is written as; what is not named here is the
// text that SQL prints.
func avroTypeOf(t types.Type) (base, logical string) {
	switch t.ID {
	case types.Bool:
		return "boolean", ""
	case types.Int2, types.Int4:
		return "int", ""
	case types.Int8, types.OID:
		return "long", ""
	case types.Float4:
		return "float", ""
	case types.Float8:
		return "double", ""
	case types.Numeric:
		if t.Mod > 0 && t.Scale >= 0 && t.Scale <= t.Mod {
			return "bytes", "decimal"
		}
	case types.Bytea:
		return "bytes", ""
	case types.Date:
		return "int", "date"
	case types.Time:
		return "long", "time-micros"
	case types.Timestamp:
		return "long", "local-timestamp-micros"
	case types.Timestamptz:
		return "long", "timestamp-micros"
	case types.UUID:
		return "string", "uuid"
	}
	return "string", ""
}

// row appends row i of vs.
func (e *avroEncoder) row(dst []byte, cols []Column, vs []*arrowbatch.Vec, i int, env *types.Env) []byte {
	for k, v := range vs {
		dst = e.value(dst, cols[k].Type, v, i, env)
	}
	return dst
}

// value appends the union of null and a value.
func (e *avroEncoder) value(dst []byte, t types.Type, v *arrowbatch.Vec, i int, env *types.Env) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 2)
	switch t.ID {
	case types.Bool:
		if v.Bits.Get(i) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case types.Int2:
		return binary.AppendVarint(dst, int64(v.I16[i]))
	case types.Int4, types.Date:
		return binary.AppendVarint(dst, int64(v.I32[i]))
	case types.Int8, types.OID, types.Time, types.Timestamp, types.Timestamptz:
		return binary.AppendVarint(dst, v.I64[i])
	case types.Float4:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.F32[i]))
	case types.Float8:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.F64[i]))
	case types.Numeric:
		if _, logical := avroTypeOf(t); logical != "" {
			return e.decimal(dst, t, v.Dec[i])
		}
	case types.Bytea, types.Text, types.Varchar, types.JSON, types.JSONB:
		return appendAvroBytes(dst, v.BytesAt(i))
	case types.Array:
		lo, hi := v.ListAt(i)
		if lo < hi {
			dst = binary.AppendVarint(dst, int64(hi-lo))
		}
		for k := lo; k < hi; k++ {
			dst = e.value(dst, *t.Elem, v.Kids[0], k, env)
		}
		return append(dst, 0)
	case types.Struct:
		for k, f := range t.Fields {
			dst = e.value(dst, f.Type, v.Kids[k], i, env)
		}
		return dst
	}
	e.tmp = types.AppendText(e.tmp[:0], t, v, i, env)
	return appendAvroBytes(dst, e.tmp)
}

func appendAvroBytes(dst, b []byte) []byte {
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

// decimal appends the number as bytes of the type's scale.
func (e *avroEncoder) decimal(dst []byte, t types.Type, d decimal.Decimal) []byte {
	fit, err := d.Fits(int(t.Mod), int(t.Scale))
	if err != nil || fit.Special() != decimal.Finite || fit.Scale() != int(t.Scale) {
		e.err = sqlerr.New(sqlerr.NumericValueOutOfRange, "%s cannot be written as a decimal of Avro", d.String())
		return append(dst, 0)
	}
	neg, hi, lo, _, _ := fit.Parts()
	if neg {
		hi, lo = ^hi, -lo
		if lo == 0 {
			hi++
		}
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	k := 0
	for k < 15 && (b[k] == 0 && b[k+1] < 0x80 || b[k] == 0xff && b[k+1] >= 0x80) {
		k++
	}
	return appendAvroBytes(dst, b[k:])
}
