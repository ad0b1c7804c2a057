package types

import "github.com/streamsql/streamsql/internal/sqlerr"

// Category returns pg_type.typcategory.
func Category(t Type) byte {
	switch t.ID {
	case Unknown:
		return 'X'
	case Bool:
		return 'B'
	case Text, Varchar, Bpchar, Name:
		return 'S'
	case Char:
		return 'Z'
	case Date, Time, Timestamp, Timestamptz:
		return 'D'
	case Interval:
		return 'T'
	case Array:
		return 'A'
	case Struct, Void:
		return 'P'
	case Bytea, JSON, JSONB, UUID:
		return 'U'
	}
	return 'N'
}

// Preferred returns the type, or one of the two, that a category's values become
// when nothing else decides; ok is false for a category without one.
func Preferred(category byte) (t Type, ok bool) {
	switch category {
	case 'B':
		return TBool, true
	case 'S':
		return TText, true
	case 'N':
		return TFloat8, true
	case 'D':
		return TTimestamptz, true
	case 'T':
		return TInterval, true
	}
	return Type{}, false
}

// IsPreferred tells whether t is a preferred type of its category.
func (t Type) IsPreferred() bool {
	p, ok := Preferred(Category(t))
	return ok && p.ID == t.ID || t.ID == OID
}

// idSet is a set of type ids.
type idSet uint64

func ids(of ...ID) (s idSet) {
	for _, id := range of {
		s |= 1 << id
	}
	return s
}

func (s idSet) has(id ID) bool { return s>>id&1 != 0 }

// castsFrom is pg_cast: to which types a type is cast implicitly, on assignment
// and explicitly only.
var castsFrom = func() (c [numIDs]struct{ implicit, assign, explicit idSet }) {
	regs := ids(Regclass, Regtype, Regproc, Regnamespace)
	floats := ids(Float4, Float8, Numeric)
	c[Bool].assign, c[Bool].explicit = ids(Text, Varchar, Bpchar), ids(Int4)
	c[Int2].implicit = floats | ids(Int4, Int8, OID) | regs
	c[Int4].implicit, c[Int4].assign = floats|ids(Int8, OID)|regs, ids(Int2)
	c[Int4].explicit = ids(Bool, Char)
	c[Int8].implicit, c[Int8].assign = floats|ids(OID)|regs, ids(Int2, Int4)
	c[Float4].implicit, c[Float4].assign = ids(Float8), ids(Int2, Int4, Int8, Numeric)
	c[Float8].assign = ids(Float4, Int2, Int4, Int8, Numeric)
	c[Numeric].implicit, c[Numeric].assign = ids(Float4, Float8), ids(Int2, Int4, Int8)
	c[OID].implicit, c[OID].assign = regs, ids(Int4, Int8)
	for _, r := range []ID{Regclass, Regtype, Regproc, Regnamespace} {
		c[r].implicit, c[r].assign = ids(OID), ids(Int4, Int8)
	}
	c[Text].implicit, c[Text].assign = ids(Bpchar, Varchar, Name, Regclass), ids(Char)
	c[Varchar].implicit, c[Varchar].assign = ids(Bpchar, Text, Name, Regclass), ids(Char)
	c[Bpchar].implicit, c[Bpchar].assign = ids(Text, Varchar, Name), ids(Char)
	c[Name].implicit, c[Name].assign = ids(Text), ids(Bpchar, Varchar)
	c[Char].implicit, c[Char].assign, c[Char].explicit = ids(Text), ids(Bpchar, Varchar), ids(Int4)
	c[Date].implicit = ids(Timestamp, Timestamptz)
	c[Time].implicit = ids(Interval)
	c[Timestamp].implicit, c[Timestamp].assign = ids(Timestamptz), ids(Date, Time)
	c[Timestamptz].assign = ids(Date, Time, Timestamp)
	c[Interval].assign = ids(Time)
	c[JSON].assign = ids(JSONB)
	c[JSONB].assign = ids(JSON)
	c[JSONB].explicit = ids(Bool, Float4, Float8, Int2, Int4, Int8, Numeric)
	return c
}()

// castLevel is the weakest context in which a cast is allowed.
type castLevel uint8

const (
	castImplicit castLevel = iota
	castAssign
	castExplicit
	castNever
)

func levelOf(from, to Type) castLevel {
	switch {
	case from.ID == Unknown:
		return castImplicit
	case from.ID == Array && to.ID == Array:
		if from.Elem == nil || to.Elem == nil {
			return castImplicit
		}
		return levelOf(*from.Elem, *to.Elem)
	case from.ID == Struct && to.ID == Struct:
		return structLevel(from, to)
	case from.ID == to.ID:
		return castImplicit
	}
	c := castsFrom[from.ID]
	switch {
	case c.implicit.has(to.ID):
		return castImplicit
	case c.assign.has(to.ID):
		return castAssign
	case c.explicit.has(to.ID):
		return castExplicit
	case to.ID == Unknown || to.ID == Void || from.ID == Void:
		return castNever
	case Category(to) == 'S': // every type has a text to be written to
		return castAssign
	case Category(from) == 'S': // and to be read from
		return castExplicit
	}
	return castNever
}

func structLevel(from, to Type) castLevel {
	if len(from.Fields) == 0 || len(to.Fields) == 0 {
		return castImplicit
	}
	if len(from.Fields) != len(to.Fields) {
		return castNever
	}
	l := castImplicit
	for i := range from.Fields {
		l = max(l, levelOf(from.Fields[i].Type, to.Fields[i].Type))
	}
	return l
}

// ImplicitCast tells whether a value of from becomes one of to by itself.
func ImplicitCast(from, to Type) bool { return levelOf(from, to) == castImplicit }

// AssignCast tells whether a value of from may be stored in a column of to.
func AssignCast(from, to Type) bool { return levelOf(from, to) <= castAssign }

// ExplicitCast tells whether CAST(from AS to) exists.
func ExplicitCast(from, to Type) bool { return levelOf(from, to) <= castExplicit }

// Common returns the type to which values of all the given types are brought in
// UNION, CASE, COALESCE, VALUES and arrays; what names the construct in the
// message of the 42804 when there is none, the 42846 when a value cannot become it.
func Common(what string, ts ...Type) (Type, error) {
	if len(ts) == 0 {
		return TText, nil
	}
	same := ts[0].ID != Unknown
	for _, t := range ts[1:] {
		same = same && t.Equal(ts[0])
	}
	if same {
		return ts[0], nil
	}
	p := ts[0].Base()
	for _, t := range ts[1:] {
		n := t.Base()
		switch {
		case n.ID == Unknown || n.Equal(p):
		case p.ID == Unknown:
			p = n
		case Category(n) != Category(p):
			return p, sqlerr.New(sqlerr.DatatypeMismatch, "%s types %s and %s cannot be matched", what, p, n)
		case !p.IsPreferred() && ImplicitCast(p, n) && !ImplicitCast(n, p):
			p = n
		}
	}
	if p.ID == Unknown {
		return TText, nil
	}
	for _, t := range ts {
		if !ImplicitCast(t, p) {
			return p, sqlerr.New(sqlerr.CannotCoerce, "%s could not convert type %s to %s", what, t.Base(), p)
		}
	}
	return p, nil
}
