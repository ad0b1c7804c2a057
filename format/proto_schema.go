package format

import (
	"context"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// parseProto compiles the text of a .proto file; imports are found among the
// schema's references and protobuf's own files.
func parseProto(s *Schema) (f protoreflect.FileDescriptor, err error) {
	// The compiler is not ours: what it cannot handle must not end the program.
	err = spawn.Call("protobuf schema", func() error {
		const main = "\x00schema.proto" // no import can have this name
		texts := map[string]string{main: s.Text}
		for _, r := range s.References {
			texts[r.Name] = r.Text
		}
		c := protocompile.Compiler{MaxParallelism: 1, Resolver: protocompile.WithStandardImports(
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(texts)})}
		files, err := c.Compile(context.Background(), main)
		if err != nil {
			return sqlerr.New(sqlerr.InvalidParameterValue, "the schema cannot be read: %s",
				strings.ReplaceAll(err.Error(), main, "line "))
		}
		f = files[0]
		return nil
	})
	return f, err
}

// messageAt returns the message of a path of indexes, as the registry's serializers
// name it.
func messageAt(f protoreflect.FileDescriptor, path []int64) protoreflect.MessageDescriptor {
	ms := f.Messages()
	var m protoreflect.MessageDescriptor
	for _, i := range path {
		if i < 0 || i >= int64(ms.Len()) {
			return nil
		}
		m = ms.Get(int(i))
		ms = m.Messages()
	}
	return m
}

// messageNamed returns a message by its name within the file or its full name; ""
// is the first.
func messageNamed(f protoreflect.FileDescriptor, name string) (protoreflect.MessageDescriptor, error) {
	if name == "" && f.Messages().Len() > 0 {
		return f.Messages().Get(0), nil
	}
	var names []string
	var find func(ms protoreflect.MessageDescriptors) protoreflect.MessageDescriptor
	find = func(ms protoreflect.MessageDescriptors) protoreflect.MessageDescriptor {
		for i := range ms.Len() {
			m := ms.Get(i)
			full := string(m.FullName())
			if full == name || strings.TrimPrefix(full, string(f.Package())+".") == name {
				return m
			}
			names = append(names, full)
			if k := find(m.Messages()); k != nil {
				return k
			}
		}
		return nil
	}
	if m := find(f.Messages()); m != nil {
		return m, nil
	}
	return nil, sqlerr.New(sqlerr.UndefinedObject, `message "%s" is not in the schema`, name).
		WithHint("%s", sqlerr.Suggest(name, names))
}
