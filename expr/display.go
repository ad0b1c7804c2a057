package expr

import (
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// text appends the constant's text.
func (c *constant) text(dst []byte) []byte {
	return types.AppendText(dst, c.typ, c.v, 0, nil)
}

// constString writes a constant as SQL that reads back as the same value.
func constString(t types.Type, v *arrowbatch.Vec) string {
	if v.IsNull(0) {
		if t.ID == types.Unknown {
			return "NULL"
		}
		return "NULL::" + castName(t)
	}
	s := string(types.AppendText(nil, t, v, 0, nil))
	switch t.ID {
	case types.Bool:
		if v.Bits.Get(0) {
			return "true"
		}
		return "false"
	case types.Int4, types.Numeric:
		if t.ID == types.Numeric && !strings.Contains(s, ".") {
			break // without a point it would be an integer
		}
		if s[0] == '-' {
			return "(" + s + ")"
		}
		return s
	case types.Unknown:
		return quoteLiteral(s)
	}
	return quoteLiteral(s) + "::" + castName(t)
}

// castName is the type's name in a cast: character without a length would mean
// one of 1.
func castName(t types.Type) string {
	if t.ID == types.Bpchar && t.Mod == 0 {
		return "bpchar"
	}
	return t.String()
}

func quoteLiteral(s string) string { return string(appendLiteral(nil, s)) }

func (l *logic) shape() string      { return fmt.Sprint("logic ", l.or) }
func (n *not) shape() string        { return "not" }
func (n *isNull) shape() string     { return fmt.Sprint("isnull ", n.negated) }
func (t *isTest) shape() string     { return fmt.Sprint("is ", t.test, t.negated) }
func (d *isDistinct) shape() string { return fmt.Sprint("distinct ", d.negated) }
func (c *caseExpr) shape() string   { return fmt.Sprint("case ", c.operand != nil) }
func (c *caseTest) shape() string   { return "casetest" }
func (c *coalesce) shape() string   { return "coalesce" }
func (n *nullIf) shape() string     { return "nullif" }
func (e *extreme) shape() string    { return fmt.Sprint("extreme ", e.least) }
