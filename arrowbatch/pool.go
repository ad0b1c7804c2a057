package arrowbatch

import (
	"sync"

	"github.com/streamsql/streamsql/internal/invariants"
)

// maxPooled bounds what one vector keeps when it goes back to the pool, in
// bytes: a rare giant must not stay for ever.
const maxPooled = 8 << 20

var vecPools [numLayouts]sync.Pool

func getVec(l Layout) *Vec {
	v, _ := vecPools[l].Get().(*Vec)
	if v == nil {
		v = &Vec{Layout: l}
	}
	v.refs.Store(1)
	return v
}

func putVec(v *Vec) {
	if invariants.Enabled {
		// A checked build never reuses memory: it makes a late reader see nonsense.
		v.poison()
		return
	}
	if v.ownBytes() > maxPooled { // the children are others' already
		return
	}
	v.N, v.Valid = 0, nil
	clear(v.Kids)
	v.Kids = v.Kids[:0]
	v.Bits, v.I16, v.I32, v.I64 = v.Bits[:0], v.I16[:0], v.I32[:0], v.I64[:0]
	v.F32, v.F64, v.Dec, v.Ivl = v.F32[:0], v.F64[:0], v.Dec[:0], v.Ivl[:0]
	v.U128, v.Off, v.Data = v.U128[:0], v.Off[:0], v.Data[:0]
	vecPools[v.Layout].Put(v)
}

func (v *Vec) poison() {
	for i := range v.I16 {
		v.I16[i] = -0x5556
	}
	for i := range v.I32 {
		v.I32[i] = -0x55555556
	}
	for i := range v.I64 {
		v.I64[i] = -0x5555555555555556
	}
	for i := range v.F64 {
		v.F64[i] = -1.2345e-67
	}
	for i := range v.Data {
		v.Data[i] = 0xAA
	}
	v.N, v.Kids = -1, nil
}
