package format

import (
	"math"

	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// value reads the value at byte i into row row of the node's column and returns
// the place behind it, or -1. A null leaves the row to lag (invariant F4).
func (d *jsonCodec) value(n *node, b []byte, i, row int) int {
	if i < len(b) && isSpace(b[i]) {
		i = skipSpace(b, i)
	}
	if i >= len(b) {
		return d.cut()
	}
	if b[i] == 'n' {
		if n.v.N > row {
			n.truncate(row)
		}
		return d.literal(b, i, "null")
	}
	if n.v.N != row {
		n.place(row)
	}
	switch n.kind {
	case kindText:
		if b[i] != '"' {
			break
		}
		if e, flags := scanString(b, i+1); e > 0 && flags == 0 {
			n.v.AppendBytes(b[i+1 : e])
			return e + 1
		} else if e > 0 {
			return d.textValue(n, b, i+1, e, flags)
		}
	case kindInt8:
		if x, e := scanDigits(b, i); e > 0 {
			n.v.AppendInt64(x)
			return e
		}
	case kindTimestamp, kindTimestamptz:
		if e := d.timestamp(n, b, i); e != 0 {
			return e
		}
	case kindStruct:
		return d.structValue(n, b, i, row)
	case kindList:
		if b[i] == '[' {
			return d.list(n, b, i+1)
		}
	case kindWire:
		return d.wired(n, b, i, row)
	default:
		if e := d.rarer(n, b, i); e != 0 {
			return e
		}
	}
	return d.input(n, b, i)
}

// timestamp reads the usual form of a time; 0: the input function must do it.
func (d *jsonCodec) timestamp(n *node, b []byte, i int) int {
	if b[i] != '"' {
		return 0
	}
	s := b[i+1:]
	us, e := d.date.parseTime(s)
	if e == 0 || e >= len(s) {
		return 0
	}
	if s[e] != '"' {
		zone := e
		for e < len(s) && e-zone < 7 && s[e] != '"' {
			e++
		}
		if e == len(s) || s[e] != '"' || !utc(s[zone:e]) {
			return 0
		}
	} else if n.kind == kindTimestamptz && !d.utc {
		return 0
	}
	if n.t.Mod != 0 {
		us = types.RoundTime(n.t, us)
	}
	n.v.AppendInt64(us)
	return i + 1 + e + 1
}

// rarer is value for the less frequent kinds; 0: the input function must do it.
func (d *jsonCodec) rarer(n *node, b []byte, i int) int {
	switch n.kind {
	case kindInt4:
		if x, e := scanDigits(b, i); e > 0 && x == int64(int32(x)) {
			n.v.AppendInt32(int32(x))
			return e
		}
	case kindInt2:
		if x, e := scanDigits(b, i); e > 0 && x == int64(int16(x)) {
			n.v.AppendInt16(int16(x))
			return e
		}
	case kindFloat8:
		if p, e := scanDecimal(b, i); e > 0 && p.coef < 1<<53 && p.scale <= 22 {
			f := float64(p.coef) / pow10[p.scale] // both exact: rounded once
			if p.neg {
				f = math.Copysign(f, -1)
			}
			n.v.AppendFloat64(f)
			return e
		}
	case kindNumeric:
		if p, e := scanDecimal(b, i); e > 0 {
			x := int64(p.coef)
			if p.neg {
				x = -x
			}
			n.v.AppendDecimal(decimal.New(x, p.scale))
			return e
		}
	case kindBool:
		switch b[i] {
		case 't':
			e := d.literal(b, i, "true")
			if e > 0 {
				n.v.AppendBool(true)
			}
			return e
		case 'f':
			e := d.literal(b, i, "false")
			if e > 0 {
				n.v.AppendBool(false)
			}
			return e
		}
	case kindDate:
		if b[i] == '"' && i+12 <= len(b) && b[i+11] == '"' {
			if day, ok := d.date.parse(b[i+1:]); ok {
				n.v.AppendInt32(int32(day))
				return i + 12
			}
		}
	case kindJSON, kindJSONB:
		return d.jsonValue(n, b, i)
	}
	return 0
}

var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// textValue reads a string that is not plain ASCII.
func (d *jsonCodec) textValue(n *node, b []byte, i, e int, flags strFlags) int {
	s, ok := d.text(b, i, e, flags)
	if !ok {
		return -1
	}
	n.v.AppendBytes(s)
	return e + 1
}

func (d *jsonCodec) structValue(n *node, b []byte, i, row int) int {
	if b[i] != '{' {
		return d.mismatch(n, b, i)
	}
	if i = d.object(n.obj, b, i+1, row); i > 0 {
		n.v.EndStruct()
	}
	return i
}

func (d *jsonCodec) list(n *node, b []byte, i int) int {
	elem := n.kids[0]
	row := elem.v.N
	for k := 0; ; k++ {
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ']' {
			i++
			break
		}
		if k > 0 {
			if i >= len(b) || b[i] != ',' {
				return d.unexpected(b, i, `"," or "]"`)
			}
			i++
		}
		if i = d.value(elem, b, i, row+k); i < 0 {
			return -1
		}
		fillNull(elem.v, row+k+1)
	}
	n.v.EndList()
	return i
}

// jsonValue takes over the JSON text as it stands, or in jsonb's own form.
func (d *jsonCodec) jsonValue(n *node, b []byte, i int) int {
	e := d.skip(b, i, 0)
	if e < 0 {
		return -1
	}
	if n.kind == kindJSON {
		n.v.AppendBytes(b[i:e])
		return e
	}
	return d.parse(n, b[i:e], e)
}

// input reads a value by its type's input syntax: a string's text, or the JSON
// text of anything else.
func (d *jsonCodec) input(n *node, b []byte, i int) int {
	if b[i] == '"' {
		e, flags := scanString(b, i+1)
		if e < 0 {
			return d.badString(flags)
		}
		s, ok := d.text(b, i+1, e, flags)
		if !ok {
			return -1
		}
		return d.parse(n, s, e+1)
	}
	e := d.skip(b, i, 0)
	if e < 0 {
		return -1
	}
	if n.kind == kindTimestamp || n.kind == kindTimestamptz {
		if c := b[i]; c == '-' || c-'0' <= 9 {
			return d.epochValue(n, b, i, e)
		}
	}
	return d.parse(n, b[i:e], e)
}

// parse hands the text s of a value that ends at e to the type's input function.
func (d *jsonCodec) parse(n *node, s []byte, e int) int {
	if n.kind == kindList {
		n.kids[0].finish(n.kids[0].v.N) // structs in it may lag
	}
	if err := types.ParseText(n.t, s, n.v, d.opts.Env); err != nil {
		return d.fail(sqlerr.From(err))
	}
	return e
}

func (d *jsonCodec) mismatch(n *node, b []byte, i int) int {
	if d.skip(b, i, 0) < 0 {
		return -1
	}
	return d.fail(sqlerr.New(sqlerr.InvalidTextRepresentation,
		`invalid input syntax for type %s: "%s"`, n.t, token(b, i)).
		WithDetail("An object is expected."))
}

// epochValue reads a number as a time, where the option says what it counts.
func (d *jsonCodec) epochValue(n *node, b []byte, i, e int) int {
	if d.epoch < 0 {
		return d.fail(sqlerr.New(sqlerr.InvalidDatetimeFormat,
			`invalid input syntax for type %s: "%s"`, n.t.PGName(), token(b, i)).
			WithDetail("A number is no time by itself.").
			WithHint("Set timestamp_format = 'epoch_ms' (or epoch_s, epoch_us) in the ENCODE options, " +
				"or read a numeric column and generate the time with to_timestamp."))
	}
	us, ok := epochMicros(b[i:e], d.epoch)
	if !ok {
		return d.fail(sqlerr.New(sqlerr.DatetimeFieldOverflow, `timestamp out of range: "%s"`, token(b, i)))
	}
	n.v.AppendInt64(us)
	return e
}
