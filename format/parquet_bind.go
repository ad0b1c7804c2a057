package format

import (
	"strings"

	"github.com/apache/arrow/go/v17/parquet/compress"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// compression makes the library's name of a number in its own type.
func compression[T ~int64](codec T) compress.Compression { return compress.Compression(codec) }

// binding says what of a file fills a node.
type binding struct {
	t *colType
	n *node
	// col has the levels that tell where there are values, and a scalar's values.
	col *column
	// kids are those of n's kids; nil: the file has nothing for it.
	kids []*binding
	// json: the scalar is printed as JSON. doc: n is json or jsonb, printed from it.
	json bool
	doc  *binding
}

// bind finds what of the file fills each column.
func (p *ParquetReader) bind() error {
	s := schemaReader{}
	file, err := s.fields(p.meta.Schema.Root(), "", 0, 0, 0)
	if err != nil {
		return err
	}
	p.bound = make([]*binding, len(p.cols))
	b := binder{p: p}
	for i, c := range p.cols {
		k := colNamed(file, c.Name)
		if c.Meta != "" || k < 0 || c.Unused && (!c.NotNull || file[k].def == 0) {
			continue
		}
		if p.bound[i], err = b.bind(file[k], p.nodes[i]); err != nil {
			return err
		}
	}
	return nil
}

// colNamed returns the column of the name, in other letter case if there is but one
// such; -1: none.
func colNamed(cols []*colType, name string) int {
	found := -1
	for i, c := range cols {
		if c.name == name {
			return i
		}
		if strings.EqualFold(c.name, name) {
			if found >= 0 {
				found = -2
				continue
			}
			found = i
		}
	}
	return max(found, -1)
}

type binder struct{ p *ParquetReader }

// column returns what reads a leaf; only: its levels.
func (b *binder) column(t *colType, leaf int, only bool) *column {
	for _, c := range b.p.columns {
		if c.t.leaf == leaf {
			c.only = c.only && only
			return c
		}
	}
	for t.op != colScalar {
		t = t.kids[0]
	}
	c := &column{t: t, width: widthOf(t.phys), only: only}
	b.p.columns = append(b.p.columns, c)
	return c
}

func (b *binder) bind(t *colType, n *node) (*binding, error) {
	d := &binding{t: t, n: n}
	isJSON := n.kind == kindJSON || n.kind == kindJSONB
	switch {
	case n.kind == kindSkip || t.op == colScalar && t.logical == logicalNull:
		d.col = b.column(t, t.leaf, true)
	case t.op == colScalar:
		if !takes(n.t, t.class) {
			return nil, cannotTake(n, t)
		}
		if t.class == classDecimal && (t.digits < 0 || t.digits > decimal.MaxScale) {
			return nil, sqlerr.Unsupported(`column "%s": a %s is not supported`, t.path, t.what)
		}
		d.col = b.column(t, t.leaf, false)
	case isJSON:
		doc, err := b.bind(t, jsonNode(t))
		if err != nil {
			return nil, err
		}
		doc.asJSON()
		d.doc, d.col = doc, doc.col
	case t.op == colStruct && n.kind == kindStruct:
		return d, b.fields(d, t.kids)
	case t.op != colStruct && n.kind == kindList:
		return d, b.list(d)
	default:
		return nil, cannotTake(n, t)
	}
	return d, nil
}

// fields binds a struct's.
func (b *binder) fields(d *binding, file []*colType) error {
	d.kids = make([]*binding, len(d.n.kids))
	for i, f := range d.n.t.Fields {
		k := colNamed(file, f.Name)
		if k < 0 {
			continue
		}
		kid, err := b.bind(file[k], d.n.kids[i])
		if err != nil {
			return err
		}
		d.kids[i] = kid
		if d.col == nil {
			d.col = kid.col
		}
	}
	if d.col == nil {
		d.col = b.column(d.t, d.t.leaf, true)
	}
	return nil
}

// list binds a list's elements, or a map's entries as structs of key and value.
func (b *binder) list(d *binding) error {
	t := d.t.kids[0]
	if d.t.op == colMap {
		m := *d.t
		m.op, m.def, m.slot, m.rep = colStruct, d.t.def+1, d.t.def+1, d.t.rep+1
		t = &m
	}
	kid, err := b.bind(t, d.n.kids[0])
	if err != nil {
		return err
	}
	d.kids, d.col = []*binding{kid}, kid.col
	return nil
}

// jsonNode makes a node that holds the file's value with its scalars as JSON.
func jsonNode(t *colType) *node { return newNode(jsonType(t)) }

func jsonType(t *colType) types.Type {
	switch t.op {
	case colScalar:
		return types.TText
	case colList:
		return types.ArrayOf(jsonType(t.kids[0]))
	}
	fields := make([]types.Field, len(t.kids))
	for i, k := range t.kids {
		fields[i] = types.Field{Name: k.name, Type: jsonType(k)}
	}
	if t.op == colMap {
		return types.ArrayOf(types.StructOf(fields...))
	}
	return types.StructOf(fields...)
}

func (d *binding) asJSON() {
	d.json = true
	for _, k := range d.kids {
		k.asJSON()
	}
}

// appendDoc prints row i of v, which a jsonNode holds.
func appendDoc(dst []byte, t *colType, v *arrowbatch.Vec, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch t.op {
	case colScalar:
		return append(dst, v.BytesAt(i)...)
	case colStruct:
		dst = append(dst, '{')
		for k, f := range t.kids {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendJSONString(dst, []byte(f.name)), ':')
			dst = appendDoc(dst, f, v.Kids[k], i)
		}
		return append(dst, '}')
	}
	lo, hi := v.ListAt(i)
	if t.op == colList {
		dst = append(dst, '[')
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = appendDoc(dst, t.kids[0], v.Kids[0], k)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	keys, vals := v.Kids[0].Kids[0], v.Kids[0].Kids[1]
	for k := lo; k < hi; k++ {
		if k > lo {
			dst = append(dst, ',')
		}
		at := len(dst)
		dst = appendDoc(dst, t.kids[0], keys, k)
		if dst[at] != '"' { // the names of JSON are texts
			key := append([]byte(nil), dst[at:]...)
			dst = AppendJSONString(dst[:at], key)
		}
		dst = append(dst, ':')
		dst = appendDoc(dst, t.kids[1], vals, k)
	}
	return append(dst, '}')
}

// nullInColumn is the error of a NULL in a NOT NULL column.
func nullInColumn(name string) *RecordError {
	return &RecordError{Column: name, Err: sqlerr.New(sqlerr.NotNullViolation,
		`null value in column "%s" violates not-null constraint`, name)}
}
