package expr

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// candidate is an overload with a parameter for each argument of the call.
type candidate struct {
	fn     *Function
	params []paramType
	// spread: the last parameter was repeated for a VARIADIC.
	spread bool
}

// candidates returns the overloads that take n arguments.
func candidates(fns []*Function, n int, variadic bool) []candidate {
	var out []candidate
	for _, f := range fns {
		switch {
		case !f.Variadic && !variadic && len(f.params) == n:
			out = append(out, candidate{fn: f, params: f.params})
		case f.Variadic && variadic && len(f.params) == n:
			p := append([]paramType(nil), f.params...)
			p[n-1] = arrayParam(p[n-1])
			out = append(out, candidate{fn: f, params: p})
		case f.Variadic && !variadic && n >= len(f.params):
			p := append([]paramType(nil), f.params...)
			for len(p) < n {
				p = append(p, p[len(p)-1])
			}
			out = append(out, candidate{fn: f, params: p, spread: true})
		}
	}
	return out
}

// arrayParam is the array type of a variadic's element type.
func arrayParam(p paramType) paramType {
	switch p.kind {
	case exactly:
		return paramType{kind: arrayOfExactly, id: p.id}
	case anyElement:
		return paramType{kind: anyArray}
	case anyCompat:
		return paramType{kind: anyCompatArray}
	}
	return p // VARIADIC "any" takes an array as it is
}

// resolve picks the overload for arguments of the given types, as PostgreSQL's
// func_get_detail and oper do. ambiguous is set when several are equally good.
func resolve(fns []*Function, ts []types.Type, variadic bool) (best candidate, ok, ambiguous bool) {
	cands := candidates(fns, len(ts), variadic)
	for _, c := range cands {
		if exactMatch(c, ts) {
			return c, true, false
		}
	}
	fits := cands[:0]
	for _, c := range cands {
		if accepts(c, ts) {
			fits = append(fits, c)
		}
	}
	fits = preferFixed(fits)
	switch len(fits) {
	case 0:
		return candidate{}, false, false
	case 1:
		return fits[0], true, false
	}
	if c, ok := selectCandidate(fits, ts); ok {
		return c, true, false
	}
	return candidate{}, false, true
}

// preferFixed drops spread variadics where a plain overload has the same types.
func preferFixed(cs []candidate) []candidate {
	out := cs[:0:0]
	for _, c := range cs {
		shadowed := false
		for _, d := range cs {
			shadowed = shadowed || c.spread && !d.spread && sameParams(c.params, d.params)
		}
		if !shadowed {
			out = append(out, c)
		}
	}
	return out
}

func sameParams(a, b []paramType) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func exactMatch(c candidate, ts []types.Type) bool {
	for i, t := range ts {
		if !isExactly(c.params[i], t) {
			return false
		}
	}
	return true
}

func isExactly(p paramType, t types.Type) bool {
	switch p.kind {
	case exactly:
		return t.ID == p.id
	case arrayOfExactly:
		return t.ID == types.Array && t.Elem != nil && t.Elem.ID == p.id
	}
	return false
}

// accepts tells whether every argument can become its parameter's type.
func accepts(c candidate, ts []types.Type) bool {
	for i, t := range ts {
		p := c.params[i]
		switch p.kind {
		case exactly, arrayOfExactly:
			if !CanCast(t, p.typ(), Implicit) {
				return false
			}
		case anyArray, anyCompatArray:
			if t.ID != types.Array && t.ID != types.Unknown {
				return false
			}
		case anyNonArray:
			if t.ID == types.Array {
				return false
			}
		case anyRecord:
			if t.ID != types.Struct && t.ID != types.Unknown {
				return false
			}
		}
	}
	_, ok := bindPoly(c, ts)
	return ok
}

// polyBinding is what the pseudo-types of a call stand for.
type polyBinding struct{ elem, compat types.Type }

// bindPoly finds the types that anyelement and anycompatible stand for.
func bindPoly(c candidate, ts []types.Type) (b polyBinding, ok bool) {
	var compats []types.Type
	usesCompat := false
	for i, p := range c.params {
		t := ts[i]
		switch p.kind {
		case anyElement, anyNonArray, anyArray:
			if t.ID == types.Unknown {
				continue
			}
			if p.kind == anyArray {
				t = *t.Elem
			}
			t = t.Base()
			if b.elem.ID != types.Unknown && !b.elem.Equal(t) {
				return b, false
			}
			b.elem = t
		case anyCompat, anyCompatArray:
			usesCompat = true
			if p.kind == anyCompatArray && t.ID == types.Array {
				t = *t.Elem
			}
			if p.kind == anyCompatArray && t.ID == types.Unknown {
				continue
			}
			compats = append(compats, t)
		}
	}
	if usesCompat {
		var err error
		if b.compat, err = types.Common("", compats...); err != nil {
			return b, false
		}
		b.compat = b.compat.Base()
	}
	return b, true
}

