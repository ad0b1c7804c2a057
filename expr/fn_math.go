package expr

import (
	"math"
	"math/rand/v2"

	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// addMath adds the functions on numbers.
func addMath(t *table) {
	rounding(t)
	powers(t)
	trigonometry(t)
	integerMath(t)
	numericMath(t)
	widthBucket(t)
	t.fn("pi", ":float8", "3.14159…", func(f *frame, i int) error { return f.setF64(i, math.Pi) })
	t.fn("random", ":float8", "a random number from 0 to 1", func(f *frame, i int) error {
		return f.setF64(i, rand.Float64())
	}, volatileF)
}

// float1 adds a function of one float that cannot fail.
func float1(t *table, name, desc string, fn func(float64) float64) {
	t.fn(name, "float8:float8", desc, func(f *frame, i int) error { return f.setF64(i, fn(f.f64(0, i))) })
}

// numeric1 adds a function of one numeric.
func numeric1(t *table, name, desc string, fn func(decimal.Decimal) (decimal.Decimal, error)) {
	t.fn(name, "numeric:numeric", desc, func(f *frame, i int) error {
		d, err := fn(f.dec(0, i))
		return f.setDecErr(i, d, err)
	})
}

func sure(fn func(decimal.Decimal) decimal.Decimal) func(decimal.Decimal) (decimal.Decimal, error) {
	return func(d decimal.Decimal) (decimal.Decimal, error) { return fn(d), nil }
}

func rounding(t *table) {
	for _, name := range []string{"ceil", "ceiling"} {
		float1(t, name, "nearest whole number above", math.Ceil)
		numeric1(t, name, "nearest whole number above", sure(decimal.Decimal.Ceil))
	}
	float1(t, "floor", "nearest whole number below", math.Floor)
	numeric1(t, "floor", "nearest whole number below", sure(decimal.Decimal.Floor))
	float1(t, "round", "nearest whole number", math.RoundToEven)
	float1(t, "trunc", "number without its fraction", math.Trunc)
	numeric1(t, "round", "nearest whole number", func(d decimal.Decimal) (decimal.Decimal, error) { return d.Round(0) })
	numeric1(t, "trunc", "number without its fraction", func(d decimal.Decimal) (decimal.Decimal, error) {
		return d.Trunc(0)
	})
	digits := func(name, desc string, fn func(decimal.Decimal, int) (decimal.Decimal, error)) {
		t.fn(name, "numeric,int4:numeric", desc, func(f *frame, i int) error {
			n := min(max(int(f.i32(1, i)), -1000), 1000)
			d := f.dec(0, i)
			if n > d.Scale() { // zeros are added as far as they fit
				n = min(n, decimal.MaxScale)
				for ; n > d.Scale(); n-- {
					if r, err := fn(d, n); err == nil {
						f.setDec(i, r)
						return nil
					}
				}
			}
			d, err := fn(d, n)
			return f.setDecErr(i, d, err)
		})
	}
	digits("round", "number rounded to digits after the point", decimal.Decimal.Round)
	digits("trunc", "number cut to digits after the point", decimal.Decimal.Trunc)
	float1(t, "sign", "-1, 0 or 1", func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return 0
	})
	numeric1(t, "sign", "-1, 0 or 1", sure(func(d decimal.Decimal) decimal.Decimal {
		if d.IsNaN() {
			return d
		}
		return decimal.FromInt64(int64(d.Sign()))
	}))
}

// checkFloat is the error of a float function's result where its argument gave
// no reason for it.
func checkFloat(r float64, infOK, zeroOK bool) error {
	switch {
	case math.IsInf(r, 0) && !infOK:
		return errOverflow
	case r == 0 && !zeroOK:
		return errUnderflow
	}
	return nil
}

