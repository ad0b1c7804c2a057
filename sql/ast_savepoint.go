package sql

// CreateSavepoint is CREATE SAVEPOINT name FOR query: a kept copy of a query's state.
type CreateSavepoint struct {
	Span
	IfNotExists bool
	Name        Name
	Query       QualifiedName
}

// DropSavepoint is DROP SAVEPOINT names.
type DropSavepoint struct {
	Span
	IfExists bool
	Names    []Name
}

func (*CreateSavepoint) statement() {}
func (*DropSavepoint) statement()   {}
