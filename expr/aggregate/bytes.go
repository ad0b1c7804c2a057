package aggregate

import "unsafe"

// Bytes is about the memory that an accumulator holds, what it keeps for later use
// included.
func Bytes(a Acc) int { return a.(interface{ bytes() int }).bytes() }

func sliceBytes[T any](s []T) int {
	var x T
	return cap(s) * int(unsafe.Sizeof(x))
}

func (c *count) bytes() int           { return sliceBytes(c.n) }
func (b *boolean) bytes() int         { return sliceBytes(b.n) }
func (a *sumInt) bytes() int          { return sliceBytes(a.n) + sliceBytes(a.s) }
func (a *sumInterval) bytes() int     { return sliceBytes(a.n) + sliceBytes(a.s) }
func (a *sumDecimal) bytes() int      { return sliceBytes(a.g) + sliceBytes(a.scales) }
func (a *sumFloat) bytes() int        { return sliceBytes(a.g) }
func (a *exactFloat) bytes() int      { return sliceBytes(a.g) }
func (a *varDecimal) bytes() int      { return sliceBytes(a.g) }
func (a *varFloat) bytes() int        { return sliceBytes(a.g) }
func (e *extremeFixed[T]) bytes() int { return sliceBytes(e.set) + sliceBytes(e.x) }
func (e *extremeAny) bytes() int      { return sliceBytes(e.at) + cap(e.arena) }
func (a *anyValue) bytes() int        { return sliceBytes(a.at) + cap(a.arena) }
func (e *extremeRetract) bytes() int  { return sliceBytes(e.groups) + e.held }
func (c *collect) bytes() int         { return sliceBytes(c.groups) + c.held }
func (d *distinct) bytes() int        { return sliceBytes(d.seen) + d.held + Bytes(d.inner) }
