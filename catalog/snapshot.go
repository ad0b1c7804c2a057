package catalog

import (
	"slices"
	"sort"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// The schemas. There are no others.
const (
	SchemaPublic    = "public"
	SchemaPGCatalog = "pg_catalog"
	SchemaInfo      = "information_schema"
	SchemaStreamsql = "streamsql"
)

// Schemas returns the names of the schemas in the order of their oids.
func Schemas() []string { return []string{SchemaPGCatalog, SchemaPublic, SchemaInfo, SchemaStreamsql} }

// DefaultPath is the search path of a new session.
var DefaultPath = []string{"$user", SchemaPublic}

// Snapshot is one version of the catalog as seen along a search path. It is a
// Resolver, immutable and safe for concurrent use.
type Snapshot struct {
	version uint64
	byID    map[ObjectID]*Object
	byName  map[Name]*Object
	path    []string // schemas to search, in order, pg_catalog included
	create  string   // schema of new objects: the first of the path that exists
	sys     *System
}

func newSnapshot(sys *System) *Snapshot {
	s := &Snapshot{byID: map[ObjectID]*Object{}, byName: map[Name]*Object{}, sys: sys}
	return s.WithPath(DefaultPath)
}

// Version rises with every committed change.
func (s *Snapshot) Version() uint64 { return s.version }

// WithPath returns the same version seen along a search path. Schemas that do
// not exist are passed over, as in PostgreSQL; pg_catalog is searched first
// unless the path names it.
func (s *Snapshot) WithPath(path []string) *Snapshot {
	c := *s
	c.path, c.create = nil, ""
	for _, p := range path {
		if !slices.Contains(Schemas(), p) || slices.Contains(c.path, p) {
			continue
		}
		if c.create == "" && p != SchemaPGCatalog {
			c.create = p
		}
		c.path = append(c.path, p)
	}
	if !slices.Contains(c.path, SchemaPGCatalog) {
		c.path = append([]string{SchemaPGCatalog}, c.path...)
	}
	return &c
}

// Path returns the schemas that unqualified names are looked up in.
func (s *Snapshot) Path() []string { return s.path }

// CreationSchema is the schema that an unqualified new name falls into; 3F000
// if the path has none.
func (s *Snapshot) CreationSchema() (string, error) {
	if s.create == "" {
		return "", sqlerr.New(sqlerr.InvalidSchemaName, "no schema has been selected to create in")
	}
	return s.create, nil
}

// ByID returns the object, or nil.
func (s *Snapshot) ByID(id ObjectID) *Object {
	if id&systemBit != 0 {
		return s.sys.byID[id]
	}
	return s.byID[id]
}

// Get returns the object of that name, of any kind, or nil; schema "" means
// along the search path.
func (s *Snapshot) Get(schema, name string) *Object {
	if schema != "" {
		return s.get(Name{schema, name})
	}
	for _, p := range s.path {
		if o := s.get(Name{p, name}); o != nil {
			return o
		}
	}
	return nil
}

func (s *Snapshot) get(n Name) *Object {
	if o := s.byName[n]; o != nil {
		return o
	}
	return s.sys.byName[n]
}

// Resolve finds a relation; schema "" means along the search path. The error is
// 42P01 with the nearest known name as its hint, or 42809 for an object that
// cannot be read.
func (s *Snapshot) Resolve(schema, name string) (*Object, error) {
	o := s.Get(schema, name)
	if o == nil {
		return nil, s.undefined("relation", schema, name)
	}
	if !o.Relation() {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "cannot read from %s %q", o.Kind, name)
	}
	return o, nil
}

// undefined makes the 42P01 for a name that nothing has.
func (s *Snapshot) undefined(what, schema, name string) *sqlerr.Error {
	shown := name
	if schema != "" {
		shown = schema + "." + name
	}
	err := sqlerr.New(sqlerr.UndefinedTable, "%s %q does not exist", what, shown)
	if n := sqlerr.Nearest(name, s.names(schema)); n != "" && len(name) > 2 {
		err.Hint = `Perhaps you meant "` + n + `".`
	}
	return err
}

// names lists the names that a user could have meant: those of one schema, or
// of the whole path without the system's, which are too many to be of help.
func (s *Snapshot) names(schema string) []string {
	var out []string
	for n := range s.byName {
		if schema == n.Schema || schema == "" && slices.Contains(s.path, n.Schema) {
			out = append(out, n.Name)
		}
	}
	for n := range s.sys.byName {
		if schema == n.Schema {
			out = append(out, n.Name)
		}
	}
	sort.Strings(out)
	return out
}

// Objects returns the users' objects of the given kinds (none: of all), sorted
// by schema and name.
func (s *Snapshot) Objects(kinds ...Kind) []*Object {
	out := make([]*Object, 0, len(s.byID))
	for _, o := range s.byID {
		if len(kinds) == 0 || slices.Contains(kinds, o.Kind) {
			out = append(out, o)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].Name, out[j].Name
		return a.Schema < b.Schema || a.Schema == b.Schema && a.Name < b.Name
	})
	return out
}

// InOrder returns all of the users' objects, each after what it depends on.
func (s *Snapshot) InOrder() []*Object {
	ids := make([]ObjectID, 0, len(s.byID))
	for id := range s.byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	seen := map[ObjectID]bool{}
	var out []*Object
	var visit func(id ObjectID)
	visit = func(id ObjectID) {
		o := s.byID[id]
		if o == nil || seen[id] {
			return
		}
		seen[id] = true
		for _, d := range o.uses() {
			visit(d)
		}
		out = append(out, o)
	}
	for _, id := range ids {
		visit(id)
	}
	return out
}

// Dependents returns the objects that use id directly, by id.
func (s *Snapshot) Dependents(id ObjectID) []*Object {
	var out []*Object
	for _, o := range s.byID {
		if slices.Contains(o.uses(), id) {
			out = append(out, o)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// visible tells whether the bare name of o finds o.
func (s *Snapshot) visible(o *Object) bool { return s.Get("", o.Name.Name) == o }

// uses is DependsOn, Diverts and Into.
func (o *Object) uses() []ObjectID {
	if o.Into == 0 && o.Diverts == nil {
		return o.DependsOn
	}
	out := append(slices.Clone(o.DependsOn), o.Diverts...)
	if o.Into != 0 {
		out = append(out, o.Into)
	}
	return out
}
