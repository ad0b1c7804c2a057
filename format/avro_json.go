package format

import "github.com/streamsql/streamsql/internal/sqlerr"

// json appends the value at byte i as JSON, for json and jsonb columns.
func (d *avroCodec) json(dst []byte, t *avroType, b []byte, i, depth int) (_ []byte, next int, ok bool) {
	if depth > maxDepth {
		return dst, d.fail(sqlerr.New(sqlerr.StatementTooComplex, "the record is nested deeper than %d levels",
			maxDepth)), false
	}
	switch t.op {
	case avroNull:
		return append(dst, "null"...), i, true
	case avroUnion:
		branch, e := d.long(b, i)
		if e < 0 {
			return dst, -1, false
		}
		if branch < 0 || branch >= int64(len(t.kids)) {
			return dst, d.fail(badBinary("a union of %d branches has no branch %d", len(t.kids), branch)), false
		}
		return d.json(dst, t.kids[branch], b, e, depth+1)
	case avroRecord:
		dst = append(dst, '{')
		for k, kid := range t.kids {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendJSONString(dst, []byte(t.names[k])), ':')
			if dst, i, ok = d.json(dst, kid, b, i, depth+1); !ok {
				return dst, -1, false
			}
		}
		return append(dst, '}'), i, true
	case avroArray, avroMap:
		return d.jsonItems(dst, t, b, i, depth)
	}
	c, _ := t.class()
	var s scalar
	if i = d.scalar(t, symbols(t, nil), c, b, i, &s); i < 0 {
		return dst, -1, false
	}
	if c == classText {
		if err := checkText(s.b); err != nil {
			return dst, d.fail(err), false
		}
	}
	return appendScalarJSON(dst, &s), i, true
}

func (d *avroCodec) jsonItems(dst []byte, t *avroType, b []byte, i, depth int) (_ []byte, next int, ok bool) {
	closing := byte(']')
	if t.op == avroMap {
		dst, closing = append(dst, '{'), '}'
	} else {
		dst = append(dst, '[')
	}
	for first := true; ; {
		count, e := d.block(t.kids[0], b, i)
		if i = e; i < 0 {
			return dst, -1, false
		}
		if count == 0 {
			return append(dst, closing), i, true
		}
		for ; count > 0; count-- {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			if t.op == avroMap {
				var key []byte
				if key, i = d.bytes(b, i); i < 0 {
					return dst, -1, false
				}
				if err := checkText(key); err != nil {
					return dst, d.fail(err), false
				}
				dst = append(AppendJSONString(dst, key), ':')
			}
			if dst, i, ok = d.json(dst, t.kids[0], b, i, depth+1); !ok {
				return dst, -1, false
			}
		}
	}
}
