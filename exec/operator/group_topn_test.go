package operator

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// folded takes changes into a multiset of rows and notes what cannot be.
type folded struct {
	t    *testing.T
	rows map[string]int
	last []string // lines since the last look
}

func (f *folded) Emit(b *arrowbatch.Batch) error {
	defer b.Release()
	for _, line := range strings.Split(strings.TrimSuffix(arrowbatch.Pretty(b), "\n"), "\n") {
		op, row, _ := strings.Cut(line, " ")
		if op == "-" {
			f.rows[row]--
		} else {
			f.rows[row]++
		}
		if f.rows[row] < 0 {
			f.t.Errorf("%q is taken back and was never given", row)
		}
		if f.rows[row] == 0 {
			delete(f.rows, row)
		}
		f.last = append(f.last, line)
	}
	return nil
}

// net checks that what came since the last look has no row both ways.
func (f *folded) net() {
	f.t.Helper()
	seen := map[string]string{}
	for _, line := range f.last {
		op, row, _ := strings.Cut(line, " ")
		if o, ok := seen[row]; ok && o != op {
			f.t.Errorf("%q is given and taken back at once", row)
		}
		seen[row] = op
	}
	f.last = nil
}

var topShapes = []arrowbatch.Shape{int4s, int4s, texty}

// topModel is the definition: all rows, sorted and counted anew.
func topModel(o *GroupTopN, rows []string) map[string]int {
	type ranked struct {
		group, order, code []byte
		text               string
	}
	var all []ranked
	for _, row := range rows {
		b, err := arrowbatch.ParsePretty(topShapes, "+ "+row)
		if err != nil {
			panic(err)
		}
		r := ranked{text: row, code: arrowbatch.AppendRow(nil, b.Cols, 0)}
		for _, c := range o.PartitionBy {
			r.group = b.Cols[c].AppendKey(r.group, 0)
		}
		for _, k := range o.OrderBy {
			r.order = appendSortKey(r.order, b.Cols[k.Col], 0, k)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(x, y ranked) int {
		return cmp.Or(bytes.Compare(x.group, y.group), bytes.Compare(x.order, y.order), bytes.Compare(x.code, y.code))
	})
	out := map[string]int{}
	var number, rank, dense int64
	for i, r := range all {
		switch {
		case i == 0 || !bytes.Equal(r.group, all[i-1].group):
			number, rank, dense = 1, 1, 1
		case !bytes.Equal(r.order, all[i-1].order):
			number, dense = number+1, dense+1
			rank = number
		default:
			number++
		}
		at := map[RankFunc]int64{RankRowNumber: number, RankPeers: rank, RankDense: dense, RankTies: rank}[o.Func]
		from := at
		if o.Func == RankTies {
			from = number
		}
		if from < o.From || at > o.To {
			continue
		}
		if o.Rank {
			r.text += fmt.Sprint(" ", at)
		}
		out[r.text]++
	}
	return out
}

// TestGroupTopN holds the operator against its definition: ways to count, ranges,
// input with and without deletes, cut into batches and epochs, stopped and started.
func TestGroupTopN(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(n int) bool { return r.IntN(n) == 0 }
		o := GroupTopN{PartitionBy: []int{0}, Shapes: topShapes, CloseCol: -1,
			OrderBy: []SortKey{{Col: 1, Desc: pick(2), NullsFirst: pick(2)}},
			Func:    RankFunc(r.IntN(4)), From: 1, To: int64(r.IntN(6)), AppendOnly: pick(2)}
		if pick(3) {
			o.From = 1 + r.Int64N(o.To+1)
		}
		if o.From > o.To {
			o.From, o.To = 1, 0
		}
		o.Rank = o.Func != RankTies && pick(2)
		if pick(3) {
			o.PartitionBy = nil
		}
		if pick(5) {
			o.OrderBy = nil
		}
		name := fmt.Sprintf("seed %d: %v %d to %d, rank %t, append only %t", seed, o.Func, o.From, o.To, o.Rank, o.AppendOnly)
		t.Run(name, func(t *testing.T) { runTopN(t, r, o) })
	}
}

