package catalog

import (
	"github.com/streamsql/streamsql/sql/types"
)

// ObjectID names an object for its whole life; it is never used again.
type ObjectID uint32

// Kind is the kind of an object.
type Kind uint8

// The kinds.
const (
	KindSource Kind = iota + 1
	KindTable
	KindView
	KindMaterializedView
	KindSink
	KindFlow
	KindSystem // a relation of pg_catalog, information_schema or streamsql
)

var kindNames = map[Kind]string{KindSource: "source", KindTable: "table", KindView: "view",
	KindMaterializedView: "materialized view", KindSink: "sink", KindFlow: "flow", KindSystem: "system relation"}

func (k Kind) String() string { return kindNames[k] }

// Name is a schema-qualified name.
type Name struct{ Schema, Name string }

func (n Name) String() string {
	if n.Schema == "" || n.Schema == "public" {
		return n.Name
	}
	return n.Schema + "." + n.Name
}

// Column is a column of a relation.
type Column struct {
	Name    string
	Type    types.Type
	NotNull bool
	// Default and Generated are SQL text; Generated columns are computed from the
	// others as the row comes in.
	Default   string
	Generated string
	// Meta is "key", "partition", "offset", "timestamp" or "headers" for a column
	// that carries connector metadata; else "".
	Meta string
	// Hidden columns (the row id of a relation without key) are not shown by *.
	Hidden bool
	// Comment is the text of COMMENT ON COLUMN.
	Comment string
}

// WatermarkDef is WATERMARK FOR column AS expr.
type WatermarkDef struct {
	Column string
	Expr   string // SQL text, normally column - INTERVAL '…'
}

// Object is a named object, as stored. Objects are immutable: a change stores a
// new version.
type Object struct {
	ID      ObjectID
	Name    Name
	Kind    Kind
	Columns []Column
	// Key holds the positions of the primary key (tables) or the stream key
	// (materialized views); rows are stored under it.
	Key []int
	// KeyConstraint is the name that the primary key was given; "": see KeyName.
	KeyConstraint string
	// AppendOnly: rows are never changed or deleted.
	AppendOnly bool
	Watermark  *WatermarkDef
	// Options are the WITH (…) options, names in lower case.
	Options map[string]string
	// Format, Encode and FormatOptions are FORMAT f ENCODE e (…); "" where absent.
	Format, Encode string
	FormatOptions  map[string]string
	// Query is the defining query's SQL text (views, sinks, flows).
	Query string
	// TimeZone is the session's time zone when a continuous query was created, as SHOW
	// prints it; "": UTC. The query goes by it as long as it runs.
	TimeZone string
	// SQL is the statement that made the object, as SHOW CREATE prints it.
	SQL string
	// Into is the sink that a flow feeds.
	Into ObjectID
	// DependsOn are the objects that the definition reads.
	DependsOn []ObjectID
	// Diverts are the tables that take rows which are left out: late and bad ones.
	Diverts []ObjectID
	// Comment is the text of COMMENT ON.
	Comment string
	// Origin is where the query's state comes from, once that was another definition
	// or a savepoint; nil: it began with the object.
	Origin *Origin
	// Layout tells stored rows from those that the object had with other columns; 0: it
	// had none.
	Layout uint32
}

// Origin says what the state of a continuous query is made of when its definition has
// been replaced, or its state taken from a savepoint.
type Origin struct {
	// Change is a number that no other change has. The query's checkpoint has it once the
	// change is carried out.
	Change uint32 `json:"change"`
	// Savepoint is the number of the savepoint that the state is taken from; 0: the
	// query's own is.
	Savepoint uint32 `json:"savepoint,omitempty"`
	// Nodes are the numbers of the plan's nodes in pre-order; nil: 1, 2, 3 and so on.
	Nodes []int `json:"nodes,omitempty"`
	// Keep are the nodes whose state is kept, and Replay those of them that give once more
	// what they hold. Whole: all are kept, and so are the rows of the result.
	Keep   []int `json:"keep,omitempty"`
	Replay []int `json:"replay,omitempty"`
	Whole  bool  `json:"whole,omitempty"`
	// Settled: what the sink had prepared has been committed before the change.
	Settled bool `json:"settled,omitempty"`
}

// Relation tells whether the object can be read in FROM.
func (o *Object) Relation() bool { return o.Kind != KindSink && o.Kind != KindFlow }

// Stored tells whether the object's rows are kept in the store.
func (o *Object) Stored() bool { return o.Kind == KindTable || o.Kind == KindMaterializedView }

// Runs tells whether the object has a continuous query.
func (o *Object) Runs() bool {
	switch o.Kind {
	case KindMaterializedView, KindFlow:
		return true
	case KindSink:
		return o.Query != ""
	case KindTable:
		return o.Options["connector"] != ""
	}
	return false
}

// Changing tells whether the object is a source, or a table that a connector feeds, whose
// records are changes of rows that Key identifies.
func (o *Object) Changing() bool {
	return (o.Kind == KindSource || o.Kind == KindTable) && (o.Format == "upsert" || o.Format == "debezium")
}

// SourceKey returns where the key's columns are among those that are not generated, which
// are all that a connector knows.
func (o *Object) SourceKey() []int {
	var key []int
	for _, k := range o.Key {
		at := 0
		for _, c := range o.Columns[:k] {
			if c.Generated == "" {
				at++
			}
		}
		key = append(key, at)
	}
	return key
}

// Resolver is an immutable version of the catalog: all that the binder sees.
type Resolver interface {
	// Resolve finds a relation; schema "" means along the search path. The error
	// is 42P01 with the nearest known name as its hint.
	Resolve(schema, name string) (*Object, error)
	// ByID returns the object, or nil.
	ByID(id ObjectID) *Object
}
