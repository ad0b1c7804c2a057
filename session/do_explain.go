package session

import (
	"context"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// explainOptions reads the options of EXPLAIN. Those of PostgreSQL that tell
// about costs, buffers and times have nothing to hide here and are taken.
func explainOptions(opts []sql.Option) (o ExplainOptions, analyze bool, err error) {
	o.Format = "text"
	for i := range opts {
		opt := &opts[i]
		value, given := opt.Text()
		on := true
		if given && opt.Name.Text != "format" {
			if on, given = parseBool(value); !given {
				return o, false, sqlerr.New(sqlerr.SyntaxError, "%s requires a Boolean value", opt.Name.Text).At(opt.Name.Pos)
			}
		}
		switch opt.Name.Text {
		case "analyze":
			analyze = on
		case "verbose":
			o.Verbose = on
		case "format":
			if o.Format = strings.ToLower(value); o.Format != "text" && o.Format != "json" {
				return o, false, sqlerr.New(sqlerr.InvalidParameterValue,
					"unrecognized value for EXPLAIN option \"format\": %q", value).
					At(opt.Name.Pos).WithHint("Formats are text and json.")
			}
		case "costs", "buffers", "timing", "summary", "settings", "wal":
		default:
			e := sqlerr.New(sqlerr.SyntaxError, "unrecognized EXPLAIN option %q", opt.Name.Text).At(opt.Name.Pos)
			e.Hint = sqlerr.Suggest(opt.Name.Text, []string{"analyze", "verbose", "format"})
			return o, false, e
		}
	}
	return o, analyze, nil
}

func (s *Session) prepareExplain(in *input, t *sql.Explain) (*statement, error) {
	o, analyze, err := explainOptions(t.Options)
	if err != nil {
		return nil, err
	}
	cols := textColumns("QUERY PLAN")
	if o.Format == "json" {
		cols[0].Type = types.TJSON
	}
	params, explain, err := s.explainer(in, t.Stmt)
	if err != nil {
		return nil, err
	}
	st := &statement{s: s, cols: cols, params: params}
	st.start = func(_ context.Context, args *arrowbatch.Batch) (run, error) {
		return &listing{tag: "EXPLAIN", do: func(ctx context.Context) (*arrowbatch.Batch, error) {
			lines, err := explain(ctx, o, analyze, args)
			if err != nil {
				return nil, err
			}
			return textRows(cols, lines), nil
		}}, nil
	}
	return st, nil
}

func textRows(cols []pgwire.Column, lines []string) *arrowbatch.Batch {
	b := arrowbatch.NewLike(shapes(cols))
	for _, l := range lines {
		b.Cols[0].AppendString(l)
		b.AppendOp(arrowbatch.Insert)
	}
	return b
}

type explainFunc func(ctx context.Context, o ExplainOptions, analyze bool, args *arrowbatch.Batch) ([]string, error)

// explainer plans what is explained and returns the function that prints it.
func (s *Session) explainer(in *input, tree sql.Statement) ([]types.Type, explainFunc, error) {
	switch t := tree.(type) {
	case *sql.QueryStmt:
		return s.explainQuery(in, t.Query)
	case *sql.Subscribe:
		q, err := s.subscribed(t)
		if err != nil {
			return nil, nil, err
		}
		return s.explainQuery(in, q)
	case *sql.Insert, *sql.Update, *sql.Delete:
		plan, err := s.srv.Planner.Write(s.planInput(in.text, in.params), t)
		if err != nil {
			return nil, nil, err
		}
		return plan.Source.Params, noAnalyze(plan.Explain), nil
	case *sql.CreateView, *sql.CreateSink, *sql.CreateFlow:
		if v, ok := t.(*sql.CreateView); ok && !v.Materialized {
			return s.explainQuery(in, v.Query)
		}
		d, err := s.defined(in.ctx, in.text, t)
		if err != nil {
			return nil, nil, err
		}
		if d.Assessment != nil {
			d.Tell(d.Plan, d.o.Layout != 0 && d.o.Layout == d.o.Origin.Change)
			return nil, noAnalyze(func(o ExplainOptions) ([]string, error) { return explainPlan(d.Plan, o) }), nil
		}
		return nil, noAnalyze(d.plan.Explain), nil
	case *sql.CreateTable:
		if t.As != nil {
			return s.explainQuery(in, t.As)
		}
	case *sql.Execute:
		inner, err := s.named(t.Name)
		if err != nil {
			return nil, nil, err
		}
		_, explain, err := s.explainer(&input{ctx: in.ctx, text: inner.text, params: inner.params}, inner.tree)
		if err != nil {
			return nil, nil, err
		}
		return in.params, func(ctx context.Context, o ExplainOptions, analyze bool,
			args *arrowbatch.Batch,
		) ([]string, error) {
			var vals *arrowbatch.Batch
			if len(t.Args) > 0 {
				if vals, err = s.constants(ctx, in.text, t.Args, inner.params, in.params, args); err != nil {
					return nil, err
				}
				defer vals.Release()
			}
			return explain(ctx, o, analyze, vals)
		}, nil
	}
	return nil, nil, sqlerr.New(sqlerr.SyntaxErrorOrRule, "this statement has no plan to explain").At(tree.Extent().Start)
}

func (s *Session) explainQuery(in *input, q *sql.Query) ([]types.Type, explainFunc, error) {
	plan, err := s.srv.Planner.Query(s.planInput(in.text, in.params), q)
	if err != nil {
		return nil, nil, err
	}
	return plan.Params, func(ctx context.Context, o ExplainOptions, analyze bool,
		args *arrowbatch.Batch,
	) ([]string, error) {
		if analyze {
			if err := s.populated(ctx, plan.Reads); err != nil {
				return nil, err
			}
			env, _ := s.execEnv(plan, args)
			figures, err := s.srv.Executor.Analyze(ctx, plan, env)
			if err != nil {
				return nil, err
			}
			o.Analysis = figures
		}
		return plan.Explain(o)
	}, nil
}

func noAnalyze(explain func(ExplainOptions) ([]string, error)) explainFunc {
	return func(_ context.Context, o ExplainOptions, analyze bool, _ *arrowbatch.Batch) ([]string, error) {
		if analyze {
			return nil, sqlerr.Unsupported("EXPLAIN ANALYZE runs queries only").
				WithHint("Figures of a running query are in streamsql.operators.")
		}
		return explain(o)
	}
}
