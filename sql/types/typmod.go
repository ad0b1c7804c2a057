package types

import (
	"github.com/streamsql/streamsql/arrowbatch"
)

// AppendMod adds row i of src, a column of t without its modifiers, to dst with
// t's modifiers applied: numeric(p,s) rounds and checks, varchar(n) and char(n)
// check, cut and pad, times round. explicit is a cast that the user wrote, which
// cuts strings instead of refusing them.
func AppendMod(t Type, src *arrowbatch.Vec, i int, dst *arrowbatch.Vec, explicit bool) error {
	if src.IsNull(i) {
		dst.AppendNull()
		return nil
	}
	if t.ID == Array {
		return appendModArray(t, src, i, dst, explicit)
	}
	if t.Mod == 0 {
		dst.AppendFrom(src, i)
		return nil
	}
	switch t.ID {
	case Numeric:
		d, err := src.Dec[i].Fits(int(t.Mod), int(t.Scale))
		if err != nil {
			return err
		}
		dst.AppendDecimal(d)
	case Varchar, Bpchar:
		fit, pad, err := FitString(t, view(src.BytesAt(i)), explicit)
		if err != nil {
			return err
		}
		dst.Data = append(dst.Data, fit...)
		for range pad {
			dst.Data = append(dst.Data, ' ')
		}
		dst.EndBytes()
	case Time, Timestamp, Timestamptz:
		dst.AppendInt64(RoundTime(t, src.I64[i]))
	case Interval:
		iv := src.Ivl[i]
		iv.Micros = RoundMicros(iv.Micros, int(t.Mod))
		dst.AppendInterval(iv)
	default:
		dst.AppendFrom(src, i)
	}
	return nil
}

func appendModArray(t Type, src *arrowbatch.Vec, i int, dst *arrowbatch.Vec, explicit bool) error {
	kid := dst.Kids[0]
	was := kid.N
	lo, hi := src.ListAt(i)
	for k := lo; k < hi; k++ {
		if err := AppendMod(*t.Elem, src.Kids[0], k, kid, explicit); err != nil {
			kid.Resize(was)
			return err
		}
	}
	dst.EndList()
	return nil
}
