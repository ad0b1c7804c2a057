package planner

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/bind"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/plan/rule"
	"github.com/streamsql/streamsql/sql"
)

// Options are the choices of a continuous query.
type Options struct {
	// Mode is the output mode.
	Mode physical.OutputMode
	// Names are the names of the result's columns where CREATE lists them; fewer
	// than there are columns leave the rest.
	Names []sql.Name
	// StateTTL is how many microseconds of processing time state stays that no row
	// touches and nothing else bounds; 0: for ever.
	StateTTL int64
	// LateColumns tells, of what the query reads, the names of columns that late rows
	// must be kept with; nil: those that the query uses.
	LateColumns func(reads []*catalog.Object) []string
	// Raw: records that change rows are passed on as they are, to a table that keeps the
	// newest row of each key.
	Raw bool
}

// Continuous plans a query whose result is kept up to date. target is the
// materialized view that stores it or the sink that gets it; nil plans for a
// subscription, whose root is the Emit node. Only target's Kind and Name are
// used.
func Continuous(env *Env, q *sql.Query, target *catalog.Object, opt Options) (*Plan, error) {
	if len(env.Params) > 0 {
		return nil, sqlerr.Unsupported("a continuous query cannot have parameters").At(q.Pos)
	}
	rec := &recorder{Resolver: env.Resolver}
	be := env.bind()
	be.Resolver = rec
	b := bind.New(be)
	n, err := b.Query(q)
	if err != nil {
		return nil, err
	}
	if len(b.ParamTypes()) > 0 {
		return nil, sqlerr.New(sqlerr.UndefinedParameter, "a continuous query cannot have parameters").At(q.Pos)
	}
	p := &Plan{Mode: opt.Mode, Reads: rec.objects(), Columns: columnsOf(n), EventTime: -1}
	if err := p.rename(opt.Names); err != nil {
		return nil, err
	}
	n = p.dropOrder(n, target)
	var order []plan.SortKey
	if opt.Mode == physical.Complete {
		if n, order, err = takeOrder(n); err != nil {
			return nil, err
		}
	}
	var late []string
	if opt.LateColumns != nil {
		late = opt.LateColumns(p.Reads)
	}
	p.Logical = rule.OptimizeContinuous(n, late)
	p.TellsTime = tellsTime(p.Logical)
	lw := &lowerer{env: env, mode: opt.Mode, ttl: opt.StateTTL, raw: opt.Raw}
	in, err := lw.node(p.Logical)
	if err != nil {
		return nil, err
	}
	sink := target != nil && target.Kind != catalog.KindMaterializedView
	if err := checkMode(in, opt.Mode, sink, q.Pos); err != nil {
		return nil, err
	}
	if err := lw.checkTTL(in, q.Pos); err != nil {
		return nil, err
	}
	ip := in.Props()
	p.Key, p.AppendOnly, p.EventTime = slices.Clone(ip.Key), ip.AppendOnly, ip.EventTime
	if ip.Key != nil && p.Key == nil {
		p.Key = []int{}
	}
	e := &physical.Emit{Base: same(in), Mode: opt.Mode, Key: p.Key, Order: order,
		Stored: target != nil && !sink}
	if opt.Mode == physical.Complete && !e.Stored {
		e.Prop.State, e.Prop.Bound = "result rows", "size of the result"
	}
	e.Out = named(in.Schema(), p.Columns)
	p.Root = finish(e, target, p)
	number(p.Root)
	p.warn()
	return p, nil
}

func (p *Plan) rename(names []sql.Name) error {
	if len(names) > len(p.Columns) {
		return sqlerr.New(sqlerr.SyntaxError, "too many column names were specified").At(names[len(p.Columns)].Pos)
	}
	for i, n := range names {
		p.Columns[i].Name = n.Text
	}
	seen := map[string]bool{}
	for _, c := range p.Columns {
		if seen[c.Name] {
			return sqlerr.New(sqlerr.DuplicateColumn, "column %q specified more than once", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// dropOrder takes ORDER BY off the top of a materialized view's query: rows of a
// relation have no order.
func (p *Plan) dropOrder(n logical.Node, target *catalog.Object) logical.Node {
	if target == nil || target.Kind != catalog.KindMaterializedView {
		return n
	}
	switch t := n.(type) {
	case *logical.Sort:
		if _, ok := t.Input().(*logical.DistinctOn); ok { // which has the order
			return t.Input()
		}
		p.Notices = append(p.Notices, "ORDER BY has no effect on a materialized view; sort when it is read")
		return t.Input()
	case *logical.Project:
		if in := p.dropOrder(t.Input(), target); in != t.Input() {
			return t.WithChildren([]logical.Node{in})
		}
	}
	return n
}

// finish puts the end of the plan on it.
func finish(e *physical.Emit, target *catalog.Object, p *Plan) physical.Node {
	if target == nil {
		return e
	}
	if target.Kind == catalog.KindMaterializedView {
		m := &physical.Materialize{Base: same(e), Object: target, Key: p.Key}
		m.Prop.State, m.Prop.Bound = "result rows", "size of the result"
		return m
	}
	s := &physical.SinkWrite{Base: same(e), Object: target, Key: p.Key}
	for _, c := range p.Columns {
		s.Columns = append(s.Columns, catalog.Column{Name: c.Name, Type: c.Type, NotNull: c.NotNull})
	}
	return s
}

// warn notes operators whose state nothing bounds.
func (p *Plan) warn() {
	for _, n := range Unbounded(p.Root) {
		if !strings.Contains(n.Props().Bound, byNothing) {
			continue
		}
		p.Notices = append(p.Notices,
			"the state of "+n.Describe().Op+" is bounded by nothing and grows as long as the query runs")
	}
}
