package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/state"
)

// JoinKind is a kind of join. Semi and anti joins give left rows only.
type JoinKind uint8

// The kinds, numbered as in the physical plan.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
	SemiJoin
	AntiJoin
)

// Join builds a hash table of one input (the build side) and looks up the rows of
// the other (the probe side) in it. The build side is read up to the barrier
// before the probe side. In a continuous query it is the static side: its later
// changes affect later probe rows only, and it is read anew after a restart.
//
// Outer joins of the build side give their unmatched rows at the final barrier, so
// they are for finite reads alone.
type Join struct {
	Kind                JoinKind
	LeftKeys, RightKeys []int
	NullSafe            []bool
	// Residual is a further condition on left and right columns, or nil.
	Residual expr.Expr
	// BuildLeft: the left input is the build side, else the right one.
	BuildLeft               bool
	LeftShapes, RightShapes []arrowbatch.Shape

	rt        *exec.Runtime
	out       exec.Output
	build     *arrowbatch.Batch
	groups    *state.Groups
	head      []int32 // by group: first build row, -1 for none
	next      []int32 // by build row: next row of the group, -1 at the end
	matched   []bool  // by build row
	dead      int
	gone      []bool // by build row: taken back
	probeKeys []int
	buildKeys []int
	ids       []int32
	pairP     []int32
	pairB     []int32
}

// pairChunk bounds how many pairs are looked at at once.
const pairChunk = 8192

// Open makes the empty table.
func (j *Join) Open(rt *exec.Runtime, out exec.Output) error {
	j.rt, j.out = rt, out
	shapes := j.RightShapes
	j.probeKeys, j.buildKeys = j.LeftKeys, j.RightKeys
	if j.BuildLeft {
		shapes = j.LeftShapes
		j.probeKeys, j.buildKeys = j.RightKeys, j.LeftKeys
	}
	j.build = arrowbatch.NewLike(shapes)
	var keys []arrowbatch.Shape
	for _, k := range j.buildKeys {
		keys = append(keys, shapes[k])
	}
	j.groups = state.NewGroups(keys)
	return nil
}

// StaticInput is the build side.
func (j *Join) StaticInput() int {
	if j.BuildLeft {
		return 0
	}
	return 1
}

// ProcessBatch adds to the table, or probes it.
func (j *Join) ProcessBatch(input int, b *arrowbatch.Batch) error {
	defer b.Release()
	if input == j.StaticInput() {
		return j.add(b)
	}
	return j.probe(b)
}

func keyVecs(b *arrowbatch.Batch, keys []int) []*arrowbatch.Vec {
	v := make([]*arrowbatch.Vec, len(keys))
	for i, k := range keys {
		v[i] = b.Cols[k]
	}
	return v
}

// unmatchable tells whether a row's key has a NULL that equals nothing.
func (j *Join) unmatchable(keys []*arrowbatch.Vec, i int) bool {
	for k, v := range keys {
		if !j.NullSafe[k] && v.IsNull(i) {
			return true
		}
	}
	return false
}

func (j *Join) add(b *arrowbatch.Batch) error {
	keys := keyVecs(b, j.buildKeys)
	j.ids = resizeIDs(j.ids, b.Len)
	j.groups.Lookup(keys, nil, j.ids)
	for len(j.head) < j.groups.Len() {
		j.head = append(j.head, -1)
	}
	for i := range b.Len {
		if b.OpAt(i) == arrowbatch.Delete {
			j.remove(b, i, j.ids[i])
			continue
		}
		row := int32(j.build.Len)
		for k, c := range j.build.Cols {
			c.AppendFrom(b.Cols[k], i)
		}
		j.build.Len++
		link := int32(-1)
		if !j.unmatchable(keys, i) {
			link, j.head[j.ids[i]] = j.head[j.ids[i]], row
		}
		j.next = append(j.next, link)
		j.matched = append(j.matched, false)
		j.gone = append(j.gone, false)
	}
	return nil
}

// remove takes one equal row out of the group's chain.
func (j *Join) remove(b *arrowbatch.Batch, i int, group int32) {
	want := arrowbatch.AppendRow(nil, b.Cols, i)
	var have []byte
	for p := &j.head[group]; *p >= 0; p = &j.next[*p] {
		have = arrowbatch.AppendRow(have[:0], j.build.Cols, int(*p))
		if bytes.Equal(have, want) {
			j.gone[*p] = true
			*p = j.next[*p]
			j.dead++
			break
		}
	}
	if j.dead > 1024 && j.dead > j.build.Len/2 {
		j.compact()
	}
}

// compact rebuilds the table without the rows that were taken back.
func (j *Join) compact() {
	var keep []int32
	for i, g := range j.gone {
		if !g {
			keep = append(keep, int32(i))
		}
	}
	old := j.build
	live := old.Take(keep)
	old.Release()
	j.build = arrowbatch.NewLike(live.Shapes())
	j.groups.Reset()
	j.head, j.next, j.matched, j.gone, j.dead = j.head[:0], j.next[:0], j.matched[:0], j.gone[:0], 0
	_ = j.add(live)
	live.Release()
}

