package operator

import (
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

func errZeroStep() error {
	return sqlerr.New(sqlerr.InvalidParameterValue, "step size cannot equal zero")
}

// openSeries is generate_series(start, stop [, step]).
func openSeries(c *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	switch args[0].Layout {
	case arrowbatch.Int32:
		s := intSeries{cur: int64(args[0].I32[i]), stop: int64(args[1].I32[i]), step: 1, narrow: true}
		if len(args) > 2 {
			s.step = int64(args[2].I32[i])
		}
		return s.open()
	case arrowbatch.Decimal:
		step := decimal.FromInt64(1)
		if len(args) > 2 {
			step = args[2].Dec[i]
		}
		return openNumericSeries(args[0].Dec[i], args[1].Dec[i], step)
	}
	if c.Args[0].Type().IsTimestamp() {
		s := &timeSeries{cur: args[0].I64[i], stop: args[1].I64[i], step: args[2].Ivl[i]}
		if c.Args[0].Type().ID == types.Timestamptz && c.ctx.Env != nil {
			s.loc = c.ctx.Env.TimeZone
		}
		s.sign = types.CompareInterval(s.step, arrowbatch.IntervalValue{})
		if s.sign == 0 {
			return nil, errZeroStep()
		}
		return s, nil
	}
	s := intSeries{cur: args[0].I64[i], stop: args[1].I64[i], step: 1}
	if len(args) > 2 {
		s.step = args[2].I64[i]
	}
	return s.open()
}

// intSeries ends at stop, or where the type ends.
type intSeries struct {
	cur, stop, step int64
	narrow, done    bool
}

func (s intSeries) open() (rowSeq, error) {
	if s.step == 0 {
		return nil, errZeroStep()
	}
	return &s, nil
}

func (s *intSeries) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := 0
	for ; n < limit && !s.done; n++ {
		if s.step > 0 && s.cur > s.stop || s.step < 0 && s.cur < s.stop {
			s.done = true
			break
		}
		if s.narrow {
			cols[0].AppendInt32(int32(s.cur))
		} else {
			cols[0].AppendInt64(s.cur)
		}
		was := s.cur
		s.cur += s.step
		s.done = (s.cur > was) != (s.step > 0)
	}
	return n, nil
}

type numericSeries struct {
	cur, stop, step decimal.Decimal
	done            bool
}

func openNumericSeries(start, stop, step decimal.Decimal) (rowSeq, error) {
	for _, x := range []struct {
		name string
		d    decimal.Decimal
	}{{"start value", start}, {"stop value", stop}, {"step size", step}} {
		switch x.d.Special() {
		case decimal.SpecialNaN:
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, "%s cannot be NaN", x.name)
		case decimal.SpecialInf, decimal.SpecialNegInf:
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, "%s cannot be infinity", x.name)
		}
	}
	if step.Sign() == 0 {
		return nil, errZeroStep()
	}
	return &numericSeries{cur: start, stop: stop, step: step}, nil
}

func (s *numericSeries) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := 0
	for ; n < limit && !s.done; n++ {
		if c := s.cur.Cmp(s.stop); c*s.step.Sign() > 0 {
			s.done = true
			break
		}
		cols[0].AppendDecimal(s.cur)
		var err error
		if s.cur, err = s.cur.Add(s.step); err != nil {
			return n, err
		}
	}
	return n, nil
}

type timeSeries struct {
	cur, stop int64
	step      arrowbatch.IntervalValue
	sign      int
	loc       *time.Location // nil: timestamp without time zone
	done      bool
}

func (s *timeSeries) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := 0
	for ; n < limit && !s.done; n++ {
		if s.sign > 0 && s.cur > s.stop || s.sign < 0 && s.cur < s.stop {
			s.done = true
			break
		}
		cols[0].AppendInt64(s.cur)
		var err error
		if s.cur, err = types.AddInterval(s.cur, s.step, s.loc); err != nil {
			return n, err
		}
	}
	return n, nil
}