func runTopN(t *testing.T, r *rand.Rand, o GroupTopN) {
	store, err := state.Open("", state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	out := &folded{t: t, rows: map[string]int{}}
	start := func() *GroupTopN {
		op := o
		rt := testRuntime(context.Background())
		rt.Store, rt.Table = store, state.TableID{Query: 1, Operator: 2}
		if err := op.Open(rt, out); err != nil {
			t.Fatal(err)
		}
		return &op
	}
	op := start()
	var rows []string
	for epoch := range 12 {
		op.rt.Eager = r.IntN(3) == 0
		for range r.IntN(4) {
			var text strings.Builder
			for range 1 + r.IntN(8) {
				if !o.AppendOnly && len(rows) > 0 && r.IntN(5) < 2 {
					i := r.IntN(len(rows))
					text.WriteString("- " + rows[i] + "\n")
					rows = slices.Delete(rows, i, i+1)
					continue
				}
				v := fmt.Sprint(r.IntN(9))
				if v == "8" {
					v = "NULL"
				}
				row := fmt.Sprintf("%d %s %c", r.IntN(3), v, 'a'+r.IntN(3))
				rows = append(rows, row)
				text.WriteString("+ " + row + "\n")
			}
			if err := op.ProcessBatch(0, parse(t, topShapes, text.String())); err != nil {
				t.Fatal(err)
			}
			if op.rt.Eager {
				out.net()
				sameRows(t, epoch, topModel(op, rows), out.rows)
			}
		}
		if err := op.ProcessBarrier(exec.Barrier{}); err != nil {
			t.Fatal(err)
		}
		if !op.rt.Eager {
			out.net()
		}
		out.last = nil
		sameRows(t, epoch, topModel(op, rows), out.rows)
		d := store.NewDelta()
		op.saveRows(d)
		if err := store.Commit(nil, d); err != nil {
			t.Fatal(err)
		}
		if r.IntN(3) == 0 {
			was := op.rt.Stats.Read()
			op.Close()
			op = start()
			if err := op.measure(); err != nil {
				t.Fatal(err)
			}
			if is := op.rt.Stats.Read(); is.Groups != was.Groups {
				t.Fatalf("epoch %d: %d rows in the state after a start, %d before", epoch, is.Groups, was.Groups)
			}
		}
	}
	if n := op.rt.Stats.Read().Groups; o.AppendOnly && o.Func == RankRowNumber && n > 3*o.To {
		t.Errorf("%d rows are kept", n)
	}
	op.Close()
}

func sameRows(t *testing.T, epoch int, want, got map[string]int) {
	t.Helper()
	if maps.Equal(want, got) {
		return
	}
	t.Fatalf("epoch %d:\n%v\ninstead of\n%v", epoch, got, want)
}

// TestTopRows puts many rows in and takes them out again, so that chunks are cut and
// joined.
func TestTopRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var l topRows
	var want []string
	most := 0
	for step := range 14000 {
		key := fmt.Sprintf("%05d", r.IntN(3000))
		at, found := slices.BinarySearch(want, key)
		switch grow := step < 5000; {
		case !found && grow:
			if _, _, _, was := l.at([]byte(key), 2); was {
				t.Fatalf("%s is there", key)
			}
			want = slices.Insert(want, at, key)
		case found && (!grow || r.IntN(3) == 0):
			k, i, ok := l.search([]byte(key))
			if !ok {
				t.Fatalf("%s is not found", key)
			}
			l.remove(k, i)
			want = slices.Delete(want, at, at+1)
		}
		most = max(most, len(l.chunks))
		if step%1000 == 999 {
			sameTopRows(t, &l, want)
		}
	}
	if most < 4 || len(l.chunks) >= most {
		t.Errorf("%d chunks at most, %d at the end", most, len(l.chunks))
	}
}

