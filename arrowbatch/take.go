package arrowbatch

// Take returns a new vector of the rows idx, in that order. Entries of -1 give
// NULL.
func (v *Vec) Take(idx []int32) *Vec {
	out := getVec(v.Layout)
	out.N = len(idx)
	neg := false
	for _, i := range idx {
		if i < 0 {
			neg = true
			break
		}
	}
	if v.Valid != nil || neg {
		out.Valid = NewBitmap(len(idx))
		for j, i := range idx {
			if i >= 0 && (v.Valid == nil || v.Valid.Get(int(i))) {
				out.Valid.Set(j)
			}
		}
	}
	if neg {
		v.takeWithMissing(out, idx)
		return out
	}
	v.takeValues(out, idx)
	return out
}

// takeWithMissing reads row 0, or a zero row where there is none, for the
// entries of -1: they are NULL already.
func (v *Vec) takeWithMissing(out *Vec, idx []int32) {
	src := v
	if v.N == 0 {
		src = NewVec(v.Shape(), 0)
		src.AppendNull()
		defer src.Release()
	}
	fixed := make([]int32, len(idx))
	for j, i := range idx {
		fixed[j] = max(i, 0)
	}
	src.takeValues(out, fixed)
}

func (v *Vec) takeValues(out *Vec, idx []int32) {
	switch v.Layout {
	case Bool:
		out.Bits = resizeBits(out.Bits, len(idx))
		clear(out.Bits)
		for j, i := range idx {
			if v.Bits.Get(int(i)) {
				out.Bits.Set(j)
			}
		}
	case Int16:
		out.I16 = gather(out.I16, v.I16, idx)
	case Int32:
		out.I32 = gather(out.I32, v.I32, idx)
	case Int64:
		out.I64 = gather(out.I64, v.I64, idx)
	case Float32:
		out.F32 = gather(out.F32, v.F32, idx)
	case Float64:
		out.F64 = gather(out.F64, v.F64, idx)
	case Decimal:
		out.Dec = gather(out.Dec, v.Dec, idx)
	case Interval:
		out.Ivl = gather(out.Ivl, v.Ivl, idx)
	case UUID:
		out.U128 = gather(out.U128, v.U128, idx)
	case Bytes:
		v.takeBytes(out, idx)
	case List:
		v.takeList(out, idx)
	case Struct:
		out.Kids = out.Kids[:0]
		for _, k := range v.Kids {
			out.Kids = append(out.Kids, k.Take(idx))
		}
	}
}

func gather[T any](dst, src []T, idx []int32) []T {
	dst = resize(dst[:0], len(idx))
	for j, i := range idx {
		dst[j] = src[i]
	}
	return dst
}

func (v *Vec) takeBytes(out *Vec, idx []int32) {
	off := resize(out.Off[:0], len(idx)+1)
	off[0] = 0
	total := 0
	for j, i := range idx {
		total += int(v.Off[i+1] - v.Off[i])
		off[j+1] = int32(total)
	}
	data := resize(out.Data[:0], int(offset(total)))
	for j, i := range idx {
		copy(data[off[j]:off[j+1]], v.Data[v.Off[i]:v.Off[i+1]])
	}
	out.Off, out.Data = off, data
}

func (v *Vec) takeList(out *Vec, idx []int32) {
	off := resize(out.Off[:0], len(idx)+1)
	off[0] = 0
	var kid []int32
	for j, i := range idx {
		for k := v.Off[i]; k < v.Off[i+1]; k++ {
			kid = append(kid, k)
		}
		off[j+1] = offset(len(kid))
	}
	out.Off = off
	out.Kids = append(out.Kids[:0], v.Kids[0].Take(kid))
}

// AppendVec adds all rows of src, a vector of the same shape.
func (v *Vec) AppendVec(src *Vec) {
	old, n := v.N, src.N
	if src.Valid != nil && v.Valid == nil {
		v.Valid = NewBitmap(old)
		v.Valid.Fill(old, true)
	}
	if v.Valid != nil {
		v.Valid = resizeBits(v.Valid, old+n)
		for i := range n {
			v.Valid.Put(old+i, !src.IsNull(i))
		}
	}
	v.N += n
	switch v.Layout {
	case Bool:
		v.Bits = resizeBits(v.Bits, v.N)
		for i := range n {
			v.Bits.Put(old+i, src.Bits.Get(i))
		}
	case Int16:
		v.I16 = append(v.I16, src.I16...)
	case Int32:
		v.I32 = append(v.I32, src.I32...)
	case Int64:
		v.I64 = append(v.I64, src.I64...)
	case Float32:
		v.F32 = append(v.F32, src.F32...)
	case Float64:
		v.F64 = append(v.F64, src.F64...)
	case Decimal:
		v.Dec = append(v.Dec, src.Dec...)
	case Interval:
		v.Ivl = append(v.Ivl, src.Ivl...)
	case UUID:
		v.U128 = append(v.U128, src.U128...)
	case Bytes:
		base := offset(len(v.Data)+len(src.Data)) - int32(len(src.Data))
		v.Data = append(v.Data, src.Data...)
		v.appendOffsets(base, src)
	case List:
		base := offset(v.Kids[0].N+src.Kids[0].N) - int32(src.Kids[0].N)
		v.Kids[0].AppendVec(src.Kids[0])
		v.appendOffsets(base, src)
	case Struct:
		for k, kid := range v.Kids {
			kid.AppendVec(src.Kids[k])
		}
	}
}

func (v *Vec) appendOffsets(base int32, src *Vec) {
	for _, o := range src.Off[1 : src.N+1] {
		v.Off = append(v.Off, base+o)
	}
}

// Concat returns one batch of all rows of bs in order, and releases bs. All have
// the same shape; one batch is returned as it is.
func Concat(bs []*Batch) *Batch {
	if len(bs) == 1 {
		return bs[0]
	}
	out := NewLike(bs[0].Shapes())
	hasOps := false
	for _, b := range bs {
		hasOps = hasOps || b.Ops != nil
		out.Len += b.Len
		if b.Entered != 0 && (out.Entered == 0 || b.Entered < out.Entered) {
			out.Entered = b.Entered
		}
		if b.Appended != 0 && (out.Appended == 0 || b.Appended < out.Appended) {
			out.Appended = b.Appended
		}
	}
	if hasOps {
		out.Ops = make([]Op, 0, out.Len)
	}
	for _, b := range bs {
		for k, c := range out.Cols {
			c.AppendVec(b.Cols[k])
		}
		if hasOps && b.Ops != nil {
			out.Ops = append(out.Ops, b.Ops...)
		} else if hasOps {
			out.Ops = append(out.Ops, make([]Op, b.Len)...)
		}
		b.Release()
	}
	return out
}
