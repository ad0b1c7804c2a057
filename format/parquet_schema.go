package format

import (
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// parquetDepth bounds how deep columns of a file may be nested.
const parquetDepth = 100

// colType is a column of a Parquet file or a part of one: a tree without the groups
// that only make lists and maps.
type colType struct {
	op   colOp
	name string
	path string
	// kids are a struct's fields, a list's element, or a map's key and value.
	kids []*colType
	// def is the definition level from which there is a value here that is not NULL,
	// slot that from which there is a place for one, and rep is the number of lists
	// around it. A list's elements are there from def+1 on and begin at level rep+1.
	def, slot, rep int16
	// leaf is the number of a scalar's column in the file, or of the first within.
	leaf int
	scalarType
}

type colOp uint8

const (
	colScalar colOp = iota
	colStruct
	colList
	colMap
)

// scalarType says what the values of a column are.
type scalarType struct {
	phys  parquet.Type
	size  int // of a fixed number of bytes
	class class
	what  string // as messages name it
	// digits of a second, or of a fraction.
	digits, precision int
	logical           scalarLogical
}

type scalarLogical uint8

const (
	logicalNone scalarLogical = iota
	logicalNull               // always NULL
	logicalUnsigned
	logicalFloat16
	logicalUUID
	logicalJSON
)

// schemaReader makes a file's columns; leaves are numbered in order.
type schemaReader struct{ leaves int }

// fields are those of a group whose own levels are given.
func (s *schemaReader) fields(g *schema.GroupNode, path string, def, slot, rep int16) ([]*colType, error) {
	var out []*colType
	for i := range g.NumFields() {
		k, err := s.field(g.Field(i), path, def, slot, rep)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// field is a column within something of level def.
func (s *schemaReader) field(n schema.Node, path string, def, slot, rep int16) (*colType, error) {
	if path != "" {
		path += "."
	}
	path += n.Name()
	if n.RepetitionType() == parquet.Repetitions.Repeated {
		// Without a list around it: a list that is never NULL, and its elements neither.
		t := &colType{op: colList, name: n.Name(), path: path, def: def, slot: slot, rep: rep, leaf: s.leaves}
		k, err := s.value(n, path, def+1, def+1, rep+1)
		t.kids = []*colType{k}
		return t, err
	}
	if n.RepetitionType() == parquet.Repetitions.Optional {
		def++
	}
	return s.value(n, path, def, slot, rep)
}

// value is what a node holds once it is there at level def.
func (s *schemaReader) value(n schema.Node, path string, def, slot, rep int16) (*colType, error) {
	t := &colType{name: n.Name(), path: path, def: def, slot: slot, rep: rep, leaf: s.leaves}
	g, group := n.(*schema.GroupNode)
	if !group {
		p, ok := n.(*schema.PrimitiveNode)
		if !ok {
			return t, damaged(`column "%s" is neither a value nor a group`, path)
		}
		s.leaves++
		t.scalarType = scalarOf(p)
		return t, nil
	}
	var err error
	switch inner := only(g); {
	case isMap(g) && inner != nil:
		m, _ := inner.(*schema.GroupNode)
		if m == nil || m.NumFields() != 2 {
			return t, damaged(`column "%s" is a map without keys and values`, path)
		}
		t.op = colMap
		t.kids, err = s.fields(m, path, def+1, def+1, rep+1)
	case isList(g) && inner != nil:
		t.op = colList
		e := element(g, inner)
		var k *colType
		if e == inner {
			k, err = s.value(inner, path, def+1, def+1, rep+1)
		} else {
			k, err = s.field(e, path, def+1, def+1, rep+1)
		}
		t.kids = []*colType{k}
	case g.NumFields() == 0:
		return t, damaged(`column "%s" is a group of nothing`, path)
	default:
		t.op = colStruct
		t.kids, err = s.fields(g, path, def, slot, rep)
	}
	return t, err
}

// only returns the one repeated child of a group that is a list or map.
func only(g *schema.GroupNode) schema.Node {
	if g.NumFields() != 1 || g.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
		return nil
	}
	return g.Field(0)
}

func isList(g *schema.GroupNode) bool {
	_, ok := g.LogicalType().(schema.ListLogicalType)
	return ok || g.ConvertedType() == schema.ConvertedTypes.List
}

func isMap(g *schema.GroupNode) bool {
	_, ok := g.LogicalType().(schema.MapLogicalType)
	return ok || g.ConvertedType() == schema.ConvertedTypes.Map || g.ConvertedType() == schema.ConvertedTypes.MapKeyValue
}

// element returns the node of a list's elements: the repeated node itself in files of
// old writers, by the rules of the format, else the one within it.
func element(list *schema.GroupNode, inner schema.Node) schema.Node {
	g, ok := inner.(*schema.GroupNode)
	if !ok || g.NumFields() != 1 || g.Name() == "array" || g.Name() == list.Name()+"_tuple" ||
		g.Field(0).RepetitionType() == parquet.Repetitions.Repeated {
		return inner
	}
	return g.Field(0)
}

// scalarOf says what the values of a column are; a logical type that the format does
// not allow where it stands does not count.
func scalarOf(p *schema.PrimitiveNode) scalarType {
	s := scalarType{phys: p.PhysicalType(), size: p.TypeLength()}
	bytes := s.phys == parquet.Types.ByteArray || s.phys == parquet.Types.FixedLenByteArray
	switch s.phys {
	case parquet.Types.Boolean:
		s.class, s.what = classBool, "BOOLEAN"
	case parquet.Types.Int32:
		s.class, s.what = classInt, "INT32"
	case parquet.Types.Int64:
		s.class, s.what = classInt, "INT64"
	case parquet.Types.Float:
		s.class, s.what = classFloat4, "FLOAT"
	case parquet.Types.Double:
		s.class, s.what = classFloat8, "DOUBLE"
	case parquet.Types.Int96:
		s.class, s.what, s.size = classInstant, "INT96", 12
	default:
		s.class, s.what = classBytes, "BYTE_ARRAY"
	}
	switch l := logicalOf(p).(type) {
	case schema.StringLogicalType, schema.EnumLogicalType:
		if bytes {
			s.class, s.what = classText, l.String()
		}
	case schema.JSONLogicalType:
		s.class, s.what, s.logical = classText, "JSON", logicalJSON
	case *schema.DecimalLogicalType:
		s.class, s.digits, s.precision = classDecimal, int(l.Scale()), int(l.Precision())
		s.what = fmt.Sprintf("DECIMAL(%d, %d)", l.Precision(), l.Scale())
	case schema.DateLogicalType:
		s.class, s.what = classDate, "DATE"
	case *schema.TimeLogicalType:
		s.class, s.what, s.digits = classTime, "TIME", unitDigits(l.TimeUnit())
	case *schema.TimestampLogicalType:
		s.class, s.what, s.digits = classLocal, "TIMESTAMP", unitDigits(l.TimeUnit())
		if l.IsAdjustedToUTC() {
			s.class, s.what = classInstant, "TIMESTAMP of UTC"
		}
	case *schema.IntLogicalType:
		if !l.IsSigned() {
			s.what, s.logical = "unsigned "+s.what, logicalUnsigned
		}
	case schema.UUIDLogicalType:
		if s.size == 16 {
			s.class, s.what, s.logical = classText, "UUID", logicalUUID
		}
	case schema.IntervalLogicalType:
		if s.size == 12 {
			s.class, s.what = classInterval, "INTERVAL"
		}
	case schema.Float16LogicalType:
		if s.size == 2 {
			s.class, s.what, s.logical = classFloat4, "FLOAT16", logicalFloat16
		}
	case schema.NullLogicalType:
		s.what, s.logical = "NULL", logicalNull
	}
	if s.class == classDate && s.phys != parquet.Types.Int32 ||
		(s.class == classTime || s.class == classLocal) && s.phys != parquet.Types.Int32 && s.phys != parquet.Types.Int64 ||
		s.class == classInstant && s.phys != parquet.Types.Int64 && s.phys != parquet.Types.Int96 ||
		s.class == classText && !bytes {
		s.class, s.what = classBytes, strings.ToUpper(s.phys.String())
	}
	return s
}

// logicalOf returns the logical type, from the older converted one where it is alone.
func logicalOf(p *schema.PrimitiveNode) schema.LogicalType {
	l := p.LogicalType()
	if l == nil || l.IsNone() || !l.IsValid() && p.ConvertedType() != schema.ConvertedTypes.None {
		return p.ConvertedType().ToLogicalType(p.DecimalMetadata())
	}
	return l
}

func unitDigits(u schema.TimeUnitType) int {
	switch u {
	case schema.TimeUnitMillis:
		return 3
	case schema.TimeUnitNanos:
		return 9
	}
	return 6
}

// describe names the type in messages.
func (t *colType) describe() string {
	switch t.op {
	case colStruct:
		return "group"
	case colList:
		return "LIST"
	case colMap:
		return "MAP"
	}
	return t.what
}

// cannotTake is the error of a column for which the file has another kind of values.
func cannotTake(n *node, t *colType) *sqlerr.Error {
	return sqlerr.New(sqlerr.DatatypeMismatch, `column "%s": type %s cannot take the file's %s`, t.path, n.t, t.describe())
}
