package expr

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// scratch is what evaluations of one Ctx keep for reuse.
type scratch struct {
	caseVals []arg
	frames   []*frame
	sels     [][]int32
	regexps  map[patternKey]*scalar.Regex
	likes    map[string]*scalar.LikePattern
	froms    [][]uint8
	one      *arrowbatch.Batch
}

func (c *Ctx) getFrame() *frame {
	if n := len(c.frames); n > 0 {
		f := c.frames[n-1]
		c.frames = c.frames[:n-1]
		return f
	}
	return &frame{}
}

func (c *Ctx) putFrame(f *frame) {
	args := f.args
	for i := range args {
		args[i] = arg{}
	}
	*f = frame{args: args[:0], buf: f.buf[:0]}
	c.frames = append(c.frames, f)
}

// getSel returns an empty selection to fill. It is not nil: nil means all rows.
func (c *Ctx) getSel() []int32 {
	if n := len(c.sels); n > 0 {
		s := c.sels[n-1]
		c.sels = c.sels[:n-1]
		return s[:0]
	}
	return []int32{}
}

func (c *Ctx) putSel(s []int32) {
	if cap(s) > 0 {
		c.sels = append(c.sels, s)
	}
}

// oneRow is a batch of one row without columns: constants are evaluated over it.
func (c *Ctx) oneRow() *arrowbatch.Batch {
	if c.one == nil {
		c.one = arrowbatch.NewBatch(1)
	}
	return c.one
}

// alone runs f with no failures noted and returns the failure of row 0 that f
// left, with the noted ones back in place.
func (c *Ctx) alone(f func()) *sqlerr.Error {
	kept := c.failed
	c.failed = nil
	f()
	err := c.failed[0]
	c.failed = kept
	return err
}

// failAll fails every row of a selection.
func (c *Ctx) failAll(n int, sel []int32, err *sqlerr.Error) {
	if sel == nil {
		for i := range n {
			c.Fail(int32(i), err)
		}
		return
	}
	for _, i := range sel {
		c.Fail(i, err)
	}
}

// live returns the rows of sel that have not failed; the result is scratch when
// owned is set and must be given back with putSel.
func (c *Ctx) live(n int, sel []int32) (rows []int32, owned bool) {
	if len(c.failed) == 0 {
		return sel, false
	}
	rows = c.getSel()
	if sel == nil {
		for i := range int32(n) {
			if _, bad := c.failed[i]; !bad {
				rows = append(rows, i)
			}
		}
		return rows, true
	}
	for _, i := range sel {
		if _, bad := c.failed[i]; !bad {
			rows = append(rows, i)
		}
	}
	return rows, true
}
