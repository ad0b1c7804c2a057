package session

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

func (s *Session) prepareShow(t *sql.Show) (*statement, error) {
	name := t.Name.Text
	if name == "all" {
		cols := textColumns("name", "setting", "description")
		return s.list("SHOW", cols, func(_ context.Context, add func(...string)) error {
			for _, v := range s.vars.list() {
				shown, _ := s.vars.lookup(v.Name)
				add(v.Name, shown, v.Description)
			}
			return nil
		}), nil
	}
	column := name
	if i, ok := s.vars.reg.find(name); ok {
		column = s.vars.reg.all[i].name
	} else if _, ok := s.vars.lookup(name); !ok {
		return nil, s.unknownSetting(name)
	}
	return s.list("SHOW", textColumns(column), func(_ context.Context, add func(...string)) error {
		v, ok := s.vars.lookup(name)
		if !ok {
			return s.unknownSetting(name)
		}
		add(v)
		return nil
	}), nil
}

func (s *Session) unknownSetting(name string) *sqlerr.Error {
	e := sqlerr.New(sqlerr.UndefinedObject, "unrecognized configuration parameter %q", name)
	e.Hint = sqlerr.Suggest(name, append(s.vars.reg.names, showWords()...))
	return e
}

// showQueries are the queries behind SHOW things; $filter stands for the WHERE
// clause.
var showQueries = map[string]string{
	"sources": `SELECT s.name, s.connector, concat_ws(' ', s.format, s.encode) AS format, s.watermark_column, s.watermark
		FROM streamsql.sources s $filter ORDER BY s.name`,
	"tables": `SELECT s.name, array_to_string(s.primary_key, ', ') AS primary_key, s.append_only, s.connector
		FROM streamsql.tables s $filter ORDER BY s.name`,
	"views": `SELECT s.name, s.definition FROM streamsql.views s $filter ORDER BY s.name`,
	"materialized views": `SELECT s.name, q.state, q.trigger, q.output_mode, q.rows_in, q.rows_out, q.watermark, q.error
		FROM streamsql.materialized_views s LEFT JOIN streamsql.queries q ON q.id = s.id $filter ORDER BY s.name`,
	"sinks": `SELECT s.name, s.connector, concat_ws(' ', s.format, s.encode) AS format, q.state, q.rows_out, q.error
		FROM streamsql.sinks s LEFT JOIN streamsql.queries q ON q.id = s.id $filter ORDER BY s.name`,
	"flows": `SELECT s.name, s.sink, q.state, q.rows_out, q.error
		FROM streamsql.flows s LEFT JOIN streamsql.queries q ON q.id = s.id $filter ORDER BY s.name`,
	"queries": `SELECT s.name, s.kind, s.state, s.trigger, s.pool, s.epoch, s.rows_in, s.rows_out, s.watermark, s.error
		FROM streamsql.queries s $filter ORDER BY s.name`,
	"pools":     `SELECT s.name, s.queries, s.running FROM streamsql.pools s $filter ORDER BY s.name`,
	"objects":   `SELECT s.name, s.kind FROM streamsql.objects s $filter ORDER BY s.name`,
	"schemas":   `SELECT s.nspname AS name FROM pg_catalog.pg_namespace s $filter ORDER BY s.nspname`,
	"databases": `SELECT s.datname AS name FROM pg_catalog.pg_database s $filter ORDER BY s.datname`,
	"functions": `SELECT DISTINCT s.proname AS name FROM pg_catalog.pg_proc s $filter ORDER BY s.proname`,
}

func showWords() []string {
	out := make([]string, 0, len(showQueries))
	for w := range showQueries {
		out = append(out, w)
	}
	sort.Strings(out)
	return out
}

func (s *Session) prepareShowObjects(t *sql.ShowObjects) (*statement, error) {
	text, ok := showQueries[t.What]
	if !ok {
		e := sqlerr.New(sqlerr.UndefinedObject, "there is nothing called %q to show", t.What)
		e.Hint = sqlerr.Suggest(t.What, showWords())
		return nil, e
	}
	var where []string
	switch t.What {
	case "schemas", "databases", "functions", "pools":
		if t.From.Name.Given() {
			return nil, sqlerr.New(sqlerr.SyntaxError, "SHOW %s takes no FROM", strings.ToUpper(t.What)).At(t.From.Pos())
		}
	default:
		if t.From.Name.Given() {
			where = append(where, "s.schema = "+sql.QuoteLiteral(t.From.Name.Text))
		}
	}
	if t.Like != nil {
		column := map[string]string{"schemas": "s.nspname", "databases": "s.datname", "functions": "s.proname"}[t.What]
		if column == "" {
			column = "s.name"
		}
		where = append(where, column+" LIKE "+sql.QuoteLiteral(t.Like.Value))
	}
	filter := ""
	if where != nil {
		filter = "WHERE " + strings.Join(where, " AND ")
	}
	return s.query(strings.Replace(text, "$filter", filter, 1), "SHOW")
}

