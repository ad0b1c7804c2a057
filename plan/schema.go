package plan

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/sql/types"
)

// Field is a column of a node's output.
type Field struct {
	Name    string
	Type    types.Type
	NotNull bool
	// Table and Attr name the catalog column that the field is a plain copy of;
	// Attr counts from 1 and both are 0 for anything computed.
	Table catalog.ObjectID
	Attr  int16
}

// Schema is the columns of a node's output, in order. Names need not be unique.
type Schema struct{ Fields []Field }

// NewSchema returns the schema of the fields.
func NewSchema(f ...Field) *Schema { return &Schema{Fields: f} }

// Len is the number of columns.
func (s *Schema) Len() int { return len(s.Fields) }

// Concat returns the columns of s followed by those of o.
func (s *Schema) Concat(o *Schema) *Schema {
	f := make([]Field, 0, len(s.Fields)+len(o.Fields))
	return &Schema{Fields: append(append(f, s.Fields...), o.Fields...)}
}

// Select returns the columns at the positions cols.
func (s *Schema) Select(cols []int) *Schema {
	f := make([]Field, len(cols))
	for i, c := range cols {
		f[i] = s.Fields[c]
	}
	return &Schema{Fields: f}
}

// Nullable returns s with every column nullable: the padded side of an outer join.
func (s *Schema) Nullable() *Schema {
	f := append([]Field(nil), s.Fields...)
	for i := range f {
		f[i].NotNull = false
	}
	return &Schema{Fields: f}
}

// Types returns the columns' types.
func (s *Schema) Types() []types.Type {
	t := make([]types.Type, len(s.Fields))
	for i, f := range s.Fields {
		t[i] = f.Type
	}
	return t
}

// Shapes returns the columns' layouts in memory.
func (s *Schema) Shapes() []arrowbatch.Shape {
	t := make([]arrowbatch.Shape, len(s.Fields))
	for i, f := range s.Fields {
		t[i] = f.Type.Shape()
	}
	return t
}

// Names returns the columns' names.
func (s *Schema) Names() []string {
	t := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		t[i] = f.Name
	}
	return t
}