func (j *Join) probe(b *arrowbatch.Batch) error {
	keys := keyVecs(b, j.probeKeys)
	j.ids = resizeIDs(j.ids, b.Len)
	switch {
	case len(keys) == 0 && len(j.head) > 0:
		clear(j.ids)
	case len(keys) == 0:
		for i := range j.ids {
			j.ids[i] = -1
		}
	default:
		j.groups.Find(keys, nil, j.ids)
	}
	hit := make([]bool, b.Len)
	j.pairP, j.pairB = j.pairP[:0], j.pairB[:0]
	for i := range int32(b.Len) {
		if j.ids[i] < 0 || j.unmatchable(keys, int(i)) {
			continue
		}
		for r := j.head[j.ids[i]]; r >= 0; r = j.next[r] {
			j.pairP, j.pairB = append(j.pairP, i), append(j.pairB, r)
			if len(j.pairP) == pairChunk {
				if err := j.pairs(b, hit); err != nil {
					return err
				}
			}
		}
	}
	if err := j.pairs(b, hit); err != nil {
		return err
	}
	return j.unmatched(b, hit)
}

// pairs tests the collected pairs, notes what matched and emits.
func (j *Join) pairs(b *arrowbatch.Batch, hit []bool) error {
	if len(j.pairP) == 0 {
		return nil
	}
	if err := j.rt.Ctx.Err(); err != nil {
		return err
	}
	out := j.combine(b, j.pairP, j.build, j.pairB)
	if j.Residual != nil {
		sel := expr.Filter(j.rt.Eval, j.Residual, out, nil, nil)
		if j.rt.Eval.Failed() {
			if err := j.rt.Fail(j.rt, out, j.rt.Eval.TakeErrors()); err != nil {
				out.Release()
				return err
			}
		}
		if len(sel) < out.Len {
			for k, s := range sel {
				j.pairP[k], j.pairB[k] = j.pairP[s], j.pairB[s]
			}
			j.pairP, j.pairB = j.pairP[:len(sel)], j.pairB[:len(sel)]
			all := out
			out = all.Take(sel)
			all.Release()
		}
	}
	for k, i := range j.pairP {
		hit[i] = true
		j.matched[j.pairB[k]] = true
	}
	j.pairP, j.pairB = j.pairP[:0], j.pairB[:0]
	if j.Kind == SemiJoin || j.Kind == AntiJoin || out.Len == 0 {
		out.Release()
		return nil
	}
	return j.out.Emit(out)
}

// combine puts rows of the probe and the build side next to each other, left
// first.
func (j *Join) combine(p *arrowbatch.Batch, pi []int32, b *arrowbatch.Batch, bi []int32) *arrowbatch.Batch {
	out := &arrowbatch.Batch{Len: len(pi), Entered: p.Entered, Appended: p.Appended, Origin: p.Origin}
	l, li, r, ri := p, pi, b, bi
	if j.BuildLeft {
		l, li, r, ri = b, bi, p, pi
	}
	for _, c := range l.Cols {
		out.Cols = append(out.Cols, c.Take(li))
	}
	for _, c := range r.Cols {
		out.Cols = append(out.Cols, c.Take(ri))
	}
	if p.Ops != nil {
		out.Ops = make([]arrowbatch.Op, len(pi))
		for k, i := range pi {
			if i >= 0 {
				out.Ops[k] = p.Ops[i]
			}
		}
	}
	return out
}

// preservesProbe tells whether probe rows without a match are in the result.
func (j *Join) preservesProbe() bool {
	return j.Kind == FullJoin || j.Kind == LeftJoin && !j.BuildLeft || j.Kind == RightJoin && j.BuildLeft
}

func (j *Join) preservesBuild() bool {
	return j.Kind == FullJoin || j.Kind == LeftJoin && j.BuildLeft || j.Kind == RightJoin && !j.BuildLeft
}

// unmatched emits what a batch of probe rows gives besides its pairs.
func (j *Join) unmatched(b *arrowbatch.Batch, hit []bool) error {
	half := j.Kind == SemiJoin || j.Kind == AntiJoin
	if !half && !j.preservesProbe() {
		return nil
	}
	var rows []int32
	for i, h := range hit {
		if h == (j.Kind == SemiJoin) {
			rows = append(rows, int32(i))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if half {
		return j.out.Emit(b.Take(rows))
	}
	none := make([]int32, len(rows))
	for i := range none {
		none[i] = -1
	}
	return j.out.Emit(j.combine(b, rows, j.build, none))
}

// ProcessWatermark passes the probe side's watermark on.
func (j *Join) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) { return w, nil }

// ProcessBarrier gives, at the end, the build rows that nothing matched.
func (j *Join) ProcessBarrier(bar exec.Barrier) error {
	j.rt.Stats.State(j.build.Len-j.dead, j.build.Bytes()+j.groups.Bytes())
	if !bar.Final || !j.preservesBuild() {
		return nil
	}
	var rows []int32
	for i, m := range j.matched {
		if !m && !j.gone[i] {
			rows = append(rows, int32(i))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	none := make([]int32, len(rows))
	for i := range none {
		none[i] = -1
	}
	shapes := j.LeftShapes
	if j.BuildLeft {
		shapes = j.RightShapes
	}
	empty := arrowbatch.NewLike(shapes)
	defer empty.Release()
	return j.out.Emit(j.combine(empty, none, j.build, rows))
}

// Close frees the table.
func (j *Join) Close() { j.build.Release() }