func powers(t *table) {
	sqrt := func(f *frame, i int) error {
		x := f.f64(0, i)
		if x < 0 {
			return sqlerr.New(sqlerr.InvalidPowerArgument, "cannot take square root of a negative number")
		}
		return f.setF64(i, math.Sqrt(x))
	}
	t.fn("sqrt", "float8:float8", "square root", sqrt)
	t.op("|/", "float8:float8", sqrt)
	numeric1(t, "sqrt", "square root", scalar.Sqrt)
	cbrt := func(f *frame, i int) error { return f.setF64(i, math.Cbrt(f.f64(0, i))) }
	t.fn("cbrt", "float8:float8", "cube root", cbrt)
	t.op("||/", "float8:float8", cbrt)
	t.fn("exp", "float8:float8", "e to a power", func(f *frame, i int) error {
		x := f.f64(0, i)
		r := math.Exp(x)
		if err := checkFloat(r, math.IsInf(x, 0), math.IsInf(x, -1)); err != nil {
			return err
		}
		return f.setF64(i, r)
	})
	numeric1(t, "exp", "e to a power", scalar.Exp)
	logs := func(name, desc string, fn func(float64) float64) {
		t.fn(name, "float8:float8", desc, func(f *frame, i int) error {
			switch x := f.f64(0, i); {
			case x == 0:
				return sqlerr.New(sqlerr.InvalidLogArgument, "cannot take logarithm of zero")
			case x < 0:
				return sqlerr.New(sqlerr.InvalidLogArgument, "cannot take logarithm of a negative number")
			default:
				return f.setF64(i, fn(x))
			}
		})
	}
	logs("ln", "natural logarithm", math.Log)
	logs("log", "decimal logarithm", math.Log10)
	logs("log10", "decimal logarithm", math.Log10)
	numeric1(t, "ln", "natural logarithm", scalar.Ln)
	ten := decimal.FromInt64(10)
	log10 := func(d decimal.Decimal) (decimal.Decimal, error) { return scalar.Log(ten, d) }
	numeric1(t, "log", "decimal logarithm", log10)
	numeric1(t, "log10", "decimal logarithm", log10)
	t.fn("log", "numeric,numeric:numeric", "logarithm to a base", func(f *frame, i int) error {
		d, err := scalar.Log(f.dec(0, i), f.dec(1, i))
		return f.setDecErr(i, d, err)
	})
	pow := func(f *frame, i int) error {
		r, err := floatPower(f.f64(0, i), f.f64(1, i))
		f.out.F64[i] = r
		return err
	}
	decPow := func(f *frame, i int) error {
		d, err := scalar.Power(f.dec(0, i), f.dec(1, i))
		return f.setDecErr(i, d, err)
	}
	for _, name := range []string{"power", "pow"} {
		t.fn(name, "float8,float8:float8", "number to a power", pow)
		t.fn(name, "numeric,numeric:numeric", "number to a power", decPow)
	}
	t.op("^", "float8,float8:float8", pow)
	t.op("^", "numeric,numeric:numeric", decPow)
}

func floatPower(x, y float64) (float64, error) {
	switch {
	case math.IsNaN(x):
		if y == 0 {
			return 1, nil
		}
		return x, nil
	case math.IsNaN(y):
		if x == 1 {
			return 1, nil
		}
		return y, nil
	case x == 0 && y < 0:
		return 0, sqlerr.New(sqlerr.InvalidPowerArgument, "zero raised to a negative power is undefined")
	case x < 0 && y != math.Floor(y):
		return 0, sqlerr.New(sqlerr.InvalidPowerArgument,
			"a negative number raised to a non-integer power yields a complex result")
	}
	inf := math.IsInf(x, 0) || math.IsInf(y, 0)
	var r float64
	switch {
	case inf || x == 0:
		r = math.Pow(x, y)
	case x < 0: // y is whole
		if r = scalar.Pow(-x, y); math.Mod(y, 2) != 0 {
			r = -r
		}
	default:
		r = scalar.Pow(x, y)
	}
	return r, checkFloat(r, inf, inf || x == 0)
}

func trigonometry(t *table) {
	finite := func(name, desc string, fn func(float64) float64) {
		t.fn(name, "float8:float8", desc, func(f *frame, i int) error {
			x := f.f64(0, i)
			if math.IsInf(x, 0) {
				return errInputRange
			}
			return f.setF64(i, fn(x))
		})
	}
	unit := func(name, desc string, fn func(float64) float64) {
		t.fn(name, "float8:float8", desc, func(f *frame, i int) error {
			x := f.f64(0, i)
			if x < -1 || x > 1 {
				return errInputRange
			}
			return f.setF64(i, fn(x))
		})
	}
	finite("sin", "sine", math.Sin)
	finite("cos", "cosine", math.Cos)
	finite("tan", "tangent", math.Tan)
	finite("cot", "cotangent", func(x float64) float64 { return 1 / math.Tan(x) })
	unit("asin", "inverse sine", math.Asin)
	unit("acos", "inverse cosine", math.Acos)
	float1(t, "atan", "inverse tangent", math.Atan)
	t.fn("atan2", "float8,float8:float8", "inverse tangent of a quotient", func(f *frame, i int) error {
		return f.setF64(i, math.Atan2(f.f64(0, i), f.f64(1, i)))
	})
	float1(t, "sinh", "hyperbolic sine", math.Sinh)
	float1(t, "cosh", "hyperbolic cosine", math.Cosh)
	float1(t, "tanh", "hyperbolic tangent", math.Tanh)
	float1(t, "asinh", "inverse hyperbolic sine", math.Asinh)
	t.fn("acosh", "float8:float8", "inverse hyperbolic cosine", func(f *frame, i int) error {
		if f.f64(0, i) < 1 {
			return errInputRange
		}
		return f.setF64(i, math.Acosh(f.f64(0, i)))
	})
	unit("atanh", "inverse hyperbolic tangent", math.Atanh)
	float1(t, "degrees", "radians as degrees", func(x float64) float64 { return x / (math.Pi / 180) })
	float1(t, "radians", "degrees as radians", func(x float64) float64 { return x * (math.Pi / 180) })
}