// usesElem tells whether a parameter is anyelement or one of its kin.
func usesElem(c candidate) bool {
	for _, p := range c.params {
		if p.kind == anyElement || p.kind == anyNonArray || p.kind == anyArray {
			return true
		}
	}
	return false
}

// typeOf returns the type that a parameter has in this call; t is the argument's.
func (b polyBinding) typeOf(p paramType, t types.Type) types.Type {
	switch p.kind {
	case anyElement, anyNonArray:
		return b.elem
	case anyArray:
		return types.ArrayOf(b.elem)
	case anyCompat:
		return b.compat
	case anyCompatArray:
		return types.ArrayOf(b.compat)
	case anyType, anyRecord:
		if t.ID == types.Unknown {
			return types.TText
		}
		return t
	}
	return p.typ()
}

// selectCandidate is PostgreSQL's func_select_candidate.
func selectCandidate(cs []candidate, ts []types.Type) (candidate, bool) {
	cs = mostMatches(cs, ts, false)
	if len(cs) == 1 {
		return cs[0], true
	}
	cs = mostMatches(cs, ts, true)
	if len(cs) == 1 {
		return cs[0], true
	}
	unknowns := 0
	for _, t := range ts {
		if t.ID == types.Unknown {
			unknowns++
		}
	}
	if unknowns == 0 {
		return candidate{}, false
	}
	if cs = byCategory(cs, ts); len(cs) == 1 {
		return cs[0], true
	}
	if unknowns == len(ts) {
		return candidate{}, false
	}
	return assumeSame(cs, ts)
}

// mostMatches keeps the candidates with the most exact matches or, if pref is
// set, exact or preferred types.
func mostMatches(cs []candidate, ts []types.Type, pref bool) []candidate {
	var kept []candidate
	most := 0
	for _, c := range cs {
		n := 0
		for i, t := range ts {
			if t.ID == types.Unknown {
				continue
			}
			p := c.params[i]
			if isExactly(p, t) || pref && p.kind == exactly && preferred(p.id) && category(p.typ()) == category(t) {
				n++
			}
		}
		switch {
		case n > most:
			most, kept = n, append(kept[:0:0], c)
		case n == most:
			kept = append(kept, c)
		}
	}
	return kept
}

func paramCategory(p paramType) byte {
	switch p.kind {
	case exactly:
		return category(p.typ())
	case anyArray, anyCompatArray, arrayOfExactly:
		return 'A'
	case anyRecord:
		return 'P'
	}
	return 'P' // pseudo-types
}

// byCategory settles untyped literals: the string category if any candidate
// takes it, else the one that all agree on.
func byCategory(cs []candidate, ts []types.Type) []candidate {
	cats := make([]byte, len(ts))
	prefs := make([]bool, len(ts))
	for i, t := range ts {
		if t.ID != types.Unknown {
			continue
		}
		conflict := false
		for _, c := range cs {
			p := c.params[i]
			cat, isPref := paramCategory(p), p.kind == exactly && preferred(p.id)
			switch {
			case cats[i] == 0:
				cats[i], prefs[i] = cat, isPref
			case cat == cats[i]:
				prefs[i] = prefs[i] || isPref
			case cat == 'S':
				cats[i], prefs[i], conflict = 'S', isPref, false
			case cats[i] != 'S':
				conflict = true
			}
		}
		if conflict && cats[i] != 'S' {
			return cs
		}
	}
	var kept []candidate
	for _, c := range cs {
		fits := true
		for i, t := range ts {
			if t.ID != types.Unknown {
				continue
			}
			p := c.params[i]
			fits = fits && paramCategory(p) == cats[i] && (!prefs[i] || p.kind == exactly && preferred(p.id))
		}
		if fits {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return cs
	}
	return kept
}

// assumeSame takes untyped literals for the one type that the others share.
func assumeSame(cs []candidate, ts []types.Type) (candidate, bool) {
	var known types.Type
	for _, t := range ts {
		switch {
		case t.ID == types.Unknown:
		case known.ID == types.Unknown:
			known = t.Base()
		case !known.Equal(t.Base()):
			return candidate{}, false
		}
	}
	same := make([]types.Type, len(ts))
	for i := range same {
		same[i] = known
	}
	var found []candidate
	for _, c := range cs {
		if accepts(c, same) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return found[0], true
	}
	return candidate{}, false
}

// bindCall makes the call of the chosen overload, with the casts it needs.
func bindCall(c candidate, args []Expr) (Expr, error) {
	ts := argTypes(args)
	b, _ := bindPoly(c, ts)
	if b.elem.ID == types.Unknown && usesElem(c) {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch,
			"could not determine polymorphic type because input has type unknown")
	}
	bound := make([]Expr, len(args))
	for i, a := range args {
		want := b.typeOf(c.params[i], ts[i])
		if ts[i].ID == want.ID && want.ID != types.Array && want.ID != types.Struct || ts[i].Equal(want) {
			bound[i] = a
			continue
		}
		e, err := Cast(a, want, Implicit)
		if err != nil {
			return nil, err
		}
		bound[i] = e
	}
	return &call{fn: c.fn, args: bound, typ: b.typeOf(c.fn.result, types.Type{}), spreadArgs: c.spread}, nil
}

