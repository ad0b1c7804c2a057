package build

import (
	"math"

	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
)

// groupTopN puts the first rows of groups behind a hash exchange where there are
// several tasks; without groups they are in one task.
func (b *continuousBuilder) groupTopN(n *physical.GroupTopN, f *exec.Fragment) *exec.Fragment {
	if b.opt.Parallelism > 1 || f.Tasks > 1 {
		tasks := max(b.opt.Parallelism, 1)
		if len(n.PartitionBy) == 0 {
			tasks = 1
		}
		f = b.after(tasks, exec.Input{From: f, Keys: n.PartitionBy, Timed: timed(n.Input[0])})
	}
	in := n.Input[0]
	b.push(f, n, func() exec.Operator {
		return &operator.GroupTopN{PartitionBy: n.PartitionBy, OrderBy: sortKeys(n.OrderBy),
			Func: operator.RankFunc(n.Func), From: n.From, To: n.To, Rank: n.Rank, Shapes: shapes(in.Schema()),
			CloseCol: n.CloseBy, CloseLag: n.CloseLag, FinalOnly: n.FinalOnly, AppendOnly: in.Props().AppendOnly,
			TTL: n.TTL, Budget: b.budget()}
	})
	return f
}

// standingLimit counts the rows of all tasks in one.
func (b *continuousBuilder) standingLimit(n *physical.Limit, f *exec.Fragment) (*exec.Fragment, error) {
	count := func(e expr.Expr, none int64) (int64, error) {
		if e == nil {
			return none, nil
		}
		v, ok := expr.AsConst(e)
		if !ok || len(v.I64) == 0 {
			return 0, sqlerr.Internal("a number of rows that is no constant")
		}
		if v.IsNull(0) {
			return none, nil
		}
		return v.I64[0], nil
	}
	limit, err := count(n.Limit, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	offset, err := count(n.Offset, 0)
	if err != nil {
		return nil, err
	}
	f = b.single(f, n.Input[0])
	b.push(f, n, func() exec.Operator { return &operator.StandingLimit{Limit: limit, Offset: offset} })
	return f, nil
}
