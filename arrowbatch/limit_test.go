package arrowbatch

import (
	"math"
	"testing"

	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Columns that would outgrow their offsets abort with an error for the client.
// The rows are views of one string of 64 MB, so that nothing but the column
// itself is large.
func TestTooLongColumn(t *testing.T) {
	const size, rows = 64 << 20, 32 // 2 GB: one byte more than there may be
	v := NewVec(Shape{Layout: Bytes}, 0)
	v.AppendBytes(make([]byte, size))
	idx := make([]int32, rows)
	calls := map[string]func(){
		"offset": func() { offset(math.MaxInt32 + 1) },
		"take":   func() { v.Take(idx) },
		"place":  func() { Place(math.MaxUint32 + 1) },
	}
	for name, call := range calls {
		err := spawn.Call(name, func() error { call(); return nil })
		if e := sqlerr.From(err); e == nil || e.Code != sqlerr.ProgramLimitExceeded || !e.Permanent || e.Detail != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := spawn.Call("within", func() error {
		if offset(math.MaxInt32) != math.MaxInt32 || Place(math.MaxUint32) != math.MaxUint32 {
			t.Error("the greatest places changed")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