var errInputRange = sqlerr.New(sqlerr.NumericValueOutOfRange, "input is out of range")

func gcd64(a, b int64) int64 {
	for b != 0 {
		if b == -1 {
			return 1
		}
		a, b = b, a%b
	}
	return a
}

func integerMath(t *table) {
	both := func(name string, lo int64, get func(*frame, int, int) int64, put func(*frame, int, int64), err error) {
		t.fn("gcd", name+","+name+":"+name, "greatest common divisor", func(f *frame, i int) error {
			g := gcd64(get(f, 0, i), get(f, 1, i))
			if g == lo {
				return err
			}
			put(f, i, max(g, -g))
			return nil
		})
		t.fn("lcm", name+","+name+":"+name, "least common multiple", func(f *frame, i int) error {
			a, b := get(f, 0, i), get(f, 1, i)
			if a == 0 || b == 0 {
				put(f, i, 0)
				return nil
			}
			g := gcd64(a, b)
			q := a / g
			p := q * b
			if p/b != q || p < 0 && -p == p || lo == math.MinInt32 && (p < math.MinInt32 || p > math.MaxInt32) || p == lo {
				return err
			}
			put(f, i, max(p, -p))
			return nil
		})
	}
	both("int4", math.MinInt32, func(f *frame, k, i int) int64 { return int64(f.i32(k, i)) },
		func(f *frame, i int, x int64) { f.out.I32[i] = int32(x) }, errInt4Range)
	both("int8", math.MinInt64, func(f *frame, k, i int) int64 { return f.i64(k, i) },
		func(f *frame, i int, x int64) { f.out.I64[i] = x }, errInt8Range)
	t.fn("factorial", "int8:numeric", "product of the numbers up to one", func(f *frame, i int) error {
		n := f.i64(0, i)
		if n < 0 {
			return sqlerr.New(sqlerr.NumericValueOutOfRange, "factorial of a negative number is undefined")
		}
		d := decimal.One
		for k := int64(2); k <= n; k++ {
			var err error
			if d, err = d.Mul(decimal.FromInt64(k)); err != nil {
				return sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
			}
		}
		return f.setDecErr(i, d, nil)
	})
}

func numericMath(t *table) {
	t.fn("scale", "numeric:int4", "digits after the point", func(f *frame, i int) error {
		if f.dec(0, i).Special() != decimal.Finite {
			f.null(i)
		}
		return f.setI32(i, int32(f.dec(0, i).Scale()))
	})
	t.fn("min_scale", "numeric:int4", "digits after the point that are needed", func(f *frame, i int) error {
		if f.dec(0, i).Special() != decimal.Finite {
			f.null(i)
		}
		return f.setI32(i, int32(f.dec(0, i).MinScale()))
	})
	numeric1(t, "trim_scale", "number without zeros at its end", sure(decimal.Decimal.Normalize))
	pair := func(name, desc string, fn func(a, b decimal.Decimal) (decimal.Decimal, error)) {
		t.fn(name, "numeric,numeric:numeric", desc, func(f *frame, i int) error {
			d, err := fn(f.dec(0, i), f.dec(1, i))
			return f.setDecErr(i, d, err)
		})
	}
	pair("gcd", "greatest common divisor", decGCD)
	pair("lcm", "least common multiple", func(a, b decimal.Decimal) (decimal.Decimal, error) {
		if a.Special() != decimal.Finite || b.Special() != decimal.Finite {
			return decimal.NaN, nil
		}
		scale := max(a.Scale(), b.Scale())
		if a.IsZero() || b.IsZero() {
			return decimal.Zero.Round(scale)
		}
		g, err := decGCD(a, b)
		if err != nil || g.IsNaN() {
			return g, err
		}
		q, err := a.QuoInt(g)
		if err != nil {
			return q, err
		}
		m, err := q.Mul(b)
		if err != nil {
			return m, err
		}
		return m.Abs().Round(scale)
	})
}

func decGCD(a, b decimal.Decimal) (decimal.Decimal, error) {
	if a.Special() != decimal.Finite || b.Special() != decimal.Finite {
		return decimal.NaN, nil
	}
	scale := max(a.Scale(), b.Scale())
	for !b.IsZero() {
		m, err := a.Mod(b)
		if err != nil {
			return m, err
		}
		a, b = b, m
	}
	return a.Abs().Round(scale)
}

