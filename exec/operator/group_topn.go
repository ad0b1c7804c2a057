package operator

import (
	"bytes"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// RankFunc says how the rows of a group are counted.
type RankFunc uint8

// The ways to count, numbered as in the plan. RankTies counts rows from below and
// by rank from above: LIMIT … WITH TIES.
const (
	RankRowNumber RankFunc = iota
	RankPeers
	RankDense
	RankTies
)

// GroupTopN keeps, of the rows of each group, those whose rank is From to To, while
// rows come and go. Rows that are equal in OrderBy stand in the order of their own
// code, so that the result depends on the rows alone and not on how they came.
//
// What a barrier (where results are eager: a batch) has changed leaves as the Deletes
// and then the Inserts of it: rows that came into the range or left it and, with Rank,
// those whose rank is another one now. With FinalOnly a group leaves once, when the
// watermark closes it.
//
// Of an input without deletes no more rows are kept than can be in the range still;
// of another one all are.
type GroupTopN struct {
	PartitionBy []int
	OrderBy     []SortKey
	Func        RankFunc
	From, To    int64 // To is math.MaxInt64 for no end
	// Rank adds the rank to the rows, as a bigint.
	Rank   bool
	Shapes []arrowbatch.Shape // of the input
	// CloseCol is a time column among PartitionBy: the groups with a value of it are
	// closed CloseLag after it. -1: none.
	CloseCol int
	CloseLag int64
	// FinalOnly: emit closed groups only.
	FinalOnly bool
	// AppendOnly: no deletes come in.
	AppendOnly bool
	// TTL, above 0, is how many microseconds of processing time a group stays that no
	// row comes for; its rows are taken back then. CloseCol is -1.
	TTL int64
	// Budget is how many bytes of rows may be held in memory; nil: any number. It is asked
	// at barriers.
	Budget func() int

	rt  *exec.Runtime
	out exec.Output
	w   arrowbatch.EventTime

	tier    *tier                // nil: groups stay in memory
	buckets map[int64]*topBucket // by the time that closes them
	touched []*topBucket         // with rows in sel
	exp     *expiry              // with TTL
	aged    []int32              // groups that rows came for in this epoch
	dropped []int64              // stored buckets that were closed in this epoch
	gone    []byte               // stored keys of rows that went in this epoch, one behind another
	ends    []int                // where they end
	dels    *arrowbatch.Batch
	adds    *arrowbatch.Batch

	outShapes []arrowbatch.Shape
	keyVecs   []*arrowbatch.Vec
	ids, late []int32
	key       []byte
	saved     state.KeyList
	ghosts    []byte // keys of rows to take out after a walk, one behind another
	ghostEnds []int
	mute      bool // a walk gives nothing
	bad       bool // a row could not be decoded
}

// topBucket holds the groups that are closed together.
type topBucket struct {
	end     int64
	groups  *state.Groups
	tops    []topGroup
	changed []int32 // groups that may have something to emit
	saving  []int32 // groups with something to save
	empty   int     // groups without rows
	rows    int     // distinct rows, and the bytes that they take
	bytes   int
	stored  bool
	away    bool // the store has groups that are not here
	ages    ages // of groups
	sel     []int32
}

// topGroup is a group: its rows and what is known of them.
type topGroup struct {
	topRows
	total int64 // copies of rows
	given int64 // copies in the output
	// tail is the number of copies that are equal in order to the last row, peers the
	// number of different orders; kept where no deletes come in.
	tail, peers int64
	// cut is the last key of the range when it was last emitted and full: what is behind
	// it changes nothing. Kept where deletes come in.
	cut             []byte
	changed, saving bool
	aged            bool // in aged
	headed          bool // its head is in the store
}

// Open restores the groups.
func (o *GroupTopN) Open(rt *exec.Runtime, out exec.Output) error {
	o.rt, o.out, o.w = rt, out, arrowbatch.NoTime
	o.buckets = map[int64]*topBucket{}
	o.keyVecs = make([]*arrowbatch.Vec, len(o.PartitionBy))
	o.outShapes = slices.Clone(o.Shapes)
	if o.Rank {
		o.outShapes = append(o.outShapes, arrowbatch.Shape{Layout: arrowbatch.Int64})
	}
	if o.TTL > 0 {
		o.exp = newExpiry(o.TTL)
	}
	if rt.Store == nil {
		return nil
	}
	if o.exp != nil {
		if err := o.restoreDates(); err != nil {
			return err
		}
	} else if len(o.PartitionBy) > 0 {
		o.tier = newTier(rt, o.Budget)
	}
	return o.restore()
}

func (o *GroupTopN) bucketAt(end int64) *topBucket {
	bk := o.buckets[end]
	if bk == nil {
		bk = o.newBucket(end)
		o.buckets[end] = bk
	}
	return bk
}

func (o *GroupTopN) newBucket(end int64) *topBucket {
	shapes := make([]arrowbatch.Shape, len(o.PartitionBy))
	for i, c := range o.PartitionBy {
		shapes[i] = o.Shapes[c]
	}
	return &topBucket{end: end, groups: state.NewGroups(shapes)}
}

// ProcessBatch takes rows into their groups.
func (o *GroupTopN) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	if err := o.replay(); err != nil {
		return err
	}
	o.assign(b)
	for _, bk := range o.touched {
		if err := o.take(bk, b); err != nil {
			return err
		}
		bk.sel = bk.sel[:0]
	}
	touched := o.touched
	o.touched = o.touched[:0]
	if !o.rt.Eager || o.FinalOnly {
		return nil
	}
	for _, bk := range touched {
		o.flush(bk)
	}
	return o.send()
}

