package datagen

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/sql/types"
)

// filler adds the values of rows first, first+step, … (n of them) to a column.
type filler func(v *arrowbatch.Vec, first, step, n int64)

// field makes the values of one column.
type field struct {
	col  connector.Column
	seed uint64
	fill filler
	// nulls is the share of NULLs, as a number of 2^32.
	nulls uint64
}

// mix is SplitMix64's output function.
func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// rnd returns 64 random bits for a row of the field; k tells several apart.
func (f *field) rnd(row int64, k uint64) uint64 { return mix(mix(f.seed^uint64(row)) + k) }

// below returns a number from 0 to n-1.
func (f *field) below(row int64, k, n uint64) uint64 {
	hi, _ := bits.Mul64(f.rnd(row, k), n)
	return hi
}

const (
	useNull  = 1 << 62 // rnd's k for the choice of NULL
	useExtra = 1 << 61 // for a second choice in a value
)

func (f *field) make(first, step, n int64) *arrowbatch.Vec {
	v := arrowbatch.NewVec(f.col.Type.Shape(), 0)
	v.Grow(int(n))
	if f.nulls == 0 {
		f.fill(v, first, step, n)
		return v
	}
	for ; n > 0; n-- {
		if f.rnd(first, useNull)>>32 < f.nulls {
			v.AppendNull()
		} else {
			f.fill(v, first, step, 1)
		}
		first += step
	}
	return v
}

// reader reads the options of one column.
type reader struct {
	o    *connector.Options
	col  connector.Column
	f    *field
	step time.Duration // of times, where the option does not say it
}

func (r *reader) name(option string) string {
	return "fields." + strings.ToLower(r.col.Name) + "." + option
}

func newField(o *connector.Options, c connector.Column, seed uint64, step time.Duration) *field {
	f := &field{col: c, seed: mix(seed ^ xxh3.HashString(c.Name))}
	r := &reader{o: o, col: c, f: f, step: step}
	rate := o.Float(r.name("null_rate"), 0)
	switch {
	case rate < 0 || rate > 1:
		o.Fault(`option "%s" must be from 0 to 1`, r.name("null_rate"))
	case rate > 0 && c.NotNull:
		o.Fault(`option "%s": column "%s" is NOT NULL`, r.name("null_rate"), c.Name)
	}
	f.nulls = uint64(rate * (1 << 32))
	switch c.Type.ID {
	case types.Int2:
		r.numbers(1<<15-1, func(v *arrowbatch.Vec, x int64) { v.AppendInt16(int16(x)) })
	case types.Int4:
		r.numbers(1<<31-1, func(v *arrowbatch.Vec, x int64) { v.AppendInt32(int32(x)) })
	case types.Int8:
		r.numbers(1<<63-1, func(v *arrowbatch.Vec, x int64) { v.AppendInt64(x) })
	case types.Float4:
		r.floats(func(v *arrowbatch.Vec, x float64) { v.AppendFloat32(float32(x)) })
	case types.Float8:
		r.floats(func(v *arrowbatch.Vec, x float64) { v.AppendFloat64(x) })
	case types.Numeric:
		r.numerics()
	case types.Timestamp, types.Timestamptz, types.Date:
		r.times()
	case types.Text, types.Varchar, types.Bytea:
		r.texts()
	case types.Bool:
		r.only("random")
		f.fill = each(func(v *arrowbatch.Vec, row int64) { v.AppendBool(f.rnd(row, 0)>>63 == 1) })
	case types.UUID:
		r.only("random")
		f.fill = each(f.uuid)
	default:
		o.Fault(`connector "datagen" cannot make column "%s" of type %s`, c.Name, c.Type)
	}
	return f
}

// each makes a filler of what adds one row.
func each(one func(v *arrowbatch.Vec, row int64)) filler {
	return func(v *arrowbatch.Vec, first, step, n int64) {
		for ; n > 0; n-- {
			one(v, first)
			first += step
		}
	}
}

// only reads the kind where there is one alone.
func (r *reader) only(kind string) { r.o.Enum(r.name("kind"), kind, kind) }

func (r *reader) kind(def string) string { return r.o.Enum(r.name("kind"), def, "random", "sequence") }

