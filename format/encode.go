package format

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Encoder prints rows. It holds no rows itself and is used by one goroutine.
type Encoder struct {
	enc  string
	cols []Column
	opts Options
	keys [][]byte // JSON: `{"a":`, `,"b":`
	tmp  []byte
	avro *avroEncoder
	pb   *protoEncoder
	// id is that of the schema, in front of each row; -1: none.
	id int32
}

// NewEncoder returns an encoder of the columns; Meta, Unused and NotNull of them
// are not looked at.
func NewEncoder(cols []Column, enc string, o Options) (*Encoder, error) {
	e := &Encoder{enc: enc, cols: cols, opts: o, id: -1}
	var err error
	switch enc {
	case JSON:
		e.keys = jsonKeys(cols)
	case CSV:
		if o.CSV.Delimiter == 0 || o.CSV.Quote == 0 || o.CSV.Escape == 0 {
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, "CSV delimiter, quote and escape must be given")
		}
	case Text, Bytes:
		if len(cols) != 1 {
			return nil, sqlerr.New(sqlerr.InvalidColumnDef, "ENCODE %s writes exactly one column, not %d", enc, len(cols))
		}
	case Avro:
		e.avro, err = newAvroEncoder(cols, o.SchemaName)
	case Proto:
		e.pb, err = newProtoEncoder(cols, o.SchemaName)
	default:
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, `encoding "%s" is not known`, enc).
			WithHint("%s", sqlerr.Suggest(enc, Encodings))
	}
	return e, err
}

// Schema returns the schema that rows are written with; nil where the encoding has
// none.
func (e *Encoder) Schema() *Schema {
	switch {
	case e.avro != nil:
		return &Schema{Type: "AVRO", Text: e.avro.schema}
	case e.pb != nil:
		return &Schema{Type: "PROTOBUF", Text: e.pb.schema}
	}
	return nil
}

// SetSchemaID puts the schema's id in a registry in front of each row.
func (e *Encoder) SetSchemaID(id int32) { e.id = id }

// Err returns why a row since the last call is not what it should be, which only
// encodings with a schema have: a value that the schema has no room for.
func (e *Encoder) Err() error {
	var slot **sqlerr.Error
	switch {
	case e.avro != nil:
		slot = &e.avro.err
	case e.pb != nil:
		slot = &e.pb.err
	default:
		return nil
	}
	if err := *slot; err != nil {
		*slot = nil
		return err
	}
	return nil
}

// AppendHeader appends the line that a file begins with, if it has one.
func (e *Encoder) AppendHeader(dst []byte) []byte {
	if e.enc != CSV || !e.opts.CSV.Header {
		return dst
	}
	for i, c := range e.cols {
		if i > 0 {
			dst = append(dst, e.opts.CSV.Delimiter)
		}
		dst = e.csvText(dst, []byte(c.Name))
	}
	return append(dst, '\n')
}

// AppendLine appends row i of vs, the columns' vectors, with a line end.
func (e *Encoder) AppendLine(dst []byte, vs []*arrowbatch.Vec, i int) []byte {
	return append(e.AppendRow(dst, vs, i), '\n')
}

// AppendRow appends row i of vs without a line end.
func (e *Encoder) AppendRow(dst []byte, vs []*arrowbatch.Vec, i int) []byte {
	switch e.enc {
	case JSON:
		return e.jsonRow(dst, vs, i)
	case CSV:
		for k, v := range vs {
			if k > 0 {
				dst = append(dst, e.opts.CSV.Delimiter)
			}
			dst = e.csvValue(dst, e.cols[k].Type, v, i)
		}
		return dst
	case Avro:
		if e.id >= 0 {
			dst = appendFrame(dst, e.id)
		}
		return e.avro.row(dst, e.cols, vs, i, e.opts.Env)
	case Proto:
		if e.id >= 0 {
			dst = append(appendFrame(dst, e.id), 0) // the first message of the schema
		}
		return e.pb.row(dst, e.cols, vs, i, e.opts.Env)
	}
	v := vs[0]
	switch {
	case v.IsNull(i):
		return dst
	case e.cols[0].Type.ID == types.Bytea && e.enc == Bytes:
		return append(dst, v.BytesAt(i)...)
	}
	return types.AppendText(dst, e.cols[0].Type, v, i, e.opts.Env)
}

func (e *Encoder) jsonRow(dst []byte, vs []*arrowbatch.Vec, i int) []byte {
	if len(vs) == 0 {
		return append(dst, "{}"...)
	}
	for k, v := range vs {
		dst = append(dst, e.keys[k]...)
		dst = AppendJSONValue(dst, e.cols[k].Type, v, i, e.opts.Env)
	}
	return append(dst, '}')
}

func (e *Encoder) csvValue(dst []byte, t types.Type, v *arrowbatch.Vec, i int) []byte {
	if v.IsNull(i) {
		return append(dst, e.opts.CSV.Null...)
	}
	switch t.ID {
	case types.Text, types.Varchar, types.Bpchar, types.JSON, types.JSONB:
		return e.csvText(dst, v.BytesAt(i))
	}
	e.tmp = types.AppendText(e.tmp[:0], t, v, i, e.opts.Env)
	return e.csvText(dst, e.tmp)
}

// csvText appends a field, quoted where it would be read as something else.
func (e *Encoder) csvText(dst, s []byte) []byte {
	o := &e.opts.CSV
	plain := string(s) != o.Null
	for _, c := range s {
		if c == o.Delimiter || c == o.Quote || c == '\n' || c == '\r' {
			plain = false
			break
		}
	}
	if plain {
		return append(dst, s...)
	}
	dst = append(dst, o.Quote)
	if o.Quote == o.Escape {
		for {
			j := bytes.IndexByte(s, o.Quote)
			if j < 0 {
				break
			}
			dst = append(append(dst, s[:j+1]...), o.Quote)
			s = s[j+1:]
		}
		return append(append(dst, s...), o.Quote)
	}
	for _, c := range s {
		if c == o.Quote || c == o.Escape {
			dst = append(dst, o.Escape)
		}
		dst = append(dst, c)
	}
	return append(dst, o.Quote)
}

func jsonKeys(cols []Column) [][]byte {
	keys := make([][]byte, len(cols))
	for i, c := range cols {
		k := []byte{','}
		if i == 0 {
			k[0] = '{'
		}
		keys[i] = append(AppendJSONString(k, []byte(c.Name)), ':')
	}
	return keys
}

// AppendJSONRow appends row i of vs as a JSON object with the columns' names; an
// Encoder does the same without printing the names anew for each row.
func AppendJSONRow(dst []byte, cols []Column, vs []*arrowbatch.Vec, i int, env *types.Env) []byte {
	dst = append(dst, '{')
	for k, v := range vs {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendJSONString(dst, []byte(cols[k].Name)), ':')
		dst = AppendJSONValue(dst, cols[k].Type, v, i, env)
	}
	return append(dst, '}')
}
