package types

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
)

// ParseText adds a row to v, a column of type t, of the value that PostgreSQL's
// input function reads from s; t's modifiers apply as they do on assignment. On
// an error v stays as it was. s is not kept.
func ParseText(t Type, s []byte, v *arrowbatch.Vec, env *Env) error {
	return ParseString(t, view(s), v, env)
}

// ParseString is ParseText for a string.
func ParseString(t Type, s string, v *arrowbatch.Vec, env *Env) error {
	switch t.ID {
	case Bool:
		b, err := ParseBool(s)
		if err != nil {
			return err
		}
		v.AppendBool(b)
	case Int2, Int4, Int8:
		return parseInt(t, s, v)
	case OID, Regclass, Regtype, Regproc, Regnamespace:
		x, err := ParseOID(t, s)
		if err != nil {
			return err
		}
		v.AppendInt64(x)
	case Float4, Float8:
		f, err := ParseFloat(t, s)
		if err != nil {
			return err
		}
		if t.ID == Float4 {
			v.AppendFloat32(float32(f))
		} else {
			v.AppendFloat64(f)
		}
	case Numeric:
		var d decimal.Decimal
		var err error
		if t.Mod > 0 {
			d, err = decimal.ParseFit(s, int(t.Mod), int(t.Scale))
		} else {
			d, err = decimal.Parse(s)
		}
		if err != nil {
			return err
		}
		v.AppendDecimal(d)
	case Date, Time, Timestamp, Timestamptz, Interval:
		return parseTimeType(t, s, v, env)
	case UUID:
		u, err := ParseUUID(s)
		if err != nil {
			return err
		}
		v.AppendUUID(u)
	case Bytea:
		return parseBytea(s, v)
	case JSON:
		return parseJSON(s, v)
	case JSONB:
		return parseJSONB(s, v)
	case Array:
		return parseArray(t, s, v, env)
	case Struct:
		return parseRecord(t, s, v, env)
	default:
		return parseString(t, s, v)
	}
	return nil
}

func parseInt(t Type, s string, v *arrowbatch.Vec) error {
	x, err := ParseInt(t, s)
	if err != nil {
		return err
	}
	switch t.ID {
	case Int2:
		v.AppendInt16(int16(x))
	case Int4:
		v.AppendInt32(int32(x))
	default:
		v.AppendInt64(x)
	}
	return nil
}

func parseTimeType(t Type, s string, v *arrowbatch.Vec, env *Env) error {
	switch t.ID {
	case Date:
		d, err := ParseDate(s, env)
		if err != nil {
			return err
		}
		v.AppendInt32(d)
	case Interval:
		iv, err := ParseInterval(s)
		if err != nil {
			return err
		}
		iv.Micros = RoundMicros(iv.Micros, int(t.Mod))
		v.AppendInterval(iv)
	default:
		us, err := parseMicros(t, s, env)
		if err != nil {
			return err
		}
		v.AppendInt64(RoundTime(t, us))
	}
	return nil
}

func parseMicros(t Type, s string, env *Env) (int64, error) {
	switch t.ID {
	case Time:
		return ParseTime(s, env)
	case Timestamp:
		return ParseTimestamp(s, env)
	}
	return ParseTimestamptz(s, env)
}