// assign puts each row of the batch into the sel of its bucket.
func (o *GroupTopN) assign(b *arrowbatch.Batch) {
	if o.CloseCol < 0 {
		bk := o.bucketAt(arrowbatch.MaxTime)
		for i := range b.Len {
			bk.sel = append(bk.sel, int32(i))
		}
		o.touched = append(o.touched, bk)
		return
	}
	v := b.Cols[o.CloseCol]
	o.late = o.late[:0]
	var bk *topBucket
	for i, t := range v.I64[:b.Len] {
		end := int64(endNull)
		switch {
		case v.IsNull(i):
		case t == arrowbatch.MaxTime:
			end = endPosInf
		case t == arrowbatch.NoTime:
			end = endNegInf
		default:
			if end = t + o.CloseLag; end <= o.w {
				o.late = append(o.late, int32(i))
				continue
			}
		}
		if bk == nil || bk.end != end {
			bk = o.bucketAt(end)
		}
		if len(bk.sel) == 0 {
			o.touched = append(o.touched, bk)
		}
		bk.sel = append(bk.sel, int32(i))
	}
	o.rt.DropLate(b, o.late, o.CloseCol, o.w)
}

// take takes the rows in a bucket's sel into their groups.
func (o *GroupTopN) take(bk *topBucket, b *arrowbatch.Batch) error {
	for i, c := range o.PartitionBy {
		o.keyVecs[i] = b.Cols[c]
	}
	o.ids = resizeIDs(o.ids, len(bk.sel))
	from := bk.groups.Len()
	bk.groups.Lookup(o.keyVecs, bk.sel, o.ids)
	bk.grow()
	if o.tier != nil {
		if err := o.fetch(bk, from); err != nil {
			return err
		}
		for _, id := range o.ids {
			bk.ages.use(o.tier, id)
		}
	}
	if o.exp != nil {
		o.age(bk, o.ids)
	}
	for k, i := range bk.sel {
		g := &bk.tops[o.ids[k]]
		key := o.key[:0]
		for _, s := range o.OrderBy {
			key = appendSortKey(key, b.Cols[s.Col], int(i), s)
		}
		ord := len(key)
		if o.AppendOnly && o.beyond(g, key) {
			o.key = key
			continue
		}
		key = arrowbatch.AppendRow(key, b.Cols, int(i))
		o.key = key
		if o.AppendOnly {
			o.insert(bk, o.ids[k], ord)
		} else {
			o.change(bk, o.ids[k], ord, 1-2*int64(b.OpAt(int(i))))
		}
	}
	return nil
}

func (bk *topBucket) grow() {
	for len(bk.tops) < bk.groups.Len() {
		bk.tops = append(bk.tops, topGroup{})
		bk.empty++
	}
}

// touch notes that a group may have something to emit.
func (o *GroupTopN) touch(bk *topBucket, id int32) {
	if g := &bk.tops[id]; !g.changed && !o.FinalOnly {
		g.changed = true
		bk.changed = append(bk.changed, id)
	}
}

