package pgwire

import (
	"fmt"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Format codes of parameters and results.
const (
	formatText   = 0
	formatBinary = 1
)

// decodeParams makes a batch of one row of a Bind message's parameters, one for
// each type; nil without parameters.
func decodeParams(ts []types.Type, m *pgproto3.Bind, env *types.Env) (*arrowbatch.Batch, error) {
	vals, codes, portal := m.Parameters, m.ParameterFormatCodes, m.DestinationPortal
	if len(codes) > 1 && len(codes) != len(vals) {
		return nil, protocolError("bind message has %d parameter formats but %d parameters", len(codes), len(vals))
	}
	for _, code := range codes {
		if code != formatText && code != formatBinary {
			return nil, unsupportedFormat(code)
		}
	}
	if len(ts) == 0 {
		return nil, nil
	}
	b := &arrowbatch.Batch{Len: 1, Cols: make([]*arrowbatch.Vec, 0, len(ts))}
	for i, t := range ts {
		if t.ID == types.Unknown {
			t = types.TText
		}
		v := arrowbatch.NewVec(t.Shape(), 0)
		b.Cols = append(b.Cols, v)
		if err := decodeParam(t, vals[i], codeAt(codes, i), v, env); err != nil {
			b.Release()
			return nil, sqlerr.From(err).WithWhere("%s", paramContext(portal, i+1))
		}
	}
	return b, nil
}

// paramContext words where an error was, as PostgreSQL does.
func paramContext(portal string, n int) string {
	if portal == "" {
		return fmt.Sprintf("unnamed portal parameter $%d", n)
	}
	return fmt.Sprintf("portal %q parameter $%d", portal, n)
}

func decodeParam(t types.Type, val []byte, code int16, v *arrowbatch.Vec, env *types.Env) error {
	switch {
	case val == nil:
		v.AppendNull()
		return nil
	case code == formatBinary:
		return types.ParseBinary(t, val, v)
	}
	if err := checkUTF8(val); err != nil {
		return err
	}
	return types.ParseText(t, val, v, env)
}

// codeAt is the format code of item i.
func codeAt(codes []int16, i int) int16 {
	switch len(codes) {
	case 0:
		return formatText
	case 1:
		return codes[0]
	}
	return codes[i]
}

// resultFormats checks the result format codes of a Bind message for n columns
// and returns a copy.
func resultFormats(codes []int16, n int) ([]int16, error) {
	if len(codes) > 1 && len(codes) != n {
		return nil, protocolError("bind message has %d result formats but query has %d columns", len(codes), n)
	}
	for _, code := range codes {
		if code != formatText && code != formatBinary {
			return nil, unsupportedFormat(code)
		}
	}
	return append([]int16(nil), codes...), nil
}

func unsupportedFormat(code int16) error {
	return sqlerr.New(sqlerr.InvalidParameterValue, "unsupported format code: %d", code)
}
