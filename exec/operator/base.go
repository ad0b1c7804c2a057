package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// base is an operator that passes watermarks on and keeps nothing.
type base struct {
	rt  *exec.Runtime
	out exec.Output
}

func (o *base) Open(rt *exec.Runtime, out exec.Output) error {
	o.rt, o.out = rt, out
	return nil
}

func (o *base) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) { return w, nil }

func (o *base) ProcessBarrier(exec.Barrier) error { return nil }

func (o *base) Close() {}

// good returns the rows 0 to n-1 without the failed ones.
func good(n int, failed []int32) []int32 {
	idx := make([]int32, 0, n-len(failed))
	f := 0
	for i := range int32(n) {
		if f < len(failed) && failed[f] == i {
			f++
			continue
		}
		idx = append(idx, i)
	}
	return idx
}
