package format

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// protoMessage says how a message becomes the row of columns or of a struct. It
// holds scratch of the message in work: one plan is for one place in the columns,
// which no message comes to while another is in work there.
type protoMessage struct {
	desc   protoreflect.MessageDescriptor
	fields []*protoField
	// low finds fields of small numbers, high the others.
	low  [64]*protoField
	high map[protowire.Number]*protoField
}

// protoWay is how a field is put into its column.
type protoWay uint8

const (
	protoScalar  protoWay = iota
	protoStruct           // a message into a struct
	protoInstant          // google.protobuf.Timestamp
	protoSpan             // google.protobuf.Duration
	protoWrapped          // google.protobuf.Int64Value and the like
	protoJSON             // a message, map or list into json or jsonb
)

// protoField is a field that a column is made of.
type protoField struct {
	desc   protoreflect.FieldDescriptor
	n      *node
	column string
	err    *sqlerr.Error // the column cannot take it
	way    protoWay
	class  class
	wire   protowire.Type
	list   bool
	item   *node // of a list, else n
	// absent is the value of a field that is not there; presence: it is NULL.
	presence bool
	absent   scalar
	enum     map[int64][]byte
	kid      *protoMessage
	// rivals are the other fields of its oneof.
	rivals []*protoField

	// Of the message in work.
	found bool
	bits  uint64   // the last number
	last  []byte   // the last bytes
	parts [][]byte // of lists and messages: every occurrence
	joint []byte   // parts, joined
}

// planProto finds the fields of a message for the nodes of the names.
func planProto(m protoreflect.MessageDescriptor, path string, names []string, nodes []*node) *protoMessage {
	p := &protoMessage{desc: m, high: map[protowire.Number]*protoField{}}
	for i, name := range names {
		at := name
		if path != "" {
			at = path + "." + name
		}
		if fd := protoFieldNamed(m, name); fd != nil {
			p.add(planProtoField(fd, nodes[i], at))
		}
	}
	for _, f := range p.fields {
		for _, g := range p.fields {
			if o := f.desc.ContainingOneof(); o != nil && g != f && g.desc.ContainingOneof() == o {
				f.rivals = append(f.rivals, g)
			}
		}
	}
	return p
}

func (p *protoMessage) add(f *protoField) {
	p.fields = append(p.fields, f)
	if num := f.desc.Number(); int(num) < len(p.low) {
		p.low[num] = f
	} else {
		p.high[num] = f
	}
}

func (p *protoMessage) find(num protowire.Number) *protoField {
	if int(num) < len(p.low) {
		return p.low[num]
	}
	return p.high[num]
}

// protoFieldNamed returns the field of the name or of the JSON name; the column of
// two fields is that of the first.
func protoFieldNamed(m protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := m.Fields().ByName(protoreflect.Name(name)); fd != nil {
		return fd
	}
	return m.Fields().ByJSONName(name)
}

func planProtoField(fd protoreflect.FieldDescriptor, n *node, path string) *protoField {
	f := &protoField{desc: fd, n: n, item: n, column: path, presence: fd.HasPresence(), wire: protoWire(fd.Kind())}
	if n.kind == kindSkip {
		f.list = fd.IsList()
		return f
	}
	if fd.IsMap() || fd.IsList() {
		f.presence = false
		switch {
		case n.kind == kindJSON || n.kind == kindJSONB:
			f.way = protoJSON
			return f
		case fd.IsMap() || n.kind != kindList:
			f.err = untakable(n, protoKindName(fd))
			return f
		}
		f.list, f.item = true, n.kids[0]
	}
	f.planItem(fd, path)
	return f
}

// planItem says how one value of the field goes into f.item.
func (f *protoField) planItem(fd protoreflect.FieldDescriptor, path string) {
	n := f.item
	if m := fd.Message(); m != nil {
		switch name := m.FullName(); {
		case n.kind == kindJSON || n.kind == kindJSONB:
			f.way = protoJSON
		case name == "google.protobuf.Timestamp" && takes(n.t, classInstant):
			f.way, f.class = protoInstant, classInstant
		case name == "google.protobuf.Duration" && takes(n.t, classInterval):
			f.way, f.class = protoSpan, classInterval
		case m.ParentFile().Path() == "google/protobuf/wrappers.proto" && n.kind != kindStruct:
			f.way = protoWrapped
			f.kid = planProto(m, path, []string{"value"}, []*node{n})
			f.err = f.kid.fields[0].err
		case n.kind == kindStruct:
			f.way = protoStruct
			names := make([]string, len(n.t.Fields))
			for i, x := range n.t.Fields {
				names[i] = x.Name
			}
			f.kid = planProto(m, path, names, n.kids)
		default:
			f.err = untakable(n, "message "+string(name))
		}
		return
	}
	f.class = protoClass(fd.Kind())
	if fd.Kind() == protoreflect.EnumKind {
		f.planEnum(fd.Enum(), n.t)
	}
	if !takes(n.t, f.class) {
		f.err = untakable(n, protoKindName(fd))
		return
	}
	if !f.presence && !f.list {
		f.absent = f.scalarOf(0, nil)
	}
}

// planEnum makes names of an enum's numbers, unless the column has numbers.
func (f *protoField) planEnum(e protoreflect.EnumDescriptor, t types.Type) {
	switch t.ID {
	case types.Int2, types.Int4, types.Int8, types.Numeric:
		f.class = classInt
		return
	}
	f.enum = map[int64][]byte{}
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		if num := int64(v.Number()); f.enum[num] == nil {
			f.enum[num] = []byte(v.Name())
		}
	}
}

func protoKindName(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.IsMap():
		return "map"
	case fd.IsList():
		return "repeated " + fd.Kind().String()
	}
	return fd.Kind().String()
}

func protoClass(k protoreflect.Kind) class {
	switch k {
	case protoreflect.BoolKind:
		return classBool
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return classUint
	case protoreflect.FloatKind:
		return classFloat4
	case protoreflect.DoubleKind:
		return classFloat8
	case protoreflect.StringKind, protoreflect.EnumKind:
		return classText
	case protoreflect.BytesKind:
		return classBytes
	}
	return classInt
}

func protoWire(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}

// scalarOf returns the value of a field of no message; x are its bits, b its bytes.
func (f *protoField) scalarOf(x uint64, b []byte) scalar {
	s := scalar{class: f.class, i: int64(x), b: b}
	switch f.desc.Kind() {
	case protoreflect.BoolKind:
		s.i = 0
		if x != 0 {
			s.i = 1
		}
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind:
		s.i = int64(int32(x))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		s.i = int64(uint32(x))
	case protoreflect.Sint32Kind:
		s.i = int64(int32(protowire.DecodeZigZag(x & math.MaxUint32)))
	case protoreflect.Sint64Kind:
		s.i = protowire.DecodeZigZag(x)
	case protoreflect.FloatKind:
		s.f = float64(math.Float32frombits(uint32(x)))
	case protoreflect.DoubleKind:
		s.f = math.Float64frombits(x)
	case protoreflect.EnumKind:
		s.i = int64(int32(x))
		if s.class == classText {
			s.b = f.enum[s.i]
			if s.b == nil {
				s.class = classInt // an unknown number stays one
			}
		}
	}
	return s
}
