package expr

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// comparer orders row i of a and row j of b, neither NULL, as ORDER BY does.
type comparer func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int

// Comparator returns the order of a type's values (btree order): below 0, 0 or
// above. NaN equals itself and is above every number. Rows must not be NULL;
// inside arrays and structs NULL is above every value.
func Comparator(t types.Type) func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
	return comparator(t)
}

func comparator(t types.Type) comparer {
	switch t.Layout() {
	case arrowbatch.Bool:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
			x, y := a.Bits.Get(i), b.Bits.Get(j)
			switch {
			case x == y:
				return 0
			case y:
				return -1
			}
			return 1
		}
	case arrowbatch.Int16:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int { return cmp.Compare(a.I16[i], b.I16[j]) }
	case arrowbatch.Int32:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int { return cmp.Compare(a.I32[i], b.I32[j]) }
	case arrowbatch.Int64:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int { return cmp.Compare(a.I64[i], b.I64[j]) }
	case arrowbatch.Float32:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int { return cmpFloat(a.F32[i], b.F32[j]) }
	case arrowbatch.Float64:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int { return cmpFloat(a.F64[i], b.F64[j]) }
	case arrowbatch.Decimal:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int { return a.Dec[i].Cmp(b.Dec[j]) }
	case arrowbatch.Interval:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
			return types.CompareInterval(a.Ivl[i], b.Ivl[j])
		}
	case arrowbatch.UUID:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
			return bytes.Compare(a.U128[i][:], b.U128[j][:])
		}
	case arrowbatch.List:
		return listComparator(*t.Elem)
	case arrowbatch.Struct:
		return structComparator(t.Fields)
	}
	switch t.ID {
	case types.Bpchar:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
			return bytes.Compare(trimBlanks(a.BytesAt(i)), trimBlanks(b.BytesAt(j)))
		}
	case types.JSONB:
		return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
			return compareJSONB(a.BytesAt(i), b.BytesAt(j))
		}
	}
	return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
		return bytes.Compare(a.BytesAt(i), b.BytesAt(j))
	}
}

// trimBlanks drops the padding that has no meaning in character(n).
func trimBlanks(b []byte) []byte { return bytes.TrimRight(b, " ") }

func cmpFloat[T float32 | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	case x == x: // y is NaN
		return -1
	case y == y:
		return 1
	}
	return 0
}

func listComparator(elem types.Type) comparer {
	c := comparator(elem)
	return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
		alo, ahi := a.ListAt(i)
		blo, bhi := b.ListAt(j)
		ka, kb := a.Kids[0], b.Kids[0]
		for alo < ahi && blo < bhi {
			if r := cmpNullsLast(c, ka, alo, kb, blo); r != 0 {
				return r
			}
			alo++
			blo++
		}
		return cmp.Compare(ahi-alo, bhi-blo)
	}
}

func structComparator(fields []types.Field) comparer {
	cs := make([]comparer, len(fields))
	for k, f := range fields {
		cs[k] = comparator(f.Type)
	}
	return func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
		for k, c := range cs {
			if r := cmpNullsLast(c, a.Kids[k], i, b.Kids[k], j); r != 0 {
				return r
			}
		}
		return 0
	}
}

