package expr

import (
	"fmt"

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
		return "NULL::" + t.String()
	}
	s := string(types.AppendText(nil, t, v, 0, nil))
	switch t.ID {
	case types.Bool:
		if v.Bits.Get(0) {
			return "true"
		}
		return "false"
	case types.Int4, types.Numeric:
		if s[0] == 'N' || s[0] == 'I' {
			break
		}
		if s[0] == '-' {
			return "(" + s + ")"
		}
		return s
	case types.Unknown:
		return quoteLiteral(s)
	}
	return quoteLiteral(s) + "::" + t.String()
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
