package expr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

const benchRows = 4096

// benchBatch has columns i4, j4 (integer), i8, j8 (bigint), f, g (double
// precision), t (text), j (jsonb), ts (timestamptz), n (numeric) and q8, a
// bigint with NULLs.
func benchBatch() (*arrowbatch.Batch, map[string]Expr) {
	rng := rand.New(rand.NewPCG(3, 4))
	in := &arrowbatch.Batch{Len: benchRows}
	cols := map[string]Expr{}
	add := func(name string, t types.Type, fill func(v *arrowbatch.Vec)) {
		v := arrowbatch.NewVec(t.Shape(), 0)
		for range benchRows {
			fill(v)
		}
		cols[name] = NewColumn(len(in.Cols), name, t)
		in.Cols = append(in.Cols, v)
	}
	int4 := func(v *arrowbatch.Vec) { v.AppendInt32(rng.Int32N(1000)) }
	int8 := func(v *arrowbatch.Vec) { v.AppendInt64(rng.Int64N(1000)) }
	float := func(v *arrowbatch.Vec) { v.AppendFloat64(rng.Float64()) }
	add("i4", types.TInt4, int4)
	add("j4", types.TInt4, int4)
	add("i8", types.TInt8, int8)
	add("j8", types.TInt8, int8)
	add("f", types.TFloat8, float)
	add("g", types.TFloat8, float)
	add("t", types.TText, func(v *arrowbatch.Vec) { v.AppendString(fmt.Sprint("channel-", rng.IntN(100), "/items")) })
	add("j", types.TJSONB, func(v *arrowbatch.Vec) {
		v.AppendString(fmt.Sprintf(`{"a": %d, "name": "item %d", "tags": ["x", "y"], "price": %d}`,
			rng.IntN(10), rng.IntN(1000), rng.IntN(1000)))
	})
	add("ts", types.TTimestamptz, func(v *arrowbatch.Vec) { v.AppendInt64(1700000000000000 + rng.Int64N(1e12)) })
	add("q8", types.TInt8, func(v *arrowbatch.Vec) {
		if rng.IntN(10) == 0 {
			v.AppendNull()
		} else {
			v.AppendInt64(rng.Int64N(1000))
		}
	})
	num, _ := parseExpr("12.50", nil)
	add("n", types.TNumeric, func(v *arrowbatch.Vec) { v.AppendFrom(num.(*constant).v, 0) })
	return in, cols
}

func BenchmarkEval(b *testing.B) {
	in, cols := benchBatch()
	for _, src := range []string{"i8 + j8", "i8 + 1", "q8 + i8", "i4 * 3", "i8 * j8", "i8 / 7", "f + g", "f * 2.5::float8",
		"i8 > 500", "i8 < j8", "q8 = 5", "f > 0.5", "t = 'channel-7/items'", "t like '%-7%'", "t like 'channel-7%'",
		"t ~ '7.*s$'", "i8 > 100 and j8 < 900", "i8 in (1,2,3,4,5)", "t in ('a','b','channel-7/items')",
		"case when i8 > 500 then j8 else 0 end", "coalesce(q8, 0)", "i4::bigint", "i4::text", "upper(t)",
		"split_part(t, '/', 1)", "j ->> 'name'", "(j ->> 'price')::int", "date_trunc('minute', ts)",
		"ts - interval '5 seconds'", "n * 0.908", "n + n", "length(t)", "t || 'x'"} {
		e, err := parseExpr(src, cols)
		if err != nil {
			b.Fatal(src, err)
		}
		b.Run(src, func(b *testing.B) {
			b.ReportAllocs()
			ctx := &Ctx{}
			for b.Loop() {
				e.Eval(ctx, in, nil).Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	in, cols := benchBatch()
	for _, src := range []string{"i8 > 500", "i8 > 500 and j8 < 100", "i8 = 5 and t like '%7%'", "q8 is not null",
		"t = 'channel-7/items'"} {
		e, err := parseExpr(src, cols)
		if err != nil {
			b.Fatal(src, err)
		}
		b.Run(src, func(b *testing.B) {
			b.ReportAllocs()
			ctx := &Ctx{}
			var dst []int32
			for b.Loop() {
				dst = Filter(ctx, e, in, nil, dst[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}
