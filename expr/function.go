package expr

import (
	"slices"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/sql/types"
)

// Function is one overload of a function or operator.
type Function struct {
	Name string
	// Args are the parameters' types as PostgreSQL prints them, pseudo-types
	// included ("anyelement").
	Args []string
	// Result is the type of the result, likewise.
	Result     string
	Volatility Volatility
	// Strict functions are NULL when an argument is.
	Strict bool
	// Variadic tells that the last parameter takes any number of arguments.
	Variadic bool
	// Operator tells a symbol from a name; an operator with one argument is a
	// prefix operator.
	Operator bool
	// Description is one line of English; "" for operators that need none.
	Description string

	params []paramType
	result paramType
	row    rowFunc
	kernel func(f *frame)
}

// poly is a kind of parameter type.
type poly uint8

const (
	exactly        poly = iota // the type id
	anyElement                 // one type T for all of the call
	anyNonArray                // T, and no array
	anyArray                   // array of T
	anyCompat                  // the common type C of all of the call
	anyCompatArray             // array of C
	anyType                    // any type, each its own: "any"
	anyRecord                  // any struct
	arrayOfExactly             // array of the type id
)

// paramType is the declared type of a parameter or result.
type paramType struct {
	kind poly
	id   types.ID
}

func (p paramType) typ() types.Type {
	if p.kind == arrayOfExactly {
		return types.ArrayOf(types.Type{ID: p.id})
	}
	return types.Type{ID: p.id}
}

var polyNames = map[string]poly{"anyelement": anyElement, "anynonarray": anyNonArray, "anyarray": anyArray,
	"anycompatible": anyCompat, "anycompatiblearray": anyCompatArray, `"any"`: anyType, "record": anyRecord}

// typeIDs maps pg_type.typname to ids.
var typeIDs = func() map[string]types.ID {
	m := map[string]types.ID{}
	for _, t := range types.All() {
		m[t.PGName()] = t.ID
	}
	return m
}()

func parseParam(s string) (paramType, string) {
	if k, ok := polyNames[s]; ok {
		return paramType{kind: k}, s
	}
	base, isArray := strings.CutSuffix(s, "[]")
	id, ok := typeIDs[base]
	if !ok {
		panic("expr: no type " + s + " in the function table")
	}
	p := paramType{kind: exactly, id: id}
	if isArray {
		p.kind = arrayOfExactly
	}
	return p, p.typ().String()
}

// fnOption changes what define makes.
type fnOption func(*Function)

func stable(f *Function)               { f.Volatility = Stable }
func volatileF(f *Function)            { f.Volatility = Volatile }
func calledOnNull(f *Function)         { f.Strict = false }
func kernel(k func(f *frame)) fnOption { return func(f *Function) { f.kernel = k } }

// table is the set of all functions and operators.
type table struct {
	byName map[string][]*Function
	ops    map[string][]*Function
	names  []string
	all    []Function
}

// fn adds a function. sig is "type,type:result" in pg_type's names; "..." before
// the last type makes it VARIADIC with elements of that type.
func (t *table) fn(name, sig, desc string, row rowFunc, opts ...fnOption) {
	t.add(t.byName, name, sig, desc, row, opts)
}

// op adds an operator.
func (t *table) op(name, sig string, row rowFunc, opts ...fnOption) {
	t.add(t.ops, name, sig, "", row, append(opts, func(f *Function) { f.Operator = true }))
}

func (t *table) add(to map[string][]*Function, name, sig, desc string, row rowFunc, opts []fnOption) {
	f := &Function{Name: name, Description: desc, Strict: true, row: row}
	in, res, _ := strings.Cut(sig, ":")
	if in != "" {
		for _, a := range strings.Split(in, ",") {
			if rest, ok := strings.CutPrefix(a, "..."); ok {
				f.Variadic, a = true, rest
			}
			p, text := parseParam(a)
			f.params, f.Args = append(f.params, p), append(f.Args, text)
		}
	}
	f.result, f.Result = parseParam(res)
	for _, o := range opts {
		o(f)
	}
	to[name] = append(to[name], f)
}

var functionTable = sync.OnceValue(func() *table {
	t := &table{byName: map[string][]*Function{}, ops: map[string][]*Function{}}
	addAll(t)
	for name := range t.byName {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names)
	for _, name := range t.names {
		for _, f := range t.byName[name] {
			t.all = append(t.all, *f)
		}
	}
	symbols := make([]string, 0, len(t.ops))
	for s := range t.ops {
		symbols = append(symbols, s)
	}
	slices.Sort(symbols)
	for _, s := range symbols {
		for _, f := range t.ops[s] {
			t.all = append(t.all, *f)
		}
	}
	return t
})

// Functions returns every function, by name, and then every operator. The slice
// is shared and must not be changed.
func Functions() []Function { return functionTable().all }

// IsFunction tells whether a scalar function of that name exists.
func IsFunction(name string) bool { return len(functionTable().byName[name]) > 0 }

// FunctionNames returns the names of all functions in order; it must not be
// changed.
func FunctionNames() []string { return functionTable().names }
