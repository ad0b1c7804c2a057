package connector

import (
	"context"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// Column is a column that a source must deliver or a sink is given.
type Column struct {
	Name string
	Type types.Type
	// Meta is "key", "partition", "offset", "timestamp" or "headers" for connector
	// metadata; "" for a field of the record.
	Meta string
	// Unused columns are not read by the plan: the decoder skips them and
	// delivers NULLs.
	Unused bool
	// NotNull: a record with a NULL here is a bad row.
	NotNull bool
}

// Spec is what a source or sink is made from.
type Spec struct {
	// Name is the object's name, for messages.
	Name string
	// Options are WITH (…) without "connector"; names in lower case.
	Options map[string]string
	// Format, Encode and FormatOptions are FORMAT f ENCODE e (…), lower case; ""
	// where the statement has none.
	Format, Encode string
	FormatOptions  map[string]string
	Columns        []Column
	// Key holds the columns of the stream key, for upsert sinks; of a source those that
	// identify a row, where records change rows.
	Key []int
	// AppendOnly tells a sink that it will be given Inserts only.
	AppendOnly bool
	BadRows    BadRows
	// WholeBad: bad records are wanted whole, not just KeptBytes of them.
	WholeBad bool
	// Report tells the query's status that the other end is away (err, repeated
	// as it changes) or back (nil). Safe for concurrent use; may be nil.
	Report func(err error)
	Clock  clock.Clock
	// Identity names a sink among those of all servers: the same over restarts, never
	// given to another. Empty at CREATE.
	Identity string
	// Query is the name of the query that reads the source or writes the sink; "" at
	// CREATE and for a finite read.
	Query string
	// Outbox is where a sink may keep what it has sent until it is known to be
	// visible; nil at CREATE.
	Outbox *state.Outbox
}

// Factory makes sources and sinks of one connector; a nil function means that
// the connector has no such end.
type Factory struct {
	// Source checks the options (unknown ones refused with 42704-like errors and
	// the nearest name) and connects. It does not fail when the other end is
	// away: readers wait for it.
	Source func(ctx context.Context, s *Spec) (Source, error)
	Sink   func(ctx context.Context, s *Spec) (Sink, error)
	// DeadLetters makes the sink for the records that a source of the spec could not
	// decode, whose writers take batches of DeadLetters; nil where the options name
	// none. A nil function: the connector has no such thing.
	DeadLetters func(ctx context.Context, s *Spec) (Sink, error)
	// CheckSource and CheckSink check the spec, at CREATE: alone, without connecting,
	// but for a sink whose other end says which columns it takes. FixedColumns, if not
	// nil, returns the columns of a source that knows its own (a generator), used where
	// the statement lists none.
	CheckSource  func(s *Spec) error
	CheckSink    func(ctx context.Context, s *Spec) error
	FixedColumns func(options map[string]string) []Column
	// Alterable are the options of a source that mean the same rows at the same
	// offsets whatever their values, so that they can be changed on a living one.
	Alterable []string
}

// Registry maps connector names to factories. It is filled by the program's
// wiring and read-only afterwards.
type Registry map[string]Factory
