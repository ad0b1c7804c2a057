package format

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/hamba/avro/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// avroPlan says what becomes of a value that was written as w: it goes into n, or
// nowhere. A plan is a tree, as columns are; w may be recursive.
type avroPlan struct {
	w *avroType
	n *node // nil: skipped
	// class is that of a scalar.
	class class
	// column names n for messages.
	column string
	// err: n cannot take such a value.
	err *sqlerr.Error
	// kids are the fields as they were written, the branches of a union or the
	// items of an array.
	kids []*avroPlan
	// absent are a record's fields that the writer did not have.
	absent []avroDefault
	// symbols are an enum's as they are read.
	symbols [][]byte
}

// avroDefault is a value that is read from the reader's schema.
type avroDefault struct {
	plan *avroPlan
	data []byte
}

// avroPlanner resolves a writer's schema against a reader's and the columns.
type avroPlanner struct{ err *sqlerr.Error }

// record plans a record whose fields go into the nodes of the names; nodes that no
// field is for stay NULL.
func (b *avroPlanner) record(w, r *avroType, n *node, path string, names []string, nodes []*node) *avroPlan {
	p := &avroPlan{w: w, n: n, column: path, kids: make([]*avroPlan, len(w.kids))}
	for i := range p.kids {
		p.kids[i] = &avroPlan{w: w.kids[i]}
	}
	for k, name := range names {
		at := name
		if path != "" {
			at = path + "." + name
		}
		rf := fieldNamed(r, name)
		wf := -1
		if rf >= 0 {
			wf = writtenAs(w, r.fields[rf])
		} else {
			wf = fieldNamed(w, name)
		}
		switch {
		case wf >= 0 && rf >= 0:
			p.kids[wf] = b.value(w.kids[wf], r.kids[rf], nodes[k], at)
		case wf >= 0:
			p.kids[wf] = b.value(w.kids[wf], nil, nodes[k], at)
		case rf >= 0 && r.fields[rf].HasDefault():
			data, ok := appendAvroDefault(nil, r.kids[rf], r.fields[rf].Default(), 0)
			if !ok {
				b.err = sqlerr.New(sqlerr.InvalidParameterValue, `the default of field "%s" in the schema is not valid`, at)
				continue
			}
			p.absent = append(p.absent, avroDefault{b.value(r.kids[rf], r.kids[rf], nodes[k], at), data})
		}
	}
	return p
}

// fieldNamed returns the field of the name, in other letter case if there is but
// one such; -1: none.
func fieldNamed(t *avroType, name string) int {
	if t == nil || t.op != avroRecord {
		return -1
	}
	found := -1
	for i, f := range t.names {
		if f == name {
			return i
		}
		if strings.EqualFold(f, name) {
			if found >= 0 {
				found = -2
				continue
			}
			found = i
		}
	}
	return max(found, -1)
}

// writtenAs returns the writer's field that the reader's field f stands for.
func writtenAs(w *avroType, f *avro.Field) int {
	if i := slices.Index(w.names, f.Name()); i >= 0 {
		return i
	}
	for _, a := range f.Aliases() {
		if i := slices.Index(w.names, a); i >= 0 {
			return i
		}
	}
	return -1
}

// value plans a value of type w for node n; r is the reader's type, if it has one.
func (b *avroPlanner) value(w, r *avroType, n *node, path string) *avroPlan {
	p := &avroPlan{w: w, n: n, column: path}
	if w.op == avroUnion {
		for _, k := range w.kids {
			p.kids = append(p.kids, b.value(k, branchFor(r, k), n, path))
		}
		return p
	}
	if r = branchFor(r, w); r != nil && w.logical == "" && r.op == w.op && r.size == w.size {
		// A logical type may be added later: it says how the same bytes are meant.
		l := *w
		l.logical, l.scale = r.logical, r.scale
		w, p.w = &l, &l
	}
	if n.kind == kindSkip || w.op == avroNull {
		return p
	}
	isJSON := n.kind == kindJSON || n.kind == kindJSONB
	var scalar bool
	switch p.class, scalar = w.class(); {
	case scalar && takes(n.t, p.class):
		p.symbols = symbols(w, r)
	case scalar:
		p.err = untakable(n, w.describe())
	case isJSON:
	case w.op == avroArray && n.kind == kindList:
		var item *avroType
		if r != nil && r.op == avroArray {
			item = r.kids[0]
		}
		p.kids = []*avroPlan{b.value(w.kids[0], item, n.kids[0], path)}
	case w.op == avroRecord && n.kind == kindStruct:
		names := make([]string, len(n.t.Fields))
		for i, f := range n.t.Fields {
			names[i] = f.Name
		}
		return b.record(w, r, n, path, names, n.kids)
	default:
		p.err = untakable(n, w.describe())
	}
	return p
}