// sequence reads start and end of a sequence and returns its value at a row.
func (r *reader) sequence(start, limit int64) func(row int64) int64 {
	lo := r.o.Int(r.name("start"), start, -limit-1, limit)
	hi := r.o.Int(r.name("end"), limit, -limit-1, limit)
	if hi < lo {
		r.o.Fault(`option "%s" is below "%s"`, r.name("end"), r.name("start"))
		return nil
	}
	span := uint64(hi) - uint64(lo) + 1
	return func(row int64) int64 {
		x := uint64(row)
		if span != 0 {
			x %= span
		}
		return int64(uint64(lo) + x)
	}
}

// random reads min and max and returns the value at a row.
func (r *reader) random(limit int64) func(row int64) int64 {
	lo := r.o.Int(r.name("min"), 0, -limit-1, limit)
	hi := r.o.Int(r.name("max"), limit, -limit-1, limit)
	if hi < lo {
		r.o.Fault(`option "%s" is below "%s"`, r.name("max"), r.name("min"))
		return nil
	}
	span, f := uint64(hi)-uint64(lo)+1, r.f
	return func(row int64) int64 {
		if span == 0 {
			return int64(f.rnd(row, 0))
		}
		return int64(uint64(lo) + f.below(row, 0, span))
	}
}

func (r *reader) numbers(limit int64, add func(v *arrowbatch.Vec, x int64)) {
	var value func(row int64) int64
	if r.kind("random") == "sequence" {
		value = r.sequence(0, limit)
	} else {
		value = r.random(limit)
	}
	r.f.fill = each(func(v *arrowbatch.Vec, row int64) { add(v, value(row)) })
}

func (r *reader) floats(add func(v *arrowbatch.Vec, x float64)) {
	if r.kind("random") == "sequence" {
		value := r.sequence(0, 1<<53)
		r.f.fill = each(func(v *arrowbatch.Vec, row int64) { add(v, float64(value(row))) })
		return
	}
	lo, hi := r.o.Float(r.name("min"), 0), r.o.Float(r.name("max"), 1)
	if hi < lo {
		r.o.Fault(`option "%s" is below "%s"`, r.name("max"), r.name("min"))
	}
	f := r.f
	f.fill = each(func(v *arrowbatch.Vec, row int64) {
		u := float64(f.rnd(row, 0)>>11) / (1 << 53)
		add(v, lo+float64(u*(hi-lo)))
	})
}

// numerics makes numbers of the column's scale, 2 without one.
func (r *reader) numerics() {
	scale, digits := 2, 15
	if t := r.col.Type; t.Mod > 0 {
		scale, digits = int(t.Scale), min(int(t.Mod)-int(t.Scale), 15)
	}
	if scale < 0 || scale > 18 || digits < 1 {
		r.o.Fault(`connector "datagen" cannot make column "%s" of type %s`, r.col.Name, r.col.Type)
		return
	}
	limit := int64(1)
	for range min(digits, 18-scale) {
		limit *= 10
	}
	unit := int64(1)
	for range scale {
		unit *= 10
	}
	if r.kind("random") == "sequence" {
		value := r.sequence(0, limit-1)
		r.f.fill = each(func(v *arrowbatch.Vec, row int64) {
			v.AppendDecimal(decimal.New(value(row)*unit, scale))
		})
		return
	}
	lo := r.o.Int(r.name("min"), 0, -limit+1, limit-1)
	hi := r.o.Int(r.name("max"), limit-1, -limit+1, limit-1)
	if hi < lo {
		r.o.Fault(`option "%s" is below "%s"`, r.name("max"), r.name("min"))
		return
	}
	span, f := uint64((hi-lo)*unit)+1, r.f
	f.fill = each(func(v *arrowbatch.Vec, row int64) {
		v.AppendDecimal(decimal.New(lo*unit+int64(f.below(row, 0, span)), scale))
	})
}

// defaultStart is where times begin: 2024-01-01 00:00:00 UTC, in microseconds.
const defaultStart = 1_704_067_200_000_000

const dayMicros = 86_400_000_000

// instant reads a time; ok is false where it is faulty.
func (r *reader) instant(option string, def int64) (us int64, ok bool) {
	text := r.o.String(r.name(option), "")
	if text == "" {
		return def, true
	}
	t := r.col.Type.Base()
	v := arrowbatch.NewVec(t.Shape(), 0)
	defer v.Release()
	if err := types.ParseText(t, []byte(text), v, nil); err != nil {
		r.o.Fault(`invalid value for option "%s": %s`, r.name(option), err)
		return def, false
	}
	if t.ID == types.Date {
		return int64(v.I32[0]) * dayMicros, true
	}
	return v.I64[0], true
}

