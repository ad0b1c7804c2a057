package stream

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/planner"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// planObject plans the query of a materialized view, a sink or a flow, or the
// feeding of a table with a connector.
func (m *Manager) planObject(o *catalog.Object, opt options) (*planner.Plan, error) {
	return m.planIn(m.cfg.Catalog.Snapshot(), o, opt)
}

// planIn is planObject with names looked up in a version of the catalog.
func (m *Manager) planIn(snap *catalog.Snapshot, o *catalog.Object, opt options) (*planner.Plan, error) {
	settings, err := settingsOf(o)
	if err != nil {
		return nil, err
	}
	env := &planner.Env{Resolver: snap.WithPath(catalog.DefaultPath), Bounded: m.Bounded, Settings: settings}
	target, text, raw := o, o.Query, false
	if o.Kind == catalog.KindTable {
		// A fed table is the materialized rows of the source that its options describe.
		src := *o
		src.Kind = catalog.KindSource
		switch {
		case !o.Changing():
			src.Key = nil
		case !hasGenerated(o):
			raw = true // the table itself finds the rows that its records change
		}
		env.Resolver = withObject{env.Resolver, &src}
		view := *o
		view.Kind = catalog.KindMaterializedView
		target, text = &view, "SELECT * FROM "+sql.QuoteIdent(o.Name.Schema)+"."+sql.QuoteIdent(o.Name.Name)
	}
	if o.Kind == catalog.KindFlow {
		sink := snap.ByID(o.Into)
		if sink == nil {
			return nil, sqlerr.New(sqlerr.UndefinedObject, "the sink of flow %s is gone", o.Name)
		}
		t := *sink
		target = &t
	}
	q, err := sql.ParseQuery(text)
	if err != nil {
		return nil, err
	}
	var names []sql.Name
	if target.Kind == catalog.KindMaterializedView {
		for _, c := range o.Columns {
			names = append(names, sql.Name{Text: c.Name})
		}
	}
	late := func(reads []*catalog.Object) []string { return LateColumns(env.Resolver, o, reads) }
	p, err := planner.Continuous(env, q, target, planner.Options{Mode: opt.mode, Names: names,
		StateTTL: opt.ttl.Microseconds(), LateColumns: late, Raw: raw})
	if err != nil || o.Origin == nil || o.Origin.Nodes == nil {
		return p, err
	}
	if !planner.Renumber(p, o.Origin.Nodes) {
		return nil, errPlan("", "")
	}
	return p, nil
}

// hasGenerated tells whether the object has columns that are computed of others, which a
// record that deletes a row does not have.
func hasGenerated(o *catalog.Object) bool {
	return slices.ContainsFunc(o.Columns, func(c catalog.Column) bool { return c.Generated != "" })
}

// settingsOf are the settings that a query's expressions go by: those of its creation.
func settingsOf(o *catalog.Object) (*types.Env, error) {
	if o.TimeZone == "" {
		return nil, nil
	}
	loc, ok := types.LoadZone(o.TimeZone)
	if !ok {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "the time zone %q of %s is not known any more",
			o.TimeZone, o.Name).WithHint("Create it again under another time zone.")
	}
	return &types.Env{TimeZone: loc}, nil
}

// withObject is a resolver that gives one object another face.
type withObject struct {
	catalog.Resolver
	o *catalog.Object
}

func (w withObject) Resolve(schema, name string) (*catalog.Object, error) {
	if name == w.o.Name.Name && schema == w.o.Name.Schema {
		return w.o, nil
	}
	return w.Resolver.Resolve(schema, name)
}

// shapeMark is what fingerprints begin with that are of the plan's shape alone.
const shapeMark = "2-"

// fingerprint names a plan's shape: state belongs to the plan that wrote it. What
// EXPLAIN says of state and its bounds is left out, since that may be put otherwise in
// another version.
func fingerprint(p *planner.Plan) string { return shapeMark + textHash(planner.Shape(p)) }

func textHash(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:8])
}

// fits tells whether a checkpoint's fingerprint is the plan's. Those from before format 2
// are of all that EXPLAIN said then.
func fits(stored string, p *planner.Plan) bool {
	if strings.HasPrefix(stored, shapeMark) {
		return stored == fingerprint(p)
	}
	text := planner.Explain(p, false)
	return stored == textHash(text) || stored == textHash(strings.ReplaceAll(text, "; in memory", ""))
}