// symbols returns the enum's symbols as the reader knows them: for those that it
// does not, its default.
func symbols(w, r *avroType) [][]byte {
	if w.op != avroEnum {
		return nil
	}
	out := make([][]byte, len(w.names))
	for i, s := range w.names {
		if r != nil && r.op == avroEnum && r.fallback != "" && !slices.Contains(r.names, s) {
			s = r.fallback
		}
		out[i] = []byte(s)
	}
	return out
}

// branchFor returns the type of a reader's union that a value of type w becomes;
// of no union, r itself.
func branchFor(r, w *avroType) *avroType {
	if r == nil || r.op != avroUnion || w.op == avroUnion {
		return r
	}
	for _, k := range r.kids {
		if k.op == w.op {
			return k
		}
	}
	return nil
}

// appendAvroDefault appends a field's default as a value of type t: that of a
// union is of its first branch.
func appendAvroDefault(dst []byte, t *avroType, v any, depth int) ([]byte, bool) {
	if depth > maxDepth {
		return dst, false
	}
	switch t.op {
	case avroNull:
		return dst, true
	case avroUnion:
		if len(t.kids) == 0 {
			return dst, false
		}
		return appendAvroDefault(append(dst, 0), t.kids[0], v, depth+1)
	case avroRecord:
		return appendAvroDefaultRecord(dst, t, v, depth)
	case avroArray:
		list, ok := v.([]any)
		if len(list) > 0 {
			dst = binary.AppendVarint(dst, int64(len(list)))
		}
		for _, x := range list {
			var good bool
			dst, good = appendAvroDefault(dst, t.kids[0], x, depth+1)
			ok = ok && good
		}
		return append(dst, 0), ok
	case avroMap:
		m, ok := v.(map[string]any)
		if len(m) > 0 {
			dst = binary.AppendVarint(dst, int64(len(m)))
		}
		for k, x := range m {
			dst = append(binary.AppendVarint(dst, int64(len(k))), k...)
			var good bool
			dst, good = appendAvroDefault(dst, t.kids[0], x, depth+1)
			ok = ok && good
		}
		return append(dst, 0), ok
	}
	return appendAvroDefaultScalar(dst, t, v)
}

func appendAvroDefaultRecord(dst []byte, t *avroType, v any, depth int) ([]byte, bool) {
	m, ok := v.(map[string]any)
	for i, f := range t.fields {
		x, given := m[f.Name()]
		if !given {
			if !f.HasDefault() {
				return dst, false
			}
			x = f.Default()
		}
		var good bool
		dst, good = appendAvroDefault(dst, t.kids[i], x, depth+1)
		ok = ok && good
	}
	return dst, ok
}

func appendAvroDefaultScalar(dst []byte, t *avroType, v any) ([]byte, bool) {
	switch x := v.(type) {
	case bool:
		if x {
			return append(dst, 1), t.op == avroBool
		}
		return append(dst, 0), t.op == avroBool
	case int:
		return appendAvroNumber(dst, t, float64(x), int64(x))
	case int32:
		return appendAvroNumber(dst, t, float64(x), int64(x))
	case int64:
		return appendAvroNumber(dst, t, float64(x), x)
	case float32:
		return appendAvroNumber(dst, t, float64(x), int64(x))
	case float64:
		return appendAvroNumber(dst, t, x, int64(x))
	case string:
		switch t.op {
		case avroEnum:
			i := slices.Index(t.names, x)
			return binary.AppendVarint(dst, int64(i)), i >= 0
		case avroBytes, avroFixed:
			return appendLatin(dst, t, x)
		}
		return append(binary.AppendVarint(dst, int64(len(x))), x...), t.op == avroString
	case []byte:
		if t.op == avroFixed {
			return append(dst, x...), len(x) == t.size
		}
		return append(binary.AppendVarint(dst, int64(len(x))), x...), t.op == avroBytes
	}
	return dst, false
}

// appendLatin appends bytes given as a text of the code points 0 to 255.
func appendLatin(dst []byte, t *avroType, s string) ([]byte, bool) {
	var b []byte
	for _, r := range s {
		if r > 255 {
			return dst, false
		}
		b = append(b, byte(r))
	}
	return appendAvroDefaultScalar(dst, t, b)
}

func appendAvroNumber(dst []byte, t *avroType, f float64, i int64) ([]byte, bool) {
	switch t.op {
	case avroInt, avroLong:
		return binary.AppendVarint(dst, i), t.op == avroLong || i == int64(int32(i))
	case avroFloat:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f))), true
	case avroDouble:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), true
	}
	return dst, false
}
