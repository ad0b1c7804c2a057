package expr

import "github.com/streamsql/streamsql/sql/types"
import "github.com/streamsql/streamsql/internal/sqlerr"

func specialCall(string) func(candidate, []Expr) (Expr, error) { return nil }
func compareJSONB(a, b []byte) int                             { return 0 }
func jsonbConverter(types.Type) converter                      { return converter{} }
func (c *Ctx) lookupReg(t types.Type, s string) (int64, error) {
	return 0, sqlerr.New(sqlerr.UndefinedTable, "relation %q does not exist", s)
}
func (c *Ctx) nameOf(string, uint32) (string, bool) { return "", false }
