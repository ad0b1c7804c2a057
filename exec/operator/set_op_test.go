package operator

import (
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

func TestSetOp(t *testing.T) {
	l := parse(t, letters, "+ 1 a\n+ 1 a\n+ 1 a\n+ 2 b\n+ NULL NULL\n+ NULL NULL")
	r := parse(t, letters, "+ 1 a\n+ NULL NULL\n+ 1 a\n+ 3 c")
	for _, c := range []struct {
		except, all bool
		want        string
	}{
		{false, false, "+ 1 a\n+ NULL NULL"},
		{false, true, "+ 1 a\n+ 1 a\n+ NULL NULL"},
		{true, false, "+ 2 b"},
		{true, true, "+ 1 a\n+ 2 b\n+ NULL NULL"},
	} {
		got, err := drive(t, func() exec.Operator { return &SetOp{Except: c.except, All: c.all, Shapes: letters} }, l, r)
		same(t, got, err, c.want)
	}
}

func TestDistinctSorted(t *testing.T) {
	b := parse(t, letters, "+ 1 a\n+ 1 b\n+ 2 c\n+ NULL d\n+ NULL e\n+ 3 f")
	got, err := drive(t, func() exec.Operator { return &DistinctSorted{Keys: []int{0}} }, b)
	same(t, got, err, "+ 1 a\n+ 2 c\n+ NULL d\n+ 3 f")
	got, err = drive(t, func() exec.Operator { return &DistinctSorted{} }, b)
	same(t, got, err, "+ 1 a")
}

func TestExpand(t *testing.T) {
	shapes := []arrowbatch.Shape{int4s, texty, int8s}
	b := parse(t, shapes, "+ 1 a 10\n- 2 b 20")
	op := &Expand{Cols: []int{0, 1}, Sets: [][]int{{0, 1}, {1}, {}}}
	out := &kept{t: t}
	tree := &exec.Tree{Op: op, RT: testRuntime(t.Context()), Children: []*exec.Tree{in(b, 2)}}
	err := tree.Run(out)
	same(t, out.text.String(), err, `
		+ 1 a 10 0
		- 2 b 20 0
		+ NULL a 10 1
		- NULL b 20 1
		+ NULL NULL 10 2
		- NULL NULL 20 2`)
}
