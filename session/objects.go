package session

import (
	"sort"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

// kindOf maps the kinds of the syntax to the catalog's.
var kindOf = map[sql.ObjectKind]catalog.Kind{sql.KindTable: catalog.KindTable, sql.KindSource: catalog.KindSource,
	sql.KindView: catalog.KindView, sql.KindMaterializedView: catalog.KindMaterializedView,
	sql.KindSink: catalog.KindSink, sql.KindFlow: catalog.KindFlow}

// wordOf maps the catalog's kinds to the words of DROP and CREATE.
var wordOf = map[catalog.Kind]string{catalog.KindTable: "TABLE", catalog.KindSource: "SOURCE",
	catalog.KindView: "VIEW", catalog.KindMaterializedView: "MATERIALIZED VIEW", catalog.KindSink: "SINK",
	catalog.KindFlow: "FLOW"}

// checkDatabase refuses a name in another database.
func (s *Session) checkDatabase(n sql.QualifiedName) error {
	if n.Catalog.Given() && n.Catalog.Text != s.db {
		return sqlerr.Unsupported("cross-database references are not implemented: \"%s.%s.%s\"", n.Catalog.Text,
			n.Schema.Text, n.Name.Text).At(n.Pos())
	}
	return nil
}

// resolve finds an object of any kind: 42P01 if there is none.
func (s *Session) resolve(n sql.QualifiedName) (*catalog.Object, error) {
	if err := s.checkDatabase(n); err != nil {
		return nil, err
	}
	snap := s.snapshot()
	if o := snap.Get(n.Schema.Text, n.Name.Text); o != nil {
		return o, nil
	}
	_, err := snap.Resolve(n.Schema.Text, n.Name.Text)
	return nil, sqlerr.From(err).At(n.Pos())
}

// resolveKind finds an object of one kind: nil if there is none of the name,
// 42809 if it is of another kind.
func (s *Session) resolveKind(k sql.ObjectKind, n sql.QualifiedName) (*catalog.Object, error) {
	if err := s.checkDatabase(n); err != nil {
		return nil, err
	}
	o := s.snapshot().Get(n.Schema.Text, n.Name.Text)
	if o == nil {
		return nil, nil
	}
	if o.Kind == catalog.KindSystem {
		return nil, sqlerr.New(sqlerr.InsufficientPrivilege, "permission denied: %q is a system catalog", o.Name.Name).
			At(n.Pos())
	}
	if o.Kind != kindOf[k] {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "%q is not a %s", n.Name.Text, kindOf[k]).At(n.Pos()).
			WithHint("Use DROP %s to remove a %s.", wordOf[o.Kind], o.Kind)
	}
	return o, nil
}

// missing is the error for a name that no object of the kind has.
func (s *Session) missing(k catalog.Kind, n sql.QualifiedName) *sqlerr.Error {
	name := n.Name.Text
	if n.Schema.Given() {
		name = n.Schema.Text + "." + name
	}
	var known []string
	for _, o := range s.snapshot().Objects(k) {
		known = append(known, o.Name.Name)
	}
	sort.Strings(known)
	e := sqlerr.New(sqlerr.UndefinedTable, "%s %q does not exist", k, name).At(n.Pos())
	e.Hint = sqlerr.Suggest(n.Name.Text, known)
	return e
}

// newName is the name under which a new object is created.
func (s *Session) newName(n sql.QualifiedName) (catalog.Name, error) {
	if err := s.checkDatabase(n); err != nil {
		return catalog.Name{}, err
	}
	schema := n.Schema.Text
	if schema == "" {
		var err error
		if schema, err = s.snapshot().CreationSchema(); err != nil {
			return catalog.Name{}, err
		}
	}
	return catalog.Name{Schema: schema, Name: n.Name.Text}, nil
}

// unknownOption is the error for an option that nobody knows.
func unknownOption(n sql.Name, known []string) *sqlerr.Error {
	e := sqlerr.New(sqlerr.InvalidParameterValue, "unrecognized option %q", n.Text).At(n.Pos)
	e.Hint = sqlerr.Suggest(n.Text, known)
	return e
}

// optionMap reads WITH (…): every option has a plain value.
func optionMap(opts []sql.Option) (map[string]string, error) {
	out := make(map[string]string, len(opts))
	for i := range opts {
		o := &opts[i]
		v, ok := o.Text()
		if !ok {
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, "option %q needs a value", o.Name.Text).At(o.Name.Pos)
		}
		if _, twice := out[o.Name.Text]; twice {
			return nil, sqlerr.New(sqlerr.SyntaxError, "option %q is given more than once", o.Name.Text).At(o.Name.Pos)
		}
		out[o.Name.Text] = v
	}
	return out, nil
}