func cmpNullsLast(c comparer, a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int {
	an, bn := a.IsNull(i), b.IsNull(j)
	switch {
	case an && bn:
		return 0
	case an:
		return 1
	case bn:
		return -1
	}
	return c(a, i, b, j)
}

// cmpOp is one of the six comparisons.
type cmpOp uint8

const (
	opEQ cmpOp = iota
	opNE
	opLT
	opLE
	opGT
	opGE
)

var cmpNames = [...]string{"=", "<>", "<", "<=", ">", ">="}

// swap is the comparison with its sides exchanged.
func (op cmpOp) swap() cmpOp { return [...]cmpOp{opEQ, opNE, opGT, opGE, opLT, opLE}[op] }

// split writes op as one of =, <, > and whether to negate its result: a total
// order makes <= the opposite of >.
func (op cmpOp) split() (base cmpOp, negate bool) {
	switch op {
	case opNE:
		return opEQ, true
	case opLE:
		return opGT, true
	case opGE:
		return opLT, true
	}
	return op, false
}

func (op cmpOp) holds(c int) bool {
	switch op {
	case opEQ:
		return c == 0
	case opNE:
		return c != 0
	case opLT:
		return c < 0
	case opLE:
		return c <= 0
	case opGT:
		return c > 0
	}
	return c >= 0
}

// compareKernel returns the kernel of op for columns of a layout whose order is
// the layout's own.
func compareKernel(l arrowbatch.Layout, op cmpOp) func(f *frame) {
	switch l {
	case arrowbatch.Int16:
		return func(f *frame) {
			cmpOrdered(f, op, f.args[0].v.I16, f.args[1].v.I16)
		}
	case arrowbatch.Int32:
		return func(f *frame) {
			cmpOrdered(f, op, f.args[0].v.I32, f.args[1].v.I32)
		}
	case arrowbatch.Int64:
		return func(f *frame) {
			cmpOrdered(f, op, f.args[0].v.I64, f.args[1].v.I64)
		}
	case arrowbatch.Float32:
		return func(f *frame) { cmpFloats(f, op, f.args[0].v.F32, f.args[1].v.F32) }
	case arrowbatch.Float64:
		return func(f *frame) { cmpFloats(f, op, f.args[0].v.F64, f.args[1].v.F64) }
	case arrowbatch.Bool:
		return func(f *frame) { cmpBools(f, op) }
	}
	return nil
}

type integer interface{ int16 | int32 | int64 }

func cmpOrdered[T integer](f *frame, op cmpOp, a, b []T) {
	if f.args[0].one && !f.args[1].one {
		op, a, b = op.swap(), b, a
	}
	base, negate := op.split()
	out := f.out.Bits
	switch {
	case f.args[0].one && f.args[1].one:
		f.out.Bits.Put(0, op.holds(cmp.Compare(a[0], b[0])))
		return
	case f.args[0].one || f.args[1].one:
		cmpConst(out, base, a[:f.n], b[0])
	default:
		cmpCols(out, base, a[:f.n], b[:f.n])
	}
	if negate {
		flipBits(out, f.n)
	}
}

func flipBits(b arrowbatch.Bitmap, n int) {
	b = b[:arrowbatch.BitmapWords(n)]
	for i := range b {
		b[i] = ^b[i]
	}
}

// bit is 1 for true, without a branch.
func bit(b bool) uint64 {
	var x uint64
	if b {
		x = 1
	}
	return x
}

// cmpConst compares 64 rows a word, 8 at a time: the shifts within a group are
// constants and the groups do not wait for each other.
func cmpConst[T integer](out arrowbatch.Bitmap, op cmpOp, a []T, c T) {
	w := 0
	for ; len(a) >= 64; w++ {
		var m uint64
		switch op {
		case opEQ:
			for g := 0; g < 64; g += 8 {
				x := a[g : g+8 : g+8]
				m |= (bit(x[0] == c) | bit(x[1] == c)<<1 | bit(x[2] == c)<<2 | bit(x[3] == c)<<3 |
					bit(x[4] == c)<<4 | bit(x[5] == c)<<5 | bit(x[6] == c)<<6 | bit(x[7] == c)<<7) << (uint(g) & 63)
			}
		case opLT:
			for g := 0; g < 64; g += 8 {
				x := a[g : g+8 : g+8]
				m |= (bit(x[0] < c) | bit(x[1] < c)<<1 | bit(x[2] < c)<<2 | bit(x[3] < c)<<3 |
					bit(x[4] < c)<<4 | bit(x[5] < c)<<5 | bit(x[6] < c)<<6 | bit(x[7] < c)<<7) << (uint(g) & 63)
			}
		default:
			for g := 0; g < 64; g += 8 {
				x := a[g : g+8 : g+8]
				m |= (bit(x[0] > c) | bit(x[1] > c)<<1 | bit(x[2] > c)<<2 | bit(x[3] > c)<<3 |
					bit(x[4] > c)<<4 | bit(x[5] > c)<<5 | bit(x[6] > c)<<6 | bit(x[7] > c)<<7) << (uint(g) & 63)
			}
		}
		out[w] = m
		a = a[64:]
	}
	if len(a) > 0 {
		var m uint64
		for i, x := range a {
			m |= bit(op == opEQ && x == c || op == opLT && x < c || op == opGT && x > c) << (uint(i) & 63)
		}
		out[w] = m
	}
}

func cmpCols[T integer](out arrowbatch.Bitmap, op cmpOp, a, b []T) {
	if op == opGT {
		op, a, b = opLT, b, a
	}
	w := 0
	for ; len(a) >= 64; w++ {
		var m uint64
		if op == opEQ {
			for g := 0; g < 64; g += 8 {
				x, y := a[g:g+8:g+8], b[g:g+8:g+8]
				m |= (bit(x[0] == y[0]) | bit(x[1] == y[1])<<1 | bit(x[2] == y[2])<<2 | bit(x[3] == y[3])<<3 |
					bit(x[4] == y[4])<<4 | bit(x[5] == y[5])<<5 | bit(x[6] == y[6])<<6 | bit(x[7] == y[7])<<7) <<
					(uint(g) & 63)
			}
		} else {
			for g := 0; g < 64; g += 8 {
				x, y := a[g:g+8:g+8], b[g:g+8:g+8]
				m |= (bit(x[0] < y[0]) | bit(x[1] < y[1])<<1 | bit(x[2] < y[2])<<2 | bit(x[3] < y[3])<<3 |
					bit(x[4] < y[4])<<4 | bit(x[5] < y[5])<<5 | bit(x[6] < y[6])<<6 | bit(x[7] < y[7])<<7) <<
					(uint(g) & 63)
			}
		}
		out[w] = m
		a, b = a[64:], b[64:]
	}
	if len(a) > 0 {
		var m uint64
		for i, x := range a {
			m |= bit(op == opEQ && x == b[i] || op == opLT && x < b[i]) << (uint(i) & 63)
		}
		out[w] = m
	}
}

func cmpFloats[T float32 | float64](f *frame, op cmpOp, a, b []T) {
	if f.args[0].one && !f.args[1].one {
		op, a, b = op.swap(), b, a
	}
	base, negate := op.split()
	if f.args[0].one && f.args[1].one {
		f.out.Bits.Put(0, op.holds(cmpFloat(a[0], b[0])))
		return
	}
	if f.args[0].one || f.args[1].one {
		floatConst(f.out.Bits, base, a[:f.n], b[0])
	} else {
		floatCols(f.out.Bits, base, a[:f.n], b[:f.n])
	}
	if negate {
		flipBits(f.out.Bits, f.n)
	}
}

func floatConst[T float32 | float64](out arrowbatch.Bitmap, op cmpOp, a []T, c T) {
	if c != c {
		floatNaN(out, op, a)
		return
	}
	w := 0
	for ; len(a) >= 64; w++ {
		var m uint64
		switch op {
		case opEQ:
			for g := 0; g < 64; g += 8 {
				x := a[g : g+8 : g+8]
				m |= (bit(x[0] == c) | bit(x[1] == c)<<1 | bit(x[2] == c)<<2 | bit(x[3] == c)<<3 |
					bit(x[4] == c)<<4 | bit(x[5] == c)<<5 | bit(x[6] == c)<<6 | bit(x[7] == c)<<7) << (uint(g) & 63)
			}
		case opLT:
			for g := 0; g < 64; g += 8 {
				x := a[g : g+8 : g+8]
				m |= (bit(x[0] < c) | bit(x[1] < c)<<1 | bit(x[2] < c)<<2 | bit(x[3] < c)<<3 |
					bit(x[4] < c)<<4 | bit(x[5] < c)<<5 | bit(x[6] < c)<<6 | bit(x[7] < c)<<7) << (uint(g) & 63)
			}
		default: // NaN is above c: not at or below it
			for g := 0; g < 64; g += 8 {
				x := a[g : g+8 : g+8]
				m |= (bit(x[0] <= c) | bit(x[1] <= c)<<1 | bit(x[2] <= c)<<2 | bit(x[3] <= c)<<3 |
					bit(x[4] <= c)<<4 | bit(x[5] <= c)<<5 | bit(x[6] <= c)<<6 | bit(x[7] <= c)<<7) << (uint(g) & 63)
			}
			m = ^m
		}
		out[w] = m
		a = a[64:]
	}
	if len(a) > 0 {
		var m uint64
		for i, x := range a {
			m |= bit(op.holds(cmpFloat(x, c))) << (uint(i) & 63)
		}
		out[w] = m
	}
}

// floatNaN compares with NaN, which is equal to itself and above all else.
func floatNaN[T float32 | float64](out arrowbatch.Bitmap, op cmpOp, a []T) {
	for w := 0; len(a) > 0; w++ {
		n := min(64, len(a))
		var m uint64
		for i, x := range a[:n] {
			m |= bit(op == opEQ && x != x || op == opLT && x == x) << (uint(i) & 63)
		}
		out[w] = m
		a = a[n:]
	}
}

func floatCols[T float32 | float64](out arrowbatch.Bitmap, op cmpOp, a, b []T) {
	if op == opGT {
		op, a, b = opLT, b, a
	}
	for w := 0; len(a) > 0; w++ {
		n := min(64, len(a))
		x, y := a[:n], b[:n]
		var m uint64
		if op == opEQ {
			for i := range x {
				m |= (bit(x[i] == y[i]) | bit(x[i] != x[i])&bit(y[i] != y[i])) << (uint(i) & 63)
			}
		} else {
			for i := range x {
				m |= (bit(x[i] < y[i]) | bit(x[i] == x[i])&bit(y[i] != y[i])) << (uint(i) & 63)
			}
		}
		out[w] = m
		a, b = a[n:], b[n:]
	}
}

func cmpBools(f *frame, op cmpOp) {
	word := func(a arg, w int) uint64 {
		if !a.one {
			return a.v.Bits[w]
		}
		if a.v.Bits.Get(0) {
			return ^uint64(0)
		}
		return 0
	}
	base, negate := op.split()
	for w := range f.out.Bits[:arrowbatch.BitmapWords(f.n)] {
		a, b := word(f.args[0], w), word(f.args[1], w)
		var m uint64
		switch base {
		case opEQ:
			m = ^(a ^ b)
		case opLT:
			m = ^a & b
		default:
			m = a &^ b
		}
		if negate {
			m = ^m
		}
		f.out.Bits[w] = m
	}
}

// compareRow returns op for values that need a comparer.
func compareRow(op cmpOp) rowFunc {
	return func(f *frame, i int) error {
		a, b := f.args[0], f.args[1]
		if f.cmp == nil {
			f.cmp = comparator(f.typ(0))
		}
		f.out.Bits.Put(i, op.holds(f.cmp(a.v, a.at(i), b.v, b.at(i))))
		return nil
	}
}

// bytesKernel compares text, bytea and name byte by byte.
func bytesKernel(op cmpOp) func(f *frame) {
	return func(f *frame) {
		a, b, o := &f.args[0], &f.args[1], op
		if a.one && !b.one {
			a, b, o = b, a, op.swap()
		}
		switch {
		case f.sel != nil && len(f.sel)*4 < f.n || a.one:
			f.each(func(f *frame, i int) error {
				return f.setBool(i, op.holds(bytes.Compare(f.bytes(0, i), f.bytes(1, i))))
			})
		case b.one:
			bytesConst(f.out.Bits, o, a.v, view(b.v.BytesAt(0)), f.n)
		case o == opEQ || o == opNE:
			bytesEqual(f.out.Bits, o == opNE, a.v, b.v, f.n)
		default:
			for i := range f.n {
				f.out.Bits.Put(i, o.holds(bytes.Compare(a.v.BytesAt(i), b.v.BytesAt(i))))
			}
		}
	}
}

func bytesConst(out arrowbatch.Bitmap, op cmpOp, v *arrowbatch.Vec, c string, n int) {
	off, data := v.Off[:n+1], v.Data
	equality := op == opEQ || op == opNE
	flip := uint64(0)
	if op == opNE {
		flip = ^uint64(0)
	}
	lo := off[0]
	for w, i := 0, 0; i < n; w++ {
		var m uint64
		for k := range min(64, n-i) {
			hi := off[i+k+1]
			if equality {
				// Lengths differ in most rows that do not match: look there first.
				if int(hi-lo) == len(c) && string(data[lo:hi]) == c {
					m |= 1 << (uint(k) & 63)
				}
			} else {
				m |= bit(op.holds(strings.Compare(view(data[lo:hi]), c))) << (uint(k) & 63)
			}
			lo = hi
		}
		out[w] = m ^ flip
		i += 64
	}
}

func bytesEqual(out arrowbatch.Bitmap, negate bool, a, b *arrowbatch.Vec, n int) {
	for i := range n {
		x, y := a.Data[a.Off[i]:a.Off[i+1]], b.Data[b.Off[i]:b.Off[i+1]]
		out.Put(i, (string(x) == string(y)) != negate)
	}
}
