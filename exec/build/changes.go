package build

import (
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/plan/physical"
)

func latestByKey(n *physical.LatestByKey) *operator.LatestByKey {
	return &operator.LatestByKey{Keys: n.Keys, Shapes: shapes(n.Schema()), TTL: n.TTL}
}

// latestFragment puts the newest rows of keys behind a hash exchange where there are
// several tasks.
func (b *continuousBuilder) latestFragment(n *physical.LatestByKey, f *exec.Fragment) *exec.Fragment {
	if b.opt.Parallelism > 1 || f.Tasks > 1 {
		f = b.after(b.opt.Parallelism, exec.Input{From: f, Keys: n.Keys})
	}
	anew := b.static > 0
	b.push(f, n, func() exec.Operator {
		o := latestByKey(n)
		if o.Anew = anew; !anew {
			o.Budget = b.budget()
		}
		return o
	})
	return f
}
