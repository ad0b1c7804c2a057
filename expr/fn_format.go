package expr

import (
	"time"

	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// dateFormat returns the parsed format of argument k; the last one is kept.
func (f *frame) dateFormat(k, i int) *scalar.DateFormat {
	s := f.str(k, i)
	if f.dfmt == nil || f.fmtText != s {
		f.fmtText = string([]byte(s))
		f.dfmt = scalar.ParseDateFormat(f.fmtText)
	}
	return f.dfmt
}

// numberFormat is dateFormat for numbers.
func (f *frame) numberFormat(k, i int) (*scalar.NumberFormat, error) {
	s := f.str(k, i)
	if f.nfmt == nil || f.fmtText != s {
		text := string([]byte(s))
		n, err := scalar.ParseNumberFormat(text)
		if err != nil {
			return nil, err
		}
		f.nfmt, f.fmtText = n, text
	}
	return f.nfmt, nil
}

// addFormats adds to_char, to_date, to_timestamp and to_number.
func addFormats(t *table) {
	timeFormats(t)
	numberFormats(t)
	t.fn("to_date", "text,text:date", "date read by a format", func(f *frame, i int) error {
		p, err := f.dateFormat(1, i).Parse(f.str(0, i))
		if err == nil && (p.Days < int64(types.MinDate) || p.Days > int64(types.MaxDate)) {
			err = errDateRange
		}
		f.out.I32[i] = int32(p.Days)
		return err
	})
	t.fn("to_timestamp", "text,text:timestamptz", "time read by a format", func(f *frame, i int) error {
		p, err := f.dateFormat(1, i).Parse(f.str(0, i))
		if err != nil {
			return err
		}
		if p.Days < types.MinTime/types.MicrosPerDay || p.Days >= types.MaxTime/types.MicrosPerDay {
			return errTimestampRange
		}
		us := p.Days*types.MicrosPerDay + p.Micros
		if p.Zoned {
			return f.setI64(i, us-int64(p.Off)*types.MicrosPerSecond)
		}
		us, err = fromLocal(us, f.ctx.zone())
		return f.setErr(i, us, err)
	}, stable)
}

func timeFormats(t *table) {
	const desc = "time as text by a format"
	t.fn("to_char", "timestamp,text:text", desc, func(f *frame, i int) (err error) {
		us := f.i64(0, i)
		if !types.IsFiniteTime(us) || f.str(1, i) == "" {
			f.null(i)
			return nil
		}
		f.out.Data, err = f.dateFormat(1, i).AppendDateTime(f.out.Data, us, false, "", 0)
		return err
	}, stable)
	t.fn("to_char", "timestamptz,text:text", desc, func(f *frame, i int) (err error) {
		us := f.i64(0, i)
		if !types.IsFiniteTime(us) || f.str(1, i) == "" {
			f.null(i)
			return nil
		}
		z := f.ctx.zone()
		sec, _ := types.SplitTime(us)
		name, off := time.Unix(sec*86400+(us-sec*types.MicrosPerDay)/types.MicrosPerSecond, 0).In(z).Zone()
		local := us + int64(off)*types.MicrosPerSecond
		f.out.Data, err = f.dateFormat(1, i).AppendDateTime(f.out.Data, local, true, name, off)
		return err
	}, stable)
	t.fn("to_char", "interval,text:text", desc, func(f *frame, i int) (err error) {
		if f.str(1, i) == "" {
			f.null(i)
			return nil
		}
		f.out.Data, err = f.dateFormat(1, i).AppendInterval(f.out.Data, f.ivl(0, i))
		return err
	}, stable)
}

func numberFormats(t *table) {
	const desc = "number as text by a format"
	number := func(typ string, get func(f *frame, i int) decimal.Decimal) {
		t.fn("to_char", typ+",text:text", desc, func(f *frame, i int) error {
			n, err := f.numberFormat(1, i)
			if err != nil {
				return err
			}
			f.out.Data, err = n.AppendDecimal(f.out.Data, get(f, i))
			return err
		}, stable)
	}
	number("int4", func(f *frame, i int) decimal.Decimal { return decimal.FromInt64(int64(f.i32(0, i))) })
	number("int8", func(f *frame, i int) decimal.Decimal { return decimal.FromInt64(f.i64(0, i)) })
	number("numeric", func(f *frame, i int) decimal.Decimal { return f.dec(0, i) })
	float := func(typ string, digits int, get func(f *frame, i int) float64) {
		t.fn("to_char", typ+",text:text", desc, func(f *frame, i int) error {
			n, err := f.numberFormat(1, i)
			if err != nil {
				return err
			}
			f.out.Data, err = n.AppendFloat(f.out.Data, get(f, i), digits)
			return err
		}, stable)
	}
	float("float8", 15, func(f *frame, i int) float64 { return f.f64(0, i) })
	float("float4", 6, func(f *frame, i int) float64 { return float64(f.f32(0, i)) })
	t.fn("to_number", "text,text:numeric", "number read by a format", func(f *frame, i int) error {
		if f.str(1, i) == "" {
			f.null(i)
			return nil
		}
		n, err := f.numberFormat(1, i)
		if err != nil {
			return err
		}
		d, err := n.Number(f.str(0, i))
		if err != nil {
			return sqlerr.From(err)
		}
		return f.setDecErr(i, d, nil)
	}, stable)
}