func widthBucket(t *table) {
	check := func(count int32, sameBounds, badBounds bool) error {
		switch {
		case count <= 0:
			return sqlerr.New("2201G", "count must be greater than zero")
		case badBounds:
			return sqlerr.New("2201G", "lower and upper bounds must be finite")
		case sameBounds:
			return sqlerr.New("2201G", "lower bound cannot equal upper bound")
		}
		return nil
	}
	const desc = "number of the bucket that holds a number"
	t.fn("width_bucket", "float8,float8,float8,int4:int4", desc, func(f *frame, i int) error {
		x, lo, hi, n := f.f64(0, i), f.f64(1, i), f.f64(2, i), f.i32(3, i)
		if math.IsNaN(x) || math.IsNaN(lo) || math.IsNaN(hi) {
			if n > 0 {
				return sqlerr.New("2201G", "operand, lower bound, and upper bound cannot be NaN")
			}
		}
		if err := check(n, lo == hi, math.IsInf(lo, 0) || math.IsInf(hi, 0)); err != nil {
			return err
		}
		if lo > hi {
			x, lo, hi = -x, -lo, -hi
		}
		switch {
		case x < lo:
			return f.setI32(i, 0)
		case x >= hi:
			if n == math.MaxInt32 {
				return errInt4Range
			}
			return f.setI32(i, n+1)
		}
		return f.setI32(i, int32(float64(n)*((x-lo)/(hi-lo)))+1)
	})
	widthBucketNumeric(t, desc, check)
	t.fn("width_bucket", "anycompatible,anycompatiblearray:int4", desc, bucketOf)
}

func widthBucketNumeric(t *table, desc string, check func(count int32, sameBounds, badBounds bool) error) {
	t.fn("width_bucket", "numeric,numeric,numeric,int4:int4", desc, func(f *frame, i int) error {
		x, lo, hi, n := f.dec(0, i), f.dec(1, i), f.dec(2, i), f.i32(3, i)
		if x.IsNaN() || lo.IsNaN() || hi.IsNaN() {
			return sqlerr.New("2201G", "operand, lower bound, and upper bound cannot be NaN")
		}
		if err := check(n, lo.Cmp(hi) == 0, lo.Special() != decimal.Finite || hi.Special() != decimal.Finite); err != nil {
			return err
		}
		if lo.Cmp(hi) > 0 {
			x, lo, hi = x.Neg(), lo.Neg(), hi.Neg()
		}
		switch {
		case x.Cmp(lo) < 0:
			return f.setI32(i, 0)
		case x.Cmp(hi) >= 0:
			return f.setI32(i, n+1)
		}
		// floor(count * (x - lo) / (hi - lo)) + 1
		num, err := x.Sub(lo)
		if err == nil {
			num, err = num.Mul(decimal.FromInt64(int64(n)))
		}
		den, err2 := hi.Sub(lo)
		if err != nil || err2 != nil {
			return errInt4Range
		}
		q, err := num.QuoInt(den)
		if err != nil {
			return err
		}
		k, _ := q.ToInt64()
		return f.setI32(i, int32(k)+1)
	})
}

// bucketOf finds a value among the lower bounds of buckets.
func bucketOf(f *frame, i int) error {
	elems, lo, hi := f.list(1, i)
	c := f.order(1)
	a := f.args[0]
	first := lo
	for k := lo; k < hi; k++ {
		if elems.IsNull(k) {
			return sqlerr.New(sqlerr.NullValueNotAllowed, "thresholds array must not contain NULLs")
		}
	}
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if c(a.v, a.at(i), elems, m) < 0 {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return f.setI32(i, int32(lo-first))
}

// addMisc adds gen_random_uuid and the counts of NULLs.
func addMisc(t *table) {
	t.fn("gen_random_uuid", ":uuid", "a random uuid", func(f *frame, i int) error {
		u := &f.out.U128[i]
		a, b := rand.Uint64(), rand.Uint64()
		for k := range 8 {
			u[k], u[8+k] = byte(a>>(8*k)), byte(b>>(8*k))
		}
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		return nil
	}, volatileF)
	t.fn("num_nulls", `..."any":int4`, "number of NULLs among the arguments", func(f *frame, i int) error {
		return countNulls(f, i, true)
	}, calledOnNull)
	t.fn("num_nonnulls", `..."any":int4`, "number of arguments that are not NULL", func(f *frame, i int) error {
		return countNulls(f, i, false)
	}, calledOnNull)
}

func countNulls(f *frame, i int, nulls bool) error {
	vals := f.variadic(0, i)
	if vals.null {
		f.null(i)
		return nil
	}
	n := 0
	for k := range vals.n {
		var null bool
		if vals.elems != nil {
			null = vals.elems.IsNull(vals.lo + k)
		} else {
			null = f.isNull(k, i)
		}
		if null == nulls {
			n++
		}
	}
	return f.setI32(i, int32(n))
}
