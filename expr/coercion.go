package expr

import "github.com/streamsql/streamsql/sql/types"

// CastContext says where a cast stands, and so which casts are allowed.
type CastContext uint8

// The contexts: inside an expression, storing into a column, written by the user.
const (
	Implicit CastContext = iota
	Assignment
	Explicit
)

// category is pg_type.typcategory.
func category(t types.Type) byte {
	switch t.ID {
	case types.Unknown:
		return 'X'
	case types.Bool:
		return 'B'
	case types.Text, types.Varchar, types.Bpchar, types.Name:
		return 'S'
	case types.Char:
		return 'Z'
	case types.Date, types.Time, types.Timestamp, types.Timestamptz:
		return 'D'
	case types.Interval:
		return 'T'
	case types.Array:
		return 'A'
	case types.Struct:
		return 'P'
	case types.Bytea, types.JSON, types.JSONB, types.UUID, types.Void:
		return 'U'
	}
	return 'N'
}

// preferred is pg_type.typispreferred.
func preferred(id types.ID) bool {
	switch id {
	case types.Bool, types.Text, types.Float8, types.OID, types.Timestamptz, types.Interval:
		return true
	}
	return false
}

// castRule is one line of pg_cast.
type castRule struct {
	from, to types.ID
}

// castContexts is pg_cast: the weakest context in which each cast is allowed.
var castContexts = func() map[castRule]CastContext {
	m := map[castRule]CastContext{}
	add := func(c CastContext, from types.ID, to ...types.ID) {
		for _, t := range to {
			m[castRule{from, t}] = c
		}
	}
	regs := []types.ID{types.OID, types.Regclass, types.Regtype, types.Regproc, types.Regnamespace}
	for _, i := range []types.ID{types.Int2, types.Int4, types.Int8} {
		add(Implicit, i, types.Float4, types.Float8, types.Numeric)
		add(Implicit, i, regs...)
	}
	add(Implicit, types.Int2, types.Int4, types.Int8)
	add(Implicit, types.Int4, types.Int8)
	add(Assignment, types.Int4, types.Int2)
	add(Explicit, types.Int4, types.Bool, types.Char)
	add(Assignment, types.Int8, types.Int2, types.Int4)
	add(Implicit, types.Float4, types.Float8)
	add(Assignment, types.Float4, types.Int2, types.Int4, types.Int8, types.Numeric)
	add(Assignment, types.Float8, types.Int2, types.Int4, types.Int8, types.Numeric, types.Float4)
	add(Implicit, types.Numeric, types.Float4, types.Float8)
	add(Assignment, types.Numeric, types.Int2, types.Int4, types.Int8)
	add(Explicit, types.Bool, types.Int4)
	add(Assignment, types.Bool, types.Text, types.Varchar, types.Bpchar)
	for _, r := range regs {
		add(Assignment, r, types.Int4, types.Int8)
		if r != types.OID {
			add(Implicit, r, types.OID)
			add(Implicit, types.OID, r)
		}
	}
	add(Implicit, types.Text, types.Bpchar, types.Varchar, types.Name, types.Regclass)
	add(Implicit, types.Varchar, types.Text, types.Bpchar, types.Name, types.Regclass)
	add(Implicit, types.Bpchar, types.Text, types.Varchar, types.Name)
	add(Implicit, types.Name, types.Text)
	add(Assignment, types.Name, types.Varchar, types.Bpchar)
	for _, s := range []types.ID{types.Text, types.Varchar, types.Bpchar} {
		add(Assignment, s, types.Char)
	}
	add(Implicit, types.Char, types.Text)
	add(Assignment, types.Char, types.Varchar, types.Bpchar)
	add(Explicit, types.Char, types.Int4)
	add(Implicit, types.Date, types.Timestamp, types.Timestamptz)
	add(Implicit, types.Time, types.Interval)
	add(Implicit, types.Timestamp, types.Timestamptz)
	add(Assignment, types.Timestamp, types.Date, types.Time)
	add(Assignment, types.Timestamptz, types.Date, types.Time, types.Timestamp)
	add(Assignment, types.Interval, types.Time)
	add(Assignment, types.JSON, types.JSONB)
	add(Assignment, types.JSONB, types.JSON)
	add(Explicit, types.JSONB, types.Bool, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8,
		types.Numeric)
	return m
}()

// CanCast tells whether a value of type from may become one of type to in the
// context.
func CanCast(from, to types.Type, ctx CastContext) bool {
	if from.ID == types.Unknown {
		return to.ID != types.Void
	}
	if from.ID == to.ID && from.ID != types.Array && from.ID != types.Struct {
		return true
	}
	switch {
	case from.ID == types.Array && to.ID == types.Array:
		return to.Elem == nil || from.Elem.Equal(*to.Elem) || CanCast(*from.Elem, *to.Elem, ctx)
	case from.ID == types.Struct && to.ID == types.Struct:
		return canCastStruct(from, to, ctx)
	}
	if c, ok := castContexts[castRule{from.ID, to.ID}]; ok {
		return ctx >= c
	}
	if to.ID == types.Void || from.ID == types.Void || to.ID == types.Unknown {
		return false
	}
	switch {
	case category(to) == 'S': // every type can be written as text
		return ctx >= Assignment
	case category(from) == 'S': // and read from it
		return ctx == Explicit
	}
	return false
}

func canCastStruct(from, to types.Type, ctx CastContext) bool {
	if len(to.Fields) == 0 {
		return true
	}
	if len(from.Fields) != len(to.Fields) {
		return false
	}
	for i := range from.Fields {
		if !CanCast(from.Fields[i].Type, to.Fields[i].Type, ctx) {
			return false
		}
	}
	return true
}

// CommonType returns the type to which values of all the given types are brought
// in UNION, CASE, VALUES, ARRAY and the like (PostgreSQL's select_common_type).
// ok is false when there is none; then bad is the first type that does not fit.
func CommonType(ts []types.Type) (common, bad types.Type, ok bool) {
	if len(ts) == 0 {
		return types.TText, types.Type{}, true
	}
	same := ts[0].ID != types.Unknown
	for _, t := range ts[1:] {
		same = same && t.Equal(ts[0])
	}
	if same {
		return ts[0], types.Type{}, true
	}
	p := ts[0].Base()
	for _, t := range ts[1:] {
		n := t.Base()
		switch {
		case n.ID == types.Unknown || n.Equal(p):
		case p.ID == types.Unknown:
			p = n
		case category(n) != category(p):
			return p, n, false
		case !preferred(p.ID) && CanCast(p, n, Implicit) && !CanCast(n, p, Implicit):
			p = n
		}
	}
	if p.ID == types.Unknown {
		p = types.TText
	}
	for _, t := range ts {
		if !CanCast(t, p, Implicit) {
			return p, t.Base(), false
		}
	}
	return p, types.Type{}, true
}
