package session

import (
	"context"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// PlanInput is what planning depends on besides the statement.
type PlanInput struct {
	Catalog catalog.Resolver
	// Params are the declared types of $1, $2, …; Unknown: to be inferred.
	Params []types.Type
	Env    *types.Env
	// RequireBounded is the setting require_bounded_state.
	RequireBounded bool
	// Text is the statement's, which positions refer to.
	Text string
}

// Planner turns syntax into plans. Errors carry positions in PlanInput.Text.
type Planner interface {
	// Query plans a SELECT, VALUES or TABLE.
	Query(in *PlanInput, q *sql.Query) (*QueryPlan, error)
	// Subscription plans a query whose changes a client follows.
	Subscription(in *PlanInput, q *sql.Query) (*QueryPlan, error)
	// Write plans an *sql.Insert, *sql.Update or *sql.Delete.
	Write(in *PlanInput, stmt sql.Statement) (*WritePlan, error)
	// Continuous plans the query of a view of any kind, a sink or a flow.
	Continuous(in *PlanInput, d *Definition) (*ContinuousPlan, error)
}

// QueryPlan is a planned query.
type QueryPlan struct {
	Params  []types.Type
	Columns []pgwire.Column
	// Reads are the relations that the query names.
	Reads   []catalog.ObjectID
	Explain func(ExplainOptions) ([]string, error)
	// Node is the planner's own, for the Executor.
	Node any
}

// ExplainOptions say what EXPLAIN prints.
type ExplainOptions struct {
	Verbose bool
	Format  string // text, json
	// Analysis has the figures of a run by node number; nil without ANALYZE.
	Analysis map[int]NodeFigures
}

// NodeFigures are what a run measured of one node.
type NodeFigures struct {
	Rows int64 // that left it
}

// WriteOp is what a WritePlan does.
type WriteOp uint8

// The writes.
const (
	OpInsert WriteOp = iota
	OpUpdate
	OpDelete
)

// WritePlan is a planned INSERT, UPDATE or DELETE. The rows of Source are, for
// an insert, one column for each column of Table (hidden ones NULL); for a
// delete, the row to be deleted; for an update that row followed by the new one.
// Further columns serve Returning.
type WritePlan struct {
	Op     WriteOp
	Table  *catalog.Object
	Source *QueryPlan
	// Conflict is ON CONFLICT; nil without one.
	Conflict *Conflict
	// Returning are over the new row (the old one for a delete) and Source's
	// further columns; nil without RETURNING. Columns describe their result.
	Returning []expr.Expr
	Columns   []pgwire.Column
	Explain   func(ExplainOptions) ([]string, error)
}

// Conflict is ON CONFLICT DO NOTHING or DO UPDATE.
type Conflict struct {
	Nothing bool
	// Row gives each column of the new row, Where whether to update (nil: always).
	// Both are over the stored row followed by the row that was to be inserted.
	Row   []expr.Expr
	Where expr.Expr
}

// Definition is what a continuous query is planned from. Object has its name,
// kind and options; of a sink also its format.
type Definition struct {
	Object *catalog.Object
	Query  *sql.Query
	Emit   sql.Emit
	// Columns renames the result's columns.
	Columns []sql.Name
}

// ContinuousPlan is a planned continuous query.
type ContinuousPlan struct {
	Columns    []catalog.Column
	Key        []int
	AppendOnly bool
	Reads      []catalog.ObjectID
	// Diverts are the tables that take rows which the query leaves out.
	Diverts  []catalog.ObjectID
	Warnings []*pgwire.Notice
	Explain  func(ExplainOptions) ([]string, error)
}

// ExecEnv is what an execution depends on besides its plan.
type ExecEnv struct {
	// Params is one row, nil without parameters; it stays the caller's.
	Params *arrowbatch.Batch
	// Now is the transaction's time in microseconds since the Unix epoch.
	Now     int64
	Env     *types.Env
	Session expr.Session
	// Reader is what stored relations are read from: a transaction with its own
	// writes, a snapshot, or nil for a snapshot of what is committed now.
	Reader state.Reader
	// System makes the rows of a system relation.
	System func(o *catalog.Object) (*arrowbatch.Batch, error)
}

// Rows is the result of an execution. Close must be called; the context given
// when it was started ends it too.
type Rows interface {
	// Next returns the next rows, io.EOF at the end. The batch is the caller's.
	Next(ctx context.Context) (*arrowbatch.Batch, error)
	Close() error
}

// SubscribeOptions are the options of SUBSCRIBE.
type SubscribeOptions struct {
	Snapshot bool // begin with the rows that are there
	Progress bool // tell of every epoch, also of one without changes
}

// Change is a step of a subscription: rows with their ops, all of one epoch, or
// if Rows is nil the news that the epoch is over.
type Change struct {
	Epoch uint64
	Rows  *arrowbatch.Batch
}

// Changes is a running subscription.
type Changes interface {
	// Next waits for the next step; io.EOF when the query has ended.
	Next(ctx context.Context) (Change, error)
	Close() error
}

// Executor runs plans.
type Executor interface {
	Select(ctx context.Context, p *QueryPlan, e *ExecEnv) (Rows, error)
	// Analyze runs the plan, drops its rows and returns what was measured.
	Analyze(ctx context.Context, p *QueryPlan, e *ExecEnv) (map[int]NodeFigures, error)
	// Subscribe follows the plan of a Subscription.
	Subscribe(ctx context.Context, p *QueryPlan, o SubscribeOptions, e *ExecEnv) (Changes, error)
	// Relation returns the stored relation of a table or materialized view.
	Relation(o *catalog.Object) (*state.Relation, error)
}

// Queries is the life of continuous queries: materialized views, sinks with a
// query, flows, tables with a connector.
type Queries interface {
	// Create starts the query of a new object, which the catalog has already.
	Create(ctx context.Context, o *catalog.Object) error
	// Drop stops it and removes its state.
	Drop(ctx context.Context, o *catalog.Object) error
	// Alter puts changed options into force.
	Alter(ctx context.Context, o *catalog.Object) error
	Control(ctx context.Context, o *catalog.Object, a sql.ControlAction) error
	// Await waits until the query has finished (available_now, once) or failed;
	// o nil: until any query has.
	Await(ctx context.Context, o *catalog.Object) error
	// Flush waits until every query has absorbed every row committed before.
	Flush(ctx context.Context) error
}