// save notes that row i of chunk k of a group is to be saved.
func (o *GroupTopN) save(bk *topBucket, id int32, k, i int) {
	if o.rt.Store == nil {
		return
	}
	g := &bk.tops[id]
	g.chunks[k].rows[i].saving, g.chunks[k].saving = true, true
	bk.save(id)
}

// save notes that a group has something to save.
func (bk *topBucket) save(id int32) {
	if g := &bk.tops[id]; !g.saving {
		g.saving = true
		bk.saving = append(bk.saving, id)
	}
}

// beyond tells whether a new row of that order is behind all that can be in the range.
func (o *GroupTopN) beyond(g *topGroup, order []byte) bool {
	full := g.total >= o.To
	if o.Func == RankDense {
		full = g.peers >= o.To
	}
	if !full {
		return false
	}
	if len(g.chunks) == 0 { // no row is wanted
		return true
	}
	c, i := g.last()
	return bytes.Compare(order, c.order(i)) > 0
}

// insert takes the row in o.key into a group without deletes, and what it pushes out
// of the range away.
func (o *GroupTopN) insert(bk *topBucket, id int32, ord int) {
	g := &bk.tops[id]
	if len(g.chunks) == 0 {
		g.tail = 1
		bk.empty--
	} else {
		c, i := g.last()
		if o.Func == RankRowNumber && g.total >= o.To && bytes.Compare(o.key, c.key(i)) >= 0 {
			return
		}
		switch bytes.Compare(o.key[:ord], c.order(i)) {
		case 0:
			g.tail++
		case 1:
			g.tail = 1
		}
	}
	r, k, i := bk.at(g, o.key, ord)
	r.n++
	g.total++
	if o.Func == RankDense && r.n == 1 && g.alone(k, i) {
		g.peers++
	}
	o.save(bk, id, k, i)
	o.touch(bk, id)
	switch {
	case o.Func == RankRowNumber && g.total > o.To:
		o.pop(bk, id)
	case o.Func == RankDense && g.peers > o.To, o.Func != RankRowNumber && o.Func != RankDense && g.total-g.tail >= o.To:
		o.popPeers(bk, id)
	}
}

// at is topRows.at, counted.
func (bk *topBucket) at(g *topGroup, key []byte, ord int) (r *topRow, k, i int) {
	r, k, i, found := g.at(key, ord)
	if !found {
		bk.rows++
		bk.bytes += len(key) + topRowBytes
	}
	return r, k, i
}

// alone tells whether no other row is equal in order to row i of chunk k.
func (l *topRows) alone(k, i int) bool {
	order := l.chunks[k].order(i)
	if k2, i2, ok := l.before(k, i); ok && bytes.Equal(l.chunks[k2].order(i2), order) {
		return false
	}
	k2, i2, ok := l.after(k, i)
	return !ok || !bytes.Equal(l.chunks[k2].order(i2), order)
}

// pop takes a copy of the last row away. While there are others, the next walk sees
// that fewer are left than were given.
func (o *GroupTopN) pop(bk *topBucket, id int32) {
	g := &bk.tops[id]
	c, i := g.last()
	g.total--
	r := &c.rows[i]
	if r.n--; r.n > 0 {
		o.save(bk, id, len(g.chunks)-1, i)
		return
	}
	for ; r.out > 0; r.out-- {
		g.given--
		o.give(&o.dels, c, i, r.at+r.out-1, arrowbatch.Delete)
	}
	o.forget(bk, id, len(g.chunks)-1, i)
}

// popPeers takes the last rows that are equal in order away.
func (o *GroupTopN) popPeers(bk *topBucket, id int32) {
	g := &bk.tops[id]
	c, i := g.last()
	order := bytes.Clone(c.order(i))
	for len(g.chunks) > 0 {
		if c, i = g.last(); !bytes.Equal(c.order(i), order) {
			break
		}
		r := &c.rows[i]
		for ; r.out > 0; r.out-- {
			g.given--
			o.give(&o.dels, c, i, r.at, arrowbatch.Delete)
		}
		g.total -= r.n
		o.forget(bk, id, len(g.chunks)-1, i)
	}
	g.peers--
	g.countTail()
}

