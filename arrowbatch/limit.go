package arrowbatch

import (
	"math"

	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// errTooLong is what a column that outgrows its offsets ends with (invariant A7).
var errTooLong = sqlerr.New(sqlerr.ProgramLimitExceeded,
	"a column of a batch exceeds the limit of %d bytes or elements", math.MaxInt32).AsPermanent()

// offset returns n as an entry of Off.
func offset(n int) int32 {
	if n > math.MaxInt32 {
		spawn.Abort(errTooLong)
	}
	return int32(n)
}

// errArenaFull is what state whose places have 32 bits ends with.
var errArenaFull = sqlerr.New(sqlerr.ProgramLimitExceeded,
	"the keys or values that an operator keeps exceed the limit of %d bytes", uint32(math.MaxUint32)).AsPermanent()

// Place returns n, a number of bytes of an arena, in the 32 bits in which tables
// of keys and values keep it. It aborts the query with 54000 where that is too few.
func Place(n int) uint32 {
	if n > math.MaxUint32 {
		spawn.Abort(errArenaFull)
	}
	return uint32(n)
}