// query makes a statement of a query of our own, which reads system relations.
func (s *Session) query(text, tag string) (*statement, error) {
	q, err := sql.ParseQuery(text)
	if err != nil {
		return nil, err
	}
	plan, err := s.srv.Planner.Query(s.planInput(text, nil), q)
	if err != nil {
		// The positions are in a text that the user has not written.
		e := *sqlerr.From(err)
		e.Pos = 0
		return nil, &e
	}
	st := &statement{s: s, params: []types.Type{}, cols: plan.Columns}
	st.start = func(_ context.Context, args *arrowbatch.Batch) (run, error) {
		r, err := s.runQuery(plan, args, tag)
		if err != nil {
			return nil, err
		}
		return &tagged{r, tag}, nil
	}
	return st, nil
}

// tagged is a run whose tag has no count.
type tagged struct {
	run
	tag string
}

// Tag returns the tag.
func (t *tagged) Tag(int64) string { return t.tag }

func (s *Session) prepareShowCreate(t *sql.ShowCreate) (*statement, error) {
	cols := textColumns("name", "create_statement")
	return s.list("SHOW", cols, func(_ context.Context, add func(...string)) error {
		o, err := s.resolveKind(t.Kind, t.Name)
		if err != nil {
			return err
		}
		if o == nil {
			return s.missing(kindOf[t.Kind], t.Name)
		}
		add(o.Name.Name, o.SQL)
		return nil
	}), nil
}

// prepareShowProgress makes SHOW PROGRESS FOR q: the recent epochs, the last one last.
func (s *Session) prepareShowProgress(t *sql.ShowProgress) (*statement, error) {
	o, err := s.target(t.Name)
	if err != nil {
		return nil, err
	}
	return s.query(fmt.Sprintf(`SELECT epoch, at, idle, rows_in, rows_out, input_rows_per_second,
		processed_rows_per_second, duration_ms, watermark, progress
		FROM streamsql.progress WHERE query_id = %d ORDER BY at`, o.ID), "SHOW")
}

func (s *Session) prepareShowColumns(t *sql.ShowColumns) (*statement, error) {
	cols := []pgwire.Column{{Name: "column", Type: types.TText}, {Name: "type", Type: types.TText},
		{Name: "nullable", Type: types.TBool}, {Name: "key", Type: types.TBool}, {Name: "extra", Type: types.TText}}
	st := &statement{s: s, cols: cols}
	st.start = func(context.Context, *arrowbatch.Batch) (run, error) {
		return &listing{tag: "SHOW", do: func(context.Context) (*arrowbatch.Batch, error) {
			o, err := s.resolve(t.Name)
			if err != nil {
				return nil, err
			}
			return columnRows(o, cols), nil
		}}, nil
	}
	return st, nil
}

func columnRows(o *catalog.Object, cols []pgwire.Column) *arrowbatch.Batch {
	b := arrowbatch.NewLike(shapes(cols))
	key := map[int]bool{}
	for _, k := range o.Key {
		key[k] = true
	}
	for i, c := range o.Columns {
		if c.Hidden {
			continue
		}
		b.Cols[0].AppendString(c.Name)
		b.Cols[1].AppendString(c.Type.String())
		b.Cols[2].AppendBool(!c.NotNull)
		b.Cols[3].AppendBool(key[i])
		b.Cols[4].AppendString(extra(o, c))
		b.AppendOp(arrowbatch.Insert)
	}
	return b
}

// extra tells what there is to a column besides its type.
func extra(o *catalog.Object, c catalog.Column) string {
	var parts []string
	if c.Default != "" {
		parts = append(parts, "default "+c.Default)
	}
	if c.Generated != "" {
		parts = append(parts, "generated as "+c.Generated)
	}
	if c.Meta != "" {
		parts = append(parts, "record "+c.Meta)
	}
	if o.Watermark != nil && o.Watermark.Column == c.Name {
		parts = append(parts, "watermark "+o.Watermark.Expr)
	}
	return strings.Join(parts, ", ")
}