func sameTopRows(t *testing.T, l *topRows, want []string) {
	t.Helper()
	var got []string
	for k := range l.chunks {
		c := &l.chunks[k]
		n := 0
		for i := range c.rows {
			got = append(got, string(c.key(i)))
			n += int(c.rows[i].size)
			if string(c.order(i)) != got[len(got)-1][:2] {
				t.Fatalf("the order of %s is %s", c.key(i), c.order(i))
			}
		}
		if n != len(c.arena)-c.dead {
			t.Fatalf("chunk %d: %d bytes in use, %d counted", k, n, len(c.arena)-c.dead)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%d rows %v\ninstead of %d %v", len(got), got, len(want), want)
	}
}

// TestGroupTopNForgets takes the rows of most groups away: the groups are forgotten
// and the others go on.
func TestGroupTopNForgets(t *testing.T) {
	out := &folded{t: t, rows: map[string]int{}}
	op := &GroupTopN{PartitionBy: []int{0}, OrderBy: []SortKey{{Col: 1}}, From: 1, To: 1, Shapes: topShapes, CloseCol: -1}
	if err := op.Open(testRuntime(context.Background()), out); err != nil {
		t.Fatal(err)
	}
	const groups, stay = 5000, 10
	for _, sign := range []string{"+", "-"} {
		var text strings.Builder
		for i := range groups {
			if sign == "+" || i%(groups/stay) != 0 {
				fmt.Fprintf(&text, "%s %d 1 x\n", sign, i)
			}
		}
		if err := op.ProcessBatch(0, parse(t, topShapes, text.String())); err != nil {
			t.Fatal(err)
		}
		if err := op.ProcessBarrier(exec.Barrier{}); err != nil {
			t.Fatal(err)
		}
	}
	bk := op.buckets[arrowbatch.MaxTime]
	if n := bk.groups.Len(); n != stay || len(out.rows) != stay || op.rt.Stats.Read().Groups != stay {
		t.Fatalf("%d groups, %d rows given, %d in the state", n, len(out.rows), op.rt.Stats.Read().Groups)
	}
	if err := op.ProcessBatch(0, parse(t, topShapes, "+ 0 0 y\n+ 7 3 z")); err != nil {
		t.Fatal(err)
	}
	if err := op.ProcessBarrier(exec.Barrier{}); err != nil {
		t.Fatal(err)
	}
	if out.rows["0 0 y"] != 1 || out.rows["0 1 x"] != 0 || out.rows["7 3 z"] != 1 {
		t.Errorf("given: %v", out.rows)
	}
}

// TestGroupTopNCloses gives the rows of windows as they close, and drops late ones.
func TestGroupTopNCloses(t *testing.T) {
	shapes := []arrowbatch.Shape{int8s, int4s}
	for _, final := range []bool{true, false} {
		out := &folded{t: t, rows: map[string]int{}}
		op := &GroupTopN{PartitionBy: []int{0}, OrderBy: []SortKey{{Col: 1, Desc: true}}, From: 1, To: 2, Rank: true,
			Shapes: shapes, CloseCol: 0, CloseLag: 5, FinalOnly: final, AppendOnly: true}
		rt := testRuntime(context.Background())
		if err := op.Open(rt, out); err != nil {
			t.Fatal(err)
		}
		batch := func(text string) {
			if err := op.ProcessBatch(0, parse(t, shapes, text)); err != nil {
				t.Fatal(err)
			}
		}
		batch("+ 10 1\n+ 20 7\n+ 10 3\n+ 10 2\n+ NULL 5\n+ 20 7")
		check := func(what string, want ...string) {
			t.Helper()
			slices.Sort(out.last)
			slices.Sort(want)
			if !slices.Equal(out.last, want) {
				t.Errorf("final %t, %s: %v instead of %v", final, what, out.last, want)
			}
			out.last = nil
		}
		if w, err := op.ProcessWatermark(14); w != 14 || err != nil {
			t.Fatal(w, err)
		}
		check("before the end")
		if _, err := op.ProcessWatermark(15); err != nil {
			t.Fatal(err)
		}
		check("at the end", "+ 10 3 1", "+ 10 2 2")
		batch("+ 10 9\n+ 20 8")
		if n := rt.Stats.Read().Late; n != 1 {
			t.Errorf("%d late rows", n)
		}
		if err := op.ProcessBarrier(exec.Barrier{}); err != nil {
			t.Fatal(err)
		}
		if final {
			check("barrier")
			if err := op.ProcessBarrier(exec.Barrier{Final: true}); err != nil {
				t.Fatal(err)
			}
			check("last barrier", "+ 20 8 1", "+ 20 7 2", "+ NULL 5 1")
		} else {
			check("barrier", "+ 20 8 1", "+ 20 7 2", "+ NULL 5 1")
		}
		if n := rt.Stats.Read().Groups; n != 3 {
			t.Errorf("%d rows in the state", n)
		}
		op.Close()
	}
}

func TestStandingLimit(t *testing.T) {
	shapes := []arrowbatch.Shape{int4s}
	for _, c := range []struct {
		offset, limit int64
		want          string
	}{{0, 3, "1 2 3"}, {2, 3, "3 4 5"}, {4, noLimit, "5 6 7 8 9"}, {0, 0, ""}, {8, 5, "9"}, {20, 1, ""}} {
		for size := 1; size <= 9; size++ {
			out := &folded{t: t, rows: map[string]int{}}
			op := &StandingLimit{Offset: c.offset, Limit: c.limit}
			if err := op.Open(testRuntime(context.Background()), out); err != nil {
				t.Fatal(err)
			}
			for lo := 1; lo <= 9; lo += size {
				var text strings.Builder
				for i := lo; i < min(lo+size, 10); i++ {
					fmt.Fprintf(&text, "+ %d\n", i)
				}
				if err := op.ProcessBatch(0, parse(t, shapes, text.String())); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.ReplaceAll(strings.Join(out.last, " "), "+ ", ""); got != c.want {
				t.Errorf("offset %d, limit %d, batches of %d: %q instead of %q", c.offset, c.limit, size, got, c.want)
			}
		}
	}
}
