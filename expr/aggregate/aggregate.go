package aggregate

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Acc is one aggregate's state for all groups of a table. Entry i belongs to
// group i.
type Acc interface {
	// Grow makes room for n entries; new ones are neutral.
	Grow(n int)
	// Update takes row rows[k] of args into (or, where its op is Delete, out of)
	// group ids[k]. rows nil: row k. ops nil: all inserts.
	Update(ids, rows []int32, args []*arrowbatch.Vec, ops []arrowbatch.Op)
	// Merge combines the encoded state at the front of src into entry id and
	// returns the rest of src.
	Merge(id int32, src []byte) (rest []byte, err error)
	// Append appends the encoded state of entry id.
	Append(dst []byte, id int32) []byte
	// Result appends the results of the entries ids to out; fail is told of each
	// that has none because of an error, and gets a NULL.
	Result(ids []int32, out *arrowbatch.Vec, fail func(k int, err *sqlerr.Error))
	// Reset makes all entries neutral and forgets them; the memory stays.
	Reset()
}

// Signature is a resolved aggregate.
type Signature struct {
	Name string
	// Args are the types that arguments must be cast to.
	Args   []types.Type
	Result types.Type
	// Retractable is false for aggregates that cannot take rows back.
	Retractable bool
}

// row returns the row of the k-th entry.
func row(rows []int32, k int) int {
	if rows == nil {
		return k
	}
	return int(rows[k])
}

// sign returns 1 for an insert, -1 for a delete.
func sign(ops []arrowbatch.Op, i int) int64 {
	if ops == nil || ops[i] == arrowbatch.Insert {
		return 1
	}
	return -1
}

func grow[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n <= cap(s) {
		old := len(s)
		s = s[:n]
		clear(s[old:])
		return s
	}
	ns := make([]T, n, max(n, 2*cap(s), 64))
	copy(ns, s)
	return ns
}

var errState = sqlerr.New(sqlerr.DataCorrupted, "an aggregate's state is unreadable")
