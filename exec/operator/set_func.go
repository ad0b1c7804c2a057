package operator

import (
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// SetFunc is a call of a function that returns rows. Types are the columns that
// the caller wants: the function's own, or one struct of them.
type SetFunc struct {
	Name  string
	Args  []expr.Expr
	Types []types.Type
}

// rowSeq gives the rows of one call.
type rowSeq interface {
	// next appends up to max rows to cols; fewer than max are the last ones.
	next(cols []*arrowbatch.Vec, max int) (int, error)
}

// opener begins a call with row i of the arguments; nil is a call without rows.
type opener func(c *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error)

// setDef is a function that returns rows.
type setDef struct {
	open opener
	// as is the scalar function whose array holds the rows; "" for none.
	as string
	// onNull: the function is called with NULL arguments; else they give no rows.
	onNull bool
}

func setDefs(name string) (setDef, bool) {
	switch name {
	case "generate_series":
		return setDef{open: openSeries}, true
	case "unnest":
		return setDef{open: openUnnest, onNull: true}, true
	case "generate_subscripts":
		return setDef{open: openSubscripts}, true
	case "_pg_expandarray":
		return setDef{open: openExpand}, true
	case "regexp_split_to_table":
		return setDef{open: openUnnest, as: "regexp_split_to_array"}, true
	case "string_to_table":
		return setDef{open: openUnnest, as: "string_to_array", onNull: true}, true
	case "regexp_matches":
		return setDef{open: openMatches}, true
	case "json_array_elements", "json_array_elements_text", "jsonb_array_elements", "jsonb_array_elements_text":
		return setDef{open: openElements}, true
	case "json_each", "json_each_text", "jsonb_each", "jsonb_each_text":
		return setDef{open: openEach}, true
	case "json_object_keys", "jsonb_object_keys":
		return setDef{open: openKeys}, true
	case "pg_get_keywords":
		return setDef{open: openKeywords}, true
	case "pg_timezone_names":
		return setDef{open: openZones}, true
	case "pg_options_to_table":
		return setDef{open: openOptions}, true
	}
	return setDef{}, false
}

// setCall is a SetFunc made ready to run.
type setCall struct {
	SetFunc
	setDef
	ctx *expr.Ctx
	// record: the wanted column is a struct of the function's columns.
	record bool
	shapes []arrowbatch.Shape
}

func newSetCalls(ctx *expr.Ctx, fs []SetFunc) ([]*setCall, error) {
	out := make([]*setCall, len(fs))
	for k, f := range fs {
		d, ok := setDefs(f.Name)
		if !ok {
			return nil, sqlerr.Unsupported("function %s is not supported", f.Name)
		}
		if d.as != "" {
			e, err := expr.Call(d.as, f.Args)
			if err != nil {
				return nil, err
			}
			f.Args = []expr.Expr{e}
		}
		c := &setCall{SetFunc: f, setDef: d, ctx: ctx}
		c.record = len(f.Types) == 1 && f.Types[0].ID == types.Struct && c.columns() > 1
		for _, t := range f.Types {
			c.shapes = append(c.shapes, t.Shape())
		}
		out[k] = c
	}
	return out, nil
}

// columns is the number of columns that the function itself returns.
func (c *setCall) columns() int {
	switch c.Name {
	case "json_each", "json_each_text", "jsonb_each", "jsonb_each_text", "_pg_expandarray", "pg_options_to_table":
		return 2
	case "pg_get_keywords":
		return 5
	case "pg_timezone_names":
		return 4
	case "unnest":
		return len(c.Args)
	}
	return 1
}

// eval computes the arguments for all rows of b.
func (c *setCall) eval(b *arrowbatch.Batch) []*arrowbatch.Vec {
	out := make([]*arrowbatch.Vec, len(c.Args))
	for i, a := range c.Args {
		out[i] = a.Eval(c.ctx, b, nil)
	}
	return out
}

// renamed puts the function's own name into an error of the function that it
// stands on.
func (c *setCall) renamed(err *sqlerr.Error) *sqlerr.Error {
	if c.as == "" || !strings.HasPrefix(err.Message, c.as+"()") {
		return err
	}
	e := *err
	e.Message = c.Name + strings.TrimPrefix(e.Message, c.as)
	return &e
}

// begin opens the call for row i.
func (c *setCall) begin(args []*arrowbatch.Vec, i int) (rowSeq, error) {
	if !c.onNull {
		for _, a := range args {
			if a.IsNull(i) {
				return nil, nil
			}
		}
	}
	return c.open(c, args, i)
}

// setRun runs calls side by side and collects their rows.
type setRun struct {
	calls []*setCall
	outs  []*arrowbatch.Vec // the columns of all calls
	seqs  []rowSeq
	n     int
}

func newSetRun(calls []*setCall) *setRun {
	r := &setRun{calls: calls, seqs: make([]rowSeq, len(calls))}
	r.reset()
	return r
}

// reset begins new columns.
func (r *setRun) reset() {
	r.outs, r.n = nil, 0
	for _, c := range r.calls {
		for _, s := range c.shapes {
			r.outs = append(r.outs, arrowbatch.NewVec(s, 0))
		}
	}
}

// begin opens all calls for row i of their arguments.
func (r *setRun) begin(args [][]*arrowbatch.Vec, i int) error {
	for k, c := range r.calls {
		var err error
		if r.seqs[k], err = c.begin(args[k], i); err != nil {
			return err
		}
	}
	return nil
}

// step adds up to max rows; fewer than max are the last ones of this row's calls.
func (r *setRun) step(max int) (int, error) {
	longest, at := 0, 0
	got := make([]int, len(r.calls))
	for k, c := range r.calls {
		cols := r.outs[at : at+len(c.shapes)]
		at += len(c.shapes)
		if r.seqs[k] == nil {
			continue
		}
		var n int
		var err error
		if c.record {
			n, err = r.seqs[k].next(cols[0].Kids, max)
			for range n {
				cols[0].EndStruct()
			}
		} else {
			n, err = r.seqs[k].next(cols, max)
		}
		if err != nil {
			return 0, err
		}
		if n < max {
			r.seqs[k] = nil
		}
		got[k] = n
		if n > longest {
			longest = n
		}
	}
	at = 0
	for k, c := range r.calls {
		for _, v := range r.outs[at : at+len(c.shapes)] {
			for range longest - got[k] {
				v.AppendNull()
			}
		}
		at += len(c.shapes)
	}
	r.n += longest
	return longest, nil
}

// cut drops the rows from n on, which an error left half done.
func (r *setRun) cut(n int) {
	keep := make([]int32, n)
	for i := range keep {
		keep[i] = int32(i)
	}
	for k, v := range r.outs {
		r.outs[k] = v.Take(keep)
		v.Release()
	}
	r.n = n
	clear(r.seqs)
}

// release frees the columns.
func (r *setRun) release() {
	for _, v := range r.outs {
		v.Release()
	}
	r.outs = nil
}
