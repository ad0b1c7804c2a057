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

// castRule names a pair of types.
type castRule struct{ from, to types.ID }

// CanCast tells whether a value of type from may become one of type to in the
// context.
func CanCast(from, to types.Type, ctx CastContext) bool {
	if from.ID == types.Unknown {
		return to.ID != types.Void
	}
	switch ctx {
	case Implicit:
		return types.ImplicitCast(from, to)
	case Assignment:
		return types.AssignCast(from, to)
	}
	return types.ExplicitCast(from, to)
}

func category(t types.Type) byte { return types.Category(t) }

func preferred(id types.ID) bool { return types.Type{ID: id}.IsPreferred() }