func (r *reader) times() {
	f := r.f
	add := func(v *arrowbatch.Vec, us int64) { v.AppendInt64(us) }
	step := r.step
	if r.col.Type.ID == types.Date {
		step = 24 * time.Hour
		add = func(v *arrowbatch.Vec, us int64) { v.AppendInt32(int32(floorDiv(us, dayMicros))) }
	}
	if r.kind("sequence") == "sequence" {
		start, _ := r.instant("start", defaultStart)
		ns := uint64(r.o.Duration(r.name("step"), step).Nanoseconds())
		jitter := uint64(r.o.Duration(r.name("jitter"), 0).Microseconds()) + 1
		f.fill = each(func(v *arrowbatch.Vec, row int64) {
			add(v, start+elapsed(row, ns)-int64(f.below(row, 0, jitter)))
		})
		return
	}
	lo, ok1 := r.instant("start", defaultStart)
	hi, ok2 := r.instant("end", lo+365*dayMicros)
	if hi < lo && ok1 && ok2 {
		r.o.Fault(`option "%s" is before "%s"`, r.name("end"), r.name("start"))
		return
	}
	f.fill = each(func(v *arrowbatch.Vec, row int64) { add(v, lo+int64(f.below(row, 0, uint64(hi-lo)+1))) })
}

// elapsed returns row*ns nanoseconds in microseconds, at most a quarter of what
// there is.
func elapsed(row int64, ns uint64) int64 {
	const most = 1 << 61
	hi, lo := bits.Mul64(uint64(row), ns)
	if hi >= 1000 {
		return most
	}
	us, _ := bits.Div64(hi, lo, 1000)
	return int64(min(us, most))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (r *reader) texts() {
	f := r.f
	limit := int64(1 << 20)
	if t := r.col.Type; t.ID == types.Varchar && t.Mod > 0 {
		limit = int64(t.Mod)
	}
	if r.kind("random") == "sequence" {
		prefix := r.o.String(r.name("prefix"), r.col.Name+"-")
		last := int64(math.MaxInt64)
		if room := limit - int64(len(prefix)); room < 1 {
			r.o.Fault(`option "%s" leaves no room for a number in type %s`, r.name("prefix"), r.col.Type)
		} else if room < 19 {
			last = int64(math.Pow10(int(room))) - 1
		}
		value := r.sequence(0, last)
		f.fill = each(func(v *arrowbatch.Vec, row int64) {
			v.Data = strconv.AppendInt(append(v.Data, prefix...), value(row), 10)
			v.EndBytes()
		})
		return
	}
	if words := r.o.String(r.name("values"), ""); words != "" {
		list := strings.Split(words, ",")
		f.fill = each(func(v *arrowbatch.Vec, row int64) {
			v.AppendString(list[f.below(row, 0, uint64(len(list)))])
		})
		return
	}
	length := uint64(r.o.Int(r.name("length"), min(16, limit), 0, limit))
	f.fill = each(func(v *arrowbatch.Vec, row int64) {
		for i := uint64(0); i < length; i += 8 {
			w := f.rnd(row, i)
			for range min(8, length-i) {
				v.Data = append(v.Data, 'a'+byte((w&0xff)*26>>8))
				w >>= 8
			}
		}
		v.EndBytes()
	})
}

// uuid adds a UUID of version 4.
func (f *field) uuid(v *arrowbatch.Vec, row int64) {
	var u [16]byte
	for i, w := range []uint64{f.rnd(row, 0), f.rnd(row, useExtra)} {
		for k := range 8 {
			u[i*8+k] = byte(w >> (8 * k))
		}
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	v.AppendUUID(u)
}

// unknown reports options of columns that there are not.
func unknown(o *connector.Options, given map[string]string, cols []connector.Column) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		rest, ok := strings.CutPrefix(name, "fields.")
		if !ok {
			continue
		}
		known := false
		for _, c := range cols {
			known = known || strings.HasPrefix(rest, strings.ToLower(c.Name)+".")
		}
		if !known {
			o.Fault(`option "%s" names no column of the source`, name)
			o.Has(name)
		}
	}
}
