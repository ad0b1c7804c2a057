package expr

import (
	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

var errDivZero = sqlerr.New(sqlerr.DivisionByZero, "division by zero")

// arithOp is one of the operations of the dense kernels.
type arithOp uint8

const (
	opAdd arithOp = iota
	opSub
	opMul
)

// intArith is the kernel of + - * for integers. It computes every row, gathers
// overflow in one word, and looks for the rows to blame only if there is any.
func intArith[T integer](op arithOp, vals func(*arrowbatch.Vec) []T, err *sqlerr.Error) func(f *frame) {
	return func(f *frame) {
		a, b := f.args[0], f.args[1]
		x, y, out := vals(a.v), vals(b.v), vals(f.out)
		var over bool
		switch {
		case a.one && b.one:
			over = intCols(op, out[:1], x, y)
		case b.one:
			over = intConst(op, out, x, y[0])
		case a.one && op == opSub:
			over = intConstSub(out, x[0], y)
		case a.one:
			over = intConst(op, out, y, x[0])
		default:
			over = intCols(op, out, x, y)
		}
		if over {
			f.blame(err, func(i int) bool { return intOverflows(op, x[a.at(i)], y[b.at(i)]) })
		}
	}
}

// blame fails the selected rows with values for which bad holds.
func (f *frame) blame(err *sqlerr.Error, bad func(i int) bool) {
	f.each(func(_ *frame, i int) error {
		if bad(i) {
			return err
		}
		return nil
	})
}

func intCols[T integer](op arithOp, out, x, y []T) bool {
	x, y = x[:len(out)], y[:len(out)]
	var over T
	switch op {
	case opAdd:
		for i, a := range x {
			b := y[i]
			s := a + b
			out[i] = s
			over |= (a ^ s) & (b ^ s)
		}
	case opSub:
		for i, a := range x {
			b := y[i]
			s := a - b
			out[i] = s
			over |= (a ^ b) & (a ^ s)
		}
	default:
		return intMul(out, x, y)
	}
	return over < 0
}

func intConst[T integer](op arithOp, out, x []T, c T) bool {
	x = x[:len(out)]
	var over T
	switch op {
	case opAdd:
		for i, a := range x {
			s := a + c
			out[i] = s
			over |= (a ^ s) & (c ^ s)
		}
	case opSub:
		for i, a := range x {
			s := a - c
			out[i] = s
			over |= (a ^ c) & (a ^ s)
		}
	default:
		return intMulConst(out, x, c)
	}
	return over < 0
}

func intConstSub[T integer](out []T, c T, y []T) bool {
	y = y[:len(out)]
	var over T
	for i, b := range y {
		s := c - b
		out[i] = s
		over |= (c ^ b) & (c ^ s)
	}
	return over < 0
}

// intMul multiplies. Short integers are checked in 64 bits; for int64 a product
// is suspect if a factor is outside 32 bits, and then blame looks closely.
func intMul[T integer](out, x, y []T) bool {
	var suspect uint64
	for i, a := range x {
		b := y[i]
		p := a * b
		out[i] = p
		suspect |= mulSuspect(a, b, p)
	}
	return suspect != 0
}

func intMulConst[T integer](out, x []T, c T) bool {
	var suspect uint64
	for i, a := range x {
		p := a * c
		out[i] = p
		suspect |= mulSuspect(a, c, p)
	}
	return suspect != 0
}

// mulSuspect is not 0 if the product p of a and b may be wrong.
func mulSuspect[T integer](a, b, p T) uint64 {
	wide := int64(a) * int64(b)
	u := uint64(wide) ^ uint64(int64(p))
	// For 64 bits the line above is 0: both factors within 32 bits are safe.
	hi := uint64(int64(a)+1<<31)>>32 | uint64(int64(b)+1<<31)>>32
	return u | hi
}

func intOverflows[T integer](op arithOp, a, b T) bool {
	switch op {
	case opAdd:
		s := a + b
		return (a^s)&(b^s) < 0
	case opSub:
		s := a - b
		return (a^b)&(a^s) < 0
	}
	p := a * b
	return a != 0 && (p/a != b || a == -1 && b < 0 && p < 0)
}

// intDiv is / and %: division truncates towards zero, the remainder has the
// dividend's sign.
func intDiv[T integer](mod bool, vals func(*arrowbatch.Vec) []T, err *sqlerr.Error) rowFunc {
	return func(f *frame, i int) error {
		a := vals(f.args[0].v)[f.args[0].at(i)]
		b := vals(f.args[1].v)[f.args[1].at(i)]
		out := vals(f.out)
		switch {
		case b == 0:
			return errDivZero
		case b == -1: // the hardware traps on the least number
			if mod {
				out[i] = 0
				return nil
			}
			out[i] = -a
			if a != 0 && a == -a {
				return err
			}
		case mod:
			out[i] = a % b
		default:
			out[i] = a / b
		}
		return nil
	}
}

// intDivKernel divides by a constant in a dense loop, which cannot fail unless
// the constant is 0 or -1.
func intDivKernel[T integer](mod bool, vals func(*arrowbatch.Vec) []T, err *sqlerr.Error) func(f *frame) {
	row := intDiv(mod, vals, err)
	return func(f *frame) {
		a, b := &f.args[0], &f.args[1]
		if !b.one || a.one || vals(b.v)[0] == 0 || vals(b.v)[0] == -1 {
			f.each(row)
			return
		}
		c, out := vals(b.v)[0], vals(f.out)
		x := vals(a.v)[:len(out)]
		if mod {
			for i, y := range x {
				out[i] = y % c
			}
			return
		}
		for i, y := range x {
			out[i] = y / c
		}
	}
}

// floatArith is the kernel of + - * / for floats, with PostgreSQL's checks for
// overflow and underflow.
func floatArith[T float32 | float64](op byte, vals func(*arrowbatch.Vec) []T) func(f *frame) {
	return func(f *frame) {
		a, b := f.args[0], f.args[1]
		x, y, out := vals(a.v), vals(b.v), vals(f.out)
		var bad bool
		if a.one && !b.one {
			c := x[0]
			x = make([]T, 0)
			bad = floatConstLeft(op, out, c, y)
			x = append(x, c)
		} else if b.one && !a.one {
			bad = floatConstRight(op, out, x, y[0])
		} else {
			bad = floatColumns(op, out, x, y)
		}
		if bad {
			f.each(func(_ *frame, i int) error { return floatFault(op, x[a.at(i)], y[b.at(i)], out[i]) })
		}
	}
}

// odd is not 0 for a result that may be a fault: infinite, NaN or zero.
func odd[T float32 | float64](r T) uint64 { return bit(r-r != 0) | bit(r == 0) }

func floatColumns[T float32 | float64](op byte, out, x, y []T) bool {
	x, y = x[:len(out)], y[:len(out)]
	var sus uint64
	switch op {
	case '+':
		for i, a := range x {
			r := a + y[i]
			out[i] = r
			sus |= bit(r-r != 0)
		}
	case '-':
		for i, a := range x {
			r := a - y[i]
			out[i] = r
			sus |= bit(r-r != 0)
		}
	case '*':
		for i, a := range x {
			r := a * y[i]
			out[i] = r
			sus |= odd(r)
		}
	default:
		for i, a := range x {
			r := a / y[i]
			out[i] = r
			sus |= odd(r)
		}
	}
	return sus != 0
}

func floatConstRight[T float32 | float64](op byte, out, x []T, c T) bool {
	x = x[:len(out)]
	var sus uint64
	switch op {
	case '+':
		for i, a := range x {
			r := a + c
			out[i] = r
			sus |= bit(r-r != 0)
		}
	case '-':
		for i, a := range x {
			r := a - c
			out[i] = r
			sus |= bit(r-r != 0)
		}
	case '*':
		for i, a := range x {
			r := a * c
			out[i] = r
			sus |= odd(r)
		}
	default:
		for i, a := range x {
			r := a / c
			out[i] = r
			sus |= odd(r)
		}
	}
	return sus != 0
}

func floatConstLeft[T float32 | float64](op byte, out []T, c T, y []T) bool {
	y = y[:len(out)]
	var sus uint64
	switch op {
	case '-':
		for i, b := range y {
			r := c - b
			out[i] = r
			sus |= bit(r-r != 0)
		}
	case '/':
		for i, b := range y {
			r := c / b
			out[i] = r
			sus |= odd(r)
		}
	default:
		return floatConstRight(op, out, y, c)
	}
	return sus != 0
}

// floatFault is the error of a op b = r, if it is one.
func floatFault[T float32 | float64](op byte, a, b, r T) error {
	x, y, z := float64(a), float64(b), float64(r)
	switch {
	case op == '/' && y == 0 && !math.IsNaN(x):
		return errDivZero
	case math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		return errOverflow
	case z == 0 && op == '*' && x != 0 && y != 0:
		return errUnderflow
	case z == 0 && op == '/' && x != 0 && !math.IsInf(y, 0):
		return errUnderflow
	}
	return nil
}
