package expr

import (
	"sort"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Ctx is the state of an evaluation: one per operator and goroutine.
type Ctx struct {
	// Now is what now() returns, in microseconds since the Unix epoch: the
	// statement's start, or the epoch's time in a continuous query.
	Now int64
	// Clock is what clock_timestamp() reads; nil: it is now().
	Clock clock.Clock
	// Env holds the settings that text input and output depend on.
	Env *types.Env
	// Params are the statement's parameters, one row each.
	Params []*arrowbatch.Vec
	// Outer is the row of the enclosing query that a correlated subquery sees,
	// one row; innermost query last.
	Outer []*arrowbatch.Batch
	// Session answers what functions like current_user and pg_get_userbyid ask;
	// nil in continuous queries.
	Session Session

	failed map[int32]*sqlerr.Error
	scratch
}

// Session is what functions about the session and the catalog need.
type Session interface {
	// Setting returns the value of a configuration parameter as text.
	Setting(name string) (string, bool)
	// SetSetting sets a configuration parameter for the session or, if local,
	// the transaction.
	SetSetting(name, value string, local bool) error
	// User and Database are the session's.
	User() string
	Database() string
	// BackendPID is the number that CancelRequest names.
	BackendPID() int32
	// Catalog answers look-ups of names and oids.
	Catalog() CatalogLookup
}

// CatalogLookup turns names of relations, types and functions into oids and
// back; oids of streamsql's objects are made up by the catalog and stable.
type CatalogLookup interface {
	// OIDOf returns the oid of a name in one of the kinds "class", "type",
	// "proc", "namespace", "role".
	OIDOf(kind, name string) (oid uint32, ok bool)
	// NameOf is the reverse; schema-qualified where the search path does not show
	// the name.
	NameOf(kind string, oid uint32) (string, bool)
	// Visible tells whether the object is found by its bare name.
	Visible(kind string, oid uint32) bool
	// Definition returns the SQL of a view, index or constraint by oid.
	Definition(kind string, oid uint32) (string, bool)
}

// Fail notes that row i has no value because of err; the first error of a row
// is kept.
func (c *Ctx) Fail(i int32, err *sqlerr.Error) {
	if c.failed == nil {
		c.failed = map[int32]*sqlerr.Error{}
	}
	if _, ok := c.failed[i]; !ok {
		c.failed[i] = err
	}
}

// RowError is the error of one row of the batch last evaluated.
type RowError struct {
	Row int32
	Err *sqlerr.Error
}

// Failed tells whether a row has failed since the last TakeErrors.
func (c *Ctx) Failed() bool { return len(c.failed) > 0 }

// TakeErrors returns the failed rows in row order and forgets them.
func (c *Ctx) TakeErrors() []RowError {
	if len(c.failed) == 0 {
		return nil
	}
	out := make([]RowError, 0, len(c.failed))
	for r, e := range c.failed {
		out = append(out, RowError{r, e})
	}
	clear(c.failed)
	sort.Slice(out, func(i, j int) bool { return out[i].Row < out[j].Row })
	return out
}
