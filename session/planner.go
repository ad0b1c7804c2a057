package session

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/plan/planner"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/stream"
)

// NewPlanner returns the Planner of package planner. bounded tells whether a
// source ends by itself; nil: none does. The plans' Node is a *planner.Plan.
func NewPlanner(bounded func(*catalog.Object) bool) Planner { return &enginePlanner{bounded} }

type enginePlanner struct {
	bounded func(*catalog.Object) bool
}

func (p *enginePlanner) env(in *PlanInput) *planner.Env {
	return &planner.Env{Resolver: in.Catalog, Params: in.Params, Settings: in.Env, Bounded: p.bounded}
}

// Query plans a query.
func (p *enginePlanner) Query(in *PlanInput, q *sql.Query) (*QueryPlan, error) {
	out, err := planner.Select(p.env(in), q)
	if err != nil {
		return nil, err
	}
	return queryPlanOf(out), nil
}

// Subscription plans a query whose changes a client follows.
func (p *enginePlanner) Subscription(in *PlanInput, q *sql.Query) (*QueryPlan, error) {
	out, err := planner.Continuous(p.env(in), q, nil, planner.Options{Mode: physical.Changelog})
	if err != nil {
		return nil, err
	}
	return queryPlanOf(out), nil
}

func queryPlanOf(p *planner.Plan) *QueryPlan {
	q := &QueryPlan{Params: p.Params, Columns: wireColumns(p.Columns), Reads: readsOf(p), Node: p,
		Explain: func(o ExplainOptions) ([]string, error) { return explainPlan(p, o) }}
	if q.Params == nil {
		q.Params = []types.Type{}
	}
	return q
}

// wireColumns describes a result to the client; what has no type yet is text.
func wireColumns(cols []planner.Column) []pgwire.Column {
	out := make([]pgwire.Column, len(cols))
	for i, c := range cols {
		out[i] = pgwire.Column{Name: c.Name, Type: c.Type}
		if c.Type.ID == types.Unknown {
			out[i].Type = types.TText
		}
		if c.Table != 0 {
			out[i].TableOID, out[i].AttNum = c.Table.OID(), c.Attr
		}
	}
	return out
}

// readsOf are the objects that a plan reads, those of the system included.
func readsOf(p *planner.Plan) []catalog.ObjectID {
	var out []catalog.ObjectID
	for _, o := range p.Reads {
		out = append(out, o.ID)
	}
	var visit func(n physical.Node)
	visit = func(n physical.Node) {
		if s, ok := n.(*physical.SystemScan); ok {
			out = append(out, s.Object.ID)
		}
		for _, c := range n.Children() {
			visit(c)
		}
	}
	visit(p.Root)
	return out
}

// Write plans an INSERT, UPDATE or DELETE.
func (p *enginePlanner) Write(in *PlanInput, stmt sql.Statement) (*WritePlan, error) {
	c, err := planner.DML(p.env(in), stmt)
	if err != nil {
		return nil, err
	}
	w := &WritePlan{Op: WriteOp(c.Kind), Table: c.Table, Source: queryPlanOf(&c.Plan), Returning: c.Returning,
		Columns: wireColumns(c.Columns)}
	if c.Conflict != nil {
		w.Conflict = &Conflict{Nothing: c.Conflict.Set == nil, Row: c.Conflict.Set, Where: c.Conflict.Where}
	}
	w.Explain = w.Source.Explain
	return w, nil
}

// Continuous plans the query of a view, a sink or a flow.
func (p *enginePlanner) Continuous(in *PlanInput, d *Definition) (*ContinuousPlan, error) {
	mode, ok := physical.Update, true
	if m := d.Object.Options["output_mode"]; m != "" {
		mode, ok = physical.ParseOutputMode(m)
	}
	if !ok {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "invalid output mode %q", d.Object.Options["output_mode"])
	}
	opt := planner.Options{Mode: mode, Names: d.Columns,
		LateColumns: func(reads []*catalog.Object) []string { return stream.LateColumns(in.Catalog, d.Object, reads) }}
	if ttl, ok := connector.ParseDuration(d.Object.Options["state_ttl"]); ok {
		opt.StateTTL = ttl.Microseconds()
	}
	c, err := planner.Continuous(p.env(in), d.Query, d.Object, opt)
	if err != nil {
		return nil, err
	}
	if in.RequireBounded {
		if err := planner.RefuseUnbounded(c.Root); err != nil {
			return nil, err
		}
	}
	diverts, err := stream.CheckQuery(in.Catalog, d.Object, c.Root, c.Reads)
	if err != nil {
		return nil, err
	}
	out := &ContinuousPlan{Key: c.Key, AppendOnly: c.AppendOnly, Reads: readsOf(c), Diverts: diverts,
		Explain: func(o ExplainOptions) ([]string, error) { return explainPlan(c, o) }}
	for _, col := range c.Columns {
		t := col.Type
		if t.ID == types.Unknown {
			t = types.TText
		}
		out.Columns = append(out.Columns, catalog.Column{Name: col.Name, Type: t, NotNull: col.NotNull})
	}
	for _, n := range c.Notices {
		out.Warnings = append(out.Warnings, &pgwire.Notice{Severity: pgwire.SeverityWarning,
			Code: sqlerr.Warning, Message: n})
	}
	return out, nil
}