// countTail counts the last rows that are equal in order.
func (g *topGroup) countTail() {
	g.tail = 0
	if len(g.chunks) == 0 {
		return
	}
	c, j := g.last()
	order := c.order(j)
	for k, i, ok := len(g.chunks)-1, j, true; ok && bytes.Equal(g.chunks[k].order(i), order); k, i, ok = g.before(k, i) {
		g.tail += g.chunks[k].rows[i].n
	}
}

// forget takes a row out of a group.
func (o *GroupTopN) forget(bk *topBucket, id int32, k, i int) {
	g := &bk.tops[id]
	c := &g.chunks[k]
	if c.rows[i].stored {
		o.gone = append(o.storeKey(o.gone, bk, id), c.key(i)...)
		o.ends = append(o.ends, len(o.gone))
	}
	bk.rows--
	bk.bytes -= int(c.rows[i].size) + topRowBytes
	if g.remove(k, i); len(g.chunks) == 0 {
		bk.empty++
		if g.headed {
			bk.save(id)
		}
	}
}

// change takes delta copies of the row in o.key into a group whose rows come and go.
func (o *GroupTopN) change(bk *topBucket, id int32, ord int, delta int64) {
	g := &bk.tops[id]
	if len(g.chunks) == 0 {
		bk.empty--
	}
	r, k, i := bk.at(g, o.key, ord)
	r.n += delta
	g.total += delta
	if g.cut == nil || o.matters(g, ord) {
		o.touch(bk, id)
	}
	if r.n == 0 && r.out == 0 {
		o.forget(bk, id, k, i)
	} else {
		o.save(bk, id, k, i)
	}
}

// matters tells whether the row in o.key can change what is in the range.
func (o *GroupTopN) matters(g *topGroup, ord int) bool {
	if o.Func == RankRowNumber {
		return bytes.Compare(o.key, g.cut) <= 0
	}
	return bytes.Compare(o.key[:ord], g.cut) <= 0
}

// Resume implements exec.Resumer.
func (o *GroupTopN) Resume(w arrowbatch.EventTime) { o.w = w }

// ProcessWatermark closes the groups that end at or before w.
func (o *GroupTopN) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	if err := o.replay(); err != nil {
		return w, err
	}
	o.w = w
	if o.CloseCol < 0 {
		return w, nil
	}
	for _, end := range o.bucketEnds() {
		if end > w || end >= endNegInf && (w != arrowbatch.MaxTime || !o.FinalOnly) {
			continue
		}
		bk := o.buckets[end]
		if err := o.close(bk); err != nil {
			return w, err
		}
		delete(o.buckets, end)
		if bk.stored {
			o.dropped = append(o.dropped, end)
		}
	}
	return w, o.send()
}

// close gives what a bucket still has to give.
func (o *GroupTopN) close(bk *topBucket) error {
	if !o.FinalOnly {
		o.flush(bk)
		return nil
	}
	if bk.away {
		if err := o.closeAway(bk); err != nil {
			return err
		}
	}
	for id := range bk.tops {
		if err := o.finish(&bk.tops[id]); err != nil {
			return err
		}
	}
	return nil
}

// finish gives a closed group.
func (o *GroupTopN) finish(g *topGroup) error {
	o.walk(g)
	if o.adds != nil && o.adds.Len >= chunkRows {
		return o.send()
	}
	return nil
}

func (o *GroupTopN) bucketEnds() []int64 {
	ends := make([]int64, 0, len(o.buckets))
	for end := range o.buckets {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	return ends
}

// ProcessBarrier emits what has changed and writes it to the epoch's delta.
func (o *GroupTopN) ProcessBarrier(bar exec.Barrier) error {
	if err := o.replay(); err != nil {
		return err
	}
	for _, end := range o.bucketEnds() {
		bk := o.buckets[end]
		if o.FinalOnly && !bar.Final {
			continue
		}
		if err := o.close(bk); err != nil {
			return err
		}
	}
	o.expire(bar.Now)
	if err := o.send(); err != nil {
		return err
	}
	if d := o.rt.Delta(); d != nil {
		o.saveRows(d)
	}
	o.tier.sealed()
	return o.measure()
}

// Close frees what was not emitted.
func (o *GroupTopN) Close() {
	o.dels.Release()
	o.adds.Release()
	o.dels, o.adds = nil, nil
}
