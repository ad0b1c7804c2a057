package catalog

import (
	"embed"
	"strconv"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

//go:embed data
var dataFiles embed.FS

// System holds the system relations. There is one per program, immutable.
type System struct {
	byID   map[ObjectID]*Object
	byName map[Name]*Object
	view   map[ObjectID]bool // relations that are views in PostgreSQL
	types  []pgType
	procs  []pgProc
	rows   map[Name]func(*SystemContext, *Rows) error
}

// SystemContext is what the rows of system relations are made from.
type SystemContext struct {
	Catalog        *Snapshot
	User, Database string
	PID            int32
	// Now is the statement's time and Started the server's start, in microseconds
	// since the Unix epoch.
	Now, Started int64
	Settings     []Setting
	// Functions are the functions that expressions may call.
	Functions *FunctionSet
	Sessions  []SessionInfo
	Prepared  []PreparedInfo
	Cursors   []CursorInfo
	// Provider makes the rows of those relations of schema streamsql that tell
	// about running queries. nil: they are empty.
	Provider SystemProvider
}

// SystemProvider makes the rows of relation name of schema streamsql; the batch
// has the columns cols, in their order (NewRows helps).
type SystemProvider func(name string, cols []Column) (*arrowbatch.Batch, error)

// Setting is a run-time parameter for pg_settings.
type Setting struct {
	Name, Value, Unit, Category, Description string
	Type                                     string // bool, integer, real, string, enum
	Context                                  string // user, superuser, internal …
	Min, Max                                 string
	Enum                                     []string
	Boot, Reset                              string
	Source                                   string // default, session, client …
}

// Function is a function, aggregate or window function that exists.
type Function struct {
	Name string
	Kind byte // 'f', 'a' or 'w', as in pg_proc.prokind
}

// SessionInfo is a row of pg_stat_activity.
type SessionInfo struct {
	PID                         int32
	User, Database, Application string
	State, Query, ClientAddr    string
	Started, StateChanged       int64 // microseconds since the Unix epoch
}

// PreparedInfo is a row of pg_prepared_statements.
type PreparedInfo struct {
	Name, Statement string
	Prepared        int64
	FromSQL         bool
}

// CursorInfo is a row of pg_cursors.
type CursorInfo struct {
	Name, Statement      string
	Holdable, Scrollable bool
}

var loadSystem = sync.OnceValues(readSystem)

func readSystem() (*System, error) {
	s := &System{byID: map[ObjectID]*Object{}, byName: map[Name]*Object{}, view: map[ObjectID]bool{}}
	text, err := dataFiles.ReadFile("data/relations.txt")
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if err := s.addRelation(strings.Fields(line)); err != nil {
			return nil, err
		}
	}
	s.addStreamsql()
	if err := s.readTypes(); err != nil {
		return nil, err
	}
	if err := s.readProcs(); err != nil {
		return nil, err
	}
	s.rows = systemRows()
	return s, nil
}

// addRelation reads «schema name oid relkind column:type[!] …».
func (s *System) addRelation(f []string) error {
	oid, err := strconv.ParseUint(f[2], 10, 31)
	if err != nil {
		return err
	}
	o := &Object{ID: ObjectID(oid) | systemBit, Name: Name{f[0], f[1]}, Kind: KindSystem}
	for _, c := range f[4:] {
		name, typ, _ := strings.Cut(c, ":")
		typ, notNull := strings.CutSuffix(typ, "!")
		t, ok := systemType(typ)
		if !ok {
			return sqlerr.Internal("system relation %s: unknown type %s", o.Name, typ)
		}
		o.Columns = append(o.Columns, Column{Name: name, Type: t, NotNull: notNull})
	}
	s.add(o, f[3] == "v")
	return nil
}

func (s *System) add(o *Object, view bool) {
	s.byID[o.ID], s.byName[o.Name] = o, o
	s.view[o.ID] = view
}

// systemType returns the type of a column of PostgreSQL's catalogs. The types
// that streamsql lacks are shown as the nearest that it has.
func systemType(name string) (types.Type, bool) {
	if elem, ok := strings.CutPrefix(name, "_"); ok {
		t, ok := systemType(elem)
		return types.ArrayOf(t), ok
	}
	switch name {
	case "sql_identifier":
		return types.TName, true
	case "character_data":
		return types.TVarchar, true
	case "yes_or_no":
		return types.Type{ID: types.Varchar, Mod: 3}, true
	case "cardinal_number":
		return types.TInt4, true
	case "time_stamp":
		return types.TTimestamptz, true
	case "xid":
		return types.TOID, true
	case "pg_node_tree", "pg_lsn", "inet", "aclitem", "pg_ndistinct", "pg_dependencies", "pg_mcv_list":
		return types.TText, true
	case "anyarray":
		return types.ArrayOf(types.TText), true
	case "oidvector":
		return types.ArrayOf(types.TOID), true
	case "int2vector":
		return types.ArrayOf(types.TInt2), true
	}
	id, ok := typesByName[name]
	return types.Type{ID: id}, ok
}

// Rows returns the rows of the system relation o.
func (c *SystemContext) Rows(o *Object) (*arrowbatch.Batch, error) {
	sys := c.Catalog.sys
	out := NewRows(o.Columns)
	if fn := sys.rows[o.Name]; fn != nil {
		if err := fn(c, out); err != nil {
			return nil, err
		}
		return out.Batch(), nil
	}
	if o.Name.Schema != SchemaStreamsql || c.Provider == nil {
		return out.Batch(), nil
	}
	b, err := c.Provider(o.Name.Name, o.Columns)
	if err != nil || b == nil {
		return out.Batch(), err
	}
	if len(b.Cols) != len(o.Columns) {
		return nil, sqlerr.Internal("relation %s has %d columns, its rows %d", o.Name, len(o.Columns), len(b.Cols))
	}
	return b, nil
}
