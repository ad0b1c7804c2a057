package build

import (
	"context"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/invariants"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// Env is what plans are built with.
type Env struct {
	Store    *state.Store
	Registry connector.Registry
	Clock    clock.Clock
	// Report receives a source's or sink's trouble; see connector.Spec.
	Report func(object string, err error)

	// Of a finite read:

	// Reader is what stored relations are read from; nil: a snapshot of now.
	Reader state.Reader
	// System makes the rows of a system relation.
	System func(o *catalog.Object) (*arrowbatch.Batch, error)

	// Eval is copied for each operator.
	Eval expr.Ctx
	// Fail is every operator's Runtime.Fail; nil: the first error ends the read.
	Fail func(rt *exec.Runtime, b *arrowbatch.Batch, errs []expr.RowError) error
	// KeepLate and KeepBad tell how many late rows of an operator, and bad rows of a
	// source, of an epoch are kept: see exec.Runtime. Nil: none.
	KeepLate func(n physical.Node) int
	KeepBad  func(source *catalog.Object) int
}

// builder builds one plan.
type builder struct {
	*Env
	ctx   context.Context
	query uint32
	stats []*exec.OpStats
	// shared are the stats of a finite read by node.
	shared map[physical.NodeID]*exec.OpStats
	// replay are the rows that leaves of a subquery keep, by node; nil outside one.
	replay map[physical.NodeID]*operator.KeptRows
	// finite: a Tree is built.
	finite bool
	// complete: the result is kept whole, nothing is late and nothing is closed.
	complete bool
	work     map[int]*workTable
}

// runtime makes the runtime of a node's operator.
func (b *builder) runtime(n physical.Node) *exec.Runtime {
	ev := b.Eval
	rt := &exec.Runtime{Ctx: b.ctx, Clock: b.Clock, Parts: 1, Eval: &ev, Fail: b.Fail,
		Table: state.TableID{Query: b.query, Operator: uint16(n.ID())}, Stats: b.counters(n)}
	if !b.finite {
		rt.Store = b.Store
		if b.KeepLate != nil {
			rt.KeepLate = b.KeepLate(n)
		}
		if in := n.Children(); len(in) > 0 {
			for _, f := range in[0].Schema().Fields {
				rt.Row = append(rt.Row, types.Field{Name: f.Name, Type: f.Type})
			}
		}
	}
	if rt.Fail == nil {
		rt.Fail = firstError
	}
	if invariants.Enabled {
		b.timeBounds(rt, n)
	}
	return rt
}

// counters are the figures of a node's operator. In a finite read, where a
// subquery is built again and again, they are one node's in all.
func (b *builder) counters(n physical.Node) *exec.OpStats {
	if s := b.shared[n.ID()]; s != nil {
		return s
	}
	s := &exec.OpStats{Name: n.Describe().Op, ID: int(n.ID())}
	if b.finite {
		b.shared[n.ID()] = s
	}
	b.stats = append(b.stats, s)
	return s
}

// firstError ends a finite read.
func firstError(_ *exec.Runtime, _ *arrowbatch.Batch, errs []expr.RowError) error {
	return errs[0].Err
}

// shapes returns the layouts of a schema's columns.
func shapes(s *plan.Schema) []arrowbatch.Shape {
	out := make([]arrowbatch.Shape, s.Len())
	for i, f := range s.Fields {
		out[i] = f.Type.Shape()
	}
	return out
}

func fieldTypes(s *plan.Schema) []types.Type {
	out := make([]types.Type, s.Len())
	for i, f := range s.Fields {
		out[i] = f.Type
	}
	return out
}

// Relation opens the stored relation of a table or materialized view.
func Relation(s *state.Store, o *catalog.Object) (*state.Relation, error) {
	return s.Relation(RelationSpec(o))
}

// RelationSpec describes the stored relation of a table or materialized view.
func RelationSpec(o *catalog.Object) state.RelationSpec {
	spec := state.RelationSpec{ID: uint32(o.ID), Key: o.Key, Layout: o.Layout}
	for _, c := range o.Columns {
		spec.Shapes = append(spec.Shapes, c.Type.Shape())
	}
	switch {
	case o.Key != nil:
		spec.Mode = state.Keyed
	case o.Kind == catalog.KindTable || o.AppendOnly:
		spec.Mode = state.Numbered
	default:
		spec.Mode = state.Bag
	}
	return spec
}

// Spec returns the connector's spec of a source, table or sink; used marks the
// columns that are read, nil: all. Generated columns are not the connector's.
func (e *Env) Spec(o *catalog.Object, used []bool) (*connector.Spec, connector.Factory, error) {
	name := o.Options["connector"]
	f, ok := e.Registry[name]
	if !ok {
		var known []string
		for k := range e.Registry {
			known = append(known, k)
		}
		return nil, f, sqlerr.New(sqlerr.UndefinedObject, "connector %q does not exist", name).
			WithHint("%s", sqlerr.Suggest(name, known))
	}
	s := &connector.Spec{Name: o.Name.String(), Options: map[string]string{}, Format: o.Format, Encode: o.Encode,
		FormatOptions: o.FormatOptions, Key: o.Key, AppendOnly: o.AppendOnly, Clock: e.Clock}
	if o.Changing() {
		s.Key = o.SourceKey()
	}
	for k, v := range o.Options {
		if k != "connector" && !engineOption[k] {
			s.Options[k] = v
		}
	}
	for _, c := range o.Columns {
		if c.Generated != "" {
			continue
		}
		i := len(s.Columns)
		s.Columns = append(s.Columns, connector.Column{Name: c.Name, Type: c.Type, Meta: c.Meta,
			Unused: used != nil && !used[i], NotNull: c.NotNull})
	}
	if e.Report != nil {
		s.Report = func(err error) { e.Report(s.Name, err) }
	}
	return s, f, nil
}

// engineOption are the WITH options that are the engine's, not the connector's.
var engineOption = map[string]bool{"output_mode": true, "trigger": true, "checkpoint_interval": true,
	"pool": true, "parallelism": true, "idle_timeout": true, "watermark_policy": true, "late_rows": true,
	"state_memory": true, "bad_rows": true, "on_row_error": true, "state_ttl": true, "watermark_splits": true}

// EngineOptions returns their names.
func EngineOptions() []string {
	out := make([]string, 0, len(engineOption))
	for k := range engineOption {
		out = append(out, k)
	}
	return out
}