func argTypes(args []Expr) []types.Type {
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	return ts
}

// Call binds a function by name: 42883 when no overload takes the arguments,
// 42725 when several are equally good. A call of a type's name with one argument
// is a cast, as in PostgreSQL.
func Call(name string, args []Expr) (Expr, error) { return callFunction(name, args, false) }

// CallVariadic is Call with the last argument marked VARIADIC: an array.
func CallVariadic(name string, args []Expr) (Expr, error) { return callFunction(name, args, true) }

func callFunction(name string, args []Expr, variadic bool) (Expr, error) {
	if len(args) > 100 {
		return nil, sqlerr.New(sqlerr.TooManyArguments, "cannot pass more than 100 arguments to a function")
	}
	ts := argTypes(args)
	c, ok, ambiguous := resolve(functionTable().byName[name], ts, variadic)
	if ok {
		return bindCall(c, args)
	}
	if id, isType := typeIDs[name]; isType && len(args) == 1 && CanCast(ts[0], types.Type{ID: id}, Explicit) {
		return Cast(args[0], types.Type{ID: id}, Explicit)
	}
	if ambiguous {
		return nil, sqlerr.New(sqlerr.AmbiguousFunction, "function %s(%s) is not unique", name, typeList(args)).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
	}
	return nil, undefinedFunction(name, args)
}

// Binary binds an infix operator. != is <>.
func Binary(op string, l, r Expr) (Expr, error) {
	if op == "!=" {
		op = "<>"
	}
	lt, rt := l.Type(), r.Type()
	// An untyped literal is first taken for the other side's type.
	ts := []types.Type{lt, rt}
	if lt.ID == types.Unknown && rt.ID != types.Unknown {
		ts[0] = rt
	} else if rt.ID == types.Unknown && lt.ID != types.Unknown {
		ts[1] = lt
	}
	args := []Expr{l, r}
	fns := functionTable().ops[op]
	for _, c := range candidates(fns, 2, false) {
		if exactMatch(c, ts) {
			return bindCall(c, args)
		}
	}
	c, ok, ambiguous := resolve(fns, []types.Type{lt, rt}, false)
	switch {
	case ok:
		return bindCall(c, args)
	case ambiguous:
		return nil, sqlerr.New(sqlerr.AmbiguousFunction, "operator is not unique: %s %s %s",
			lt.Base(), op, rt.Base()).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.")
	}
	return nil, undefinedOperator(op, args)
}

// Unary binds a prefix operator: + - @ ~ |/ ||/ !! and so on.
func Unary(op string, x Expr) (Expr, error) {
	if n, ok := x.(*constant); ok && op == "-" && n.number != "" {
		if rest, neg := strings.CutPrefix(n.number, "-"); neg {
			return ConstNumber(rest)
		}
		return ConstNumber("-" + n.number)
	}
	args := []Expr{x}
	c, ok, ambiguous := resolve(functionTable().ops[op], argTypes(args), false)
	switch {
	case ok:
		return bindCall(c, args)
	case ambiguous:
		return nil, sqlerr.New(sqlerr.AmbiguousFunction, "operator is not unique: %s %s", op, x.Type().Base()).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.")
	}
	return nil, undefinedOperator(op, args)
}
