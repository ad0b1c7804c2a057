package bind

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// Env is what planning depends on besides the text.
type Env struct {
	// Resolver is the version of the catalog.
	Resolver catalog.Resolver
	// Params are the types of the statement's parameters as far as they are given;
	// TUnknown, or a position past the end, leaves one to be inferred.
	Params []types.Type
	// Settings are the session's, for literals whose meaning depends on them; nil
	// leaves these to the execution.
	Settings *types.Env
}

// maxNodes bounds a plan: views and common table expressions are copied into
// every place that names them.
const maxNodes = 20000

// maxDepth bounds the nesting of queries and views.
const maxDepth = 200

// Binder binds one statement.
type Binder struct {
	env    *Env
	params []types.Type
	// views are the views being expanded, outermost first.
	views  []*catalog.Object
	depth  int
	tables int // work tables so far
	nodes  int
}

// New returns a binder for one statement.
func New(env *Env) *Binder {
	return &Binder{env: env, params: slices.Clone(env.Params)}
}

// Query binds a query on its own.
func (b *Binder) Query(q *sql.Query) (logical.Node, error) {
	return b.query(q, nil, nil)
}

// ParamTypes returns the parameters' types known so far.
func (b *Binder) ParamTypes() []types.Type { return b.params }

// param returns parameter n, counted from 1.
func (b *Binder) param(p *sql.Param) (expr.Expr, error) {
	if p.N < 1 || p.N > 65535 {
		return nil, sqlerr.New(sqlerr.UndefinedParameter, "there is no parameter $%d", p.N).At(p.Pos)
	}
	for len(b.params) < p.N {
		b.params = append(b.params, types.TUnknown)
	}
	return expr.NewParam(p.N-1, b.params[p.N-1]), nil
}

// enter notes one more level of nesting.
func (b *Binder) enter(pos int) error {
	b.depth++
	if b.depth > maxDepth {
		return sqlerr.New(sqlerr.StatementTooComplex, "stack depth limit exceeded").At(pos)
	}
	return nil
}

func (b *Binder) leave() { b.depth-- }

// grow notes that a finished plan is put in place.
func (b *Binder) grow(n logical.Node, pos int) error {
	b.nodes += logical.Count(n, maxNodes)
	if b.nodes > maxNodes {
		return sqlerr.New(sqlerr.StatementTooComplex, "query is too complex").
			WithDetail("Views and common table expressions are expanded to more than %d operations.", maxNodes).At(pos)
	}
	return nil
}

// level is one SELECT being bound.
type level struct {
	b *Binder
	// outer is the query around a subquery, nil for none.
	outer *level
	ctes  *cteScope
	scope *scope
	node  logical.Node
	// group is set while expressions are bound above the level's aggregation.
	group *grouping
	// bound holds parts of the text that are columns of node already: aggregates,
	// window functions, calls that return rows.
	bound map[sql.Expr]expr.Expr
	// windowed is the grouping function window(…) of this level, if there is one.
	windowed *windowRef
	// closed: no subqueries can be bound here (generated columns, defaults).
	closed bool
}

func (b *Binder) newLevel(outer *level, ctes *cteScope) *level {
	return &level{b: b, outer: outer, ctes: ctes, scope: &scope{}, node: logical.OneRow(),
		bound: map[sql.Expr]expr.Expr{}}
}

// at gives err a position unless it has one.
func at(err error, pos int) error {
	if err == nil {
		return nil
	}
	return sqlerr.From(err).At(pos)
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

func colField(e expr.Expr, name string) plan.Field { return plan.Field{Name: name, Type: e.Type()} }

// qualified writes names with dots.
func qualified(parts []sql.Name) string {
	s := make([]string, len(parts))
	for i, p := range parts {
		s[i] = p.Text
	}
	return strings.Join(s, ".")
}
