package session

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/plan/bind"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

func (s *Session) prepareCopy(in *input, t *sql.Copy) (*statement, error) {
	switch {
	case t.End == sql.CopyProgram:
		return nil, sqlerr.New(sqlerr.InsufficientPrivilege, "COPY to or from a program is not allowed").At(t.Start)
	case t.End == sql.CopyFile:
		return nil, sqlerr.New(sqlerr.InsufficientPrivilege, "COPY to or from a file of the server is not allowed").
			At(t.Start).
			WithHint("Use COPY FROM STDIN or COPY TO STDOUT, or psql's \\copy.")
	case t.Where != nil:
		return nil, sqlerr.Unsupported("COPY ... WHERE is not supported").At(t.Where.Position())
	}
	if t.From {
		return s.prepareCopyFrom(t)
	}
	return s.prepareCopyTo(in, t)
}

// copyColumns are the positions of the columns that a COPY names, or of all
// that are shown.
func copyColumns(o *catalog.Object, names []sql.Name, from bool) ([]int, error) {
	var out []int
	if names == nil {
		for i, c := range o.Columns {
			if !c.Hidden && (!from || c.Generated == "") {
				out = append(out, i)
			}
		}
		return out, nil
	}
	seen := map[string]bool{}
	for _, n := range names {
		k := -1
		for i, c := range o.Columns {
			if c.Name == n.Text && !c.Hidden {
				k = i
			}
		}
		switch {
		case k < 0:
			return nil, sqlerr.New(sqlerr.UndefinedColumn, "column %q of relation %q does not exist",
				n.Text, o.Name.Name).At(n.Pos)
		case seen[n.Text]:
			return nil, sqlerr.New(sqlerr.DuplicateColumn, "column %q specified more than once", n.Text).At(n.Pos)
		case from && o.Columns[k].Generated != "":
			return nil, sqlerr.New(sqlerr.InvalidColumnReference, "column %q is a generated column", n.Text).At(n.Pos).
				WithDetail("Generated columns cannot be used in COPY.")
		}
		seen[n.Text] = true
		out = append(out, k)
	}
	return out, nil
}

func (s *Session) prepareCopyFrom(t *sql.Copy) (*statement, error) {
	o, err := s.resolve(*t.Table)
	if err == nil {
		err = writable(o, OpInsert)
	}
	if err != nil {
		return nil, sqlerr.From(err).At(t.Table.Pos())
	}
	at, err := copyColumns(o, t.Columns, true)
	if err != nil {
		return nil, err
	}
	cols := resultColumns(o, at)
	f, err := copyFormat(t.Options, cols, true)
	if err != nil {
		return nil, err
	}
	rows, err := s.wholeRows(o, at)
	if err != nil {
		return nil, err
	}
	st := &statement{s: s, params: []types.Type{}, depends: true}
	st.traits.CopyIn = &pgwire.CopyFormat{Binary: f.binary, Columns: len(at)}
	st.start = func(context.Context, *arrowbatch.Batch) (run, error) {
		if err := s.begin().checkWrite("COPY FROM"); err != nil {
			return nil, err
		}
		w, err := s.newWriter(o)
		if err != nil {
			return nil, err
		}
		w.ctx = s.evalContext(s.exprSession(), nil)
		c := &copyIn{s: s, w: w, cols: cols, rows: rows, where: "COPY " + o.Name.Name}
		c.parser = newCopyParser(f, cols, s.envAt(s.tx.now))
		c.batch = arrowbatch.NewLike(shapes(cols))
		return c, nil
	}
	return st, nil
}

// wholeRows returns the expressions that make a whole row of the table, with
// defaults and generated columns, of the columns at.
func (s *Session) wholeRows(o *catalog.Object, at []int) ([]expr.Expr, error) {
	ins := &sql.Insert{Table: relationOf(o).Name, Columns: []sql.Name{}}
	nulls := make([]sql.Expr, len(at))
	for i, k := range at {
		ins.Columns = append(ins.Columns, sql.Name{Text: o.Columns[k].Name})
		nulls[i] = &sql.NullLit{}
	}
	if len(at) > 0 {
		ins.Query = &sql.Query{Body: &sql.Values{Rows: [][]sql.Expr{nulls}}}
	}
	change, err := bind.New(&bind.Env{Resolver: s.snapshot(), Settings: s.Env()}).Insert(ins)
	if err != nil {
		return nil, err
	}
	p, ok := change.Source.(*logical.Project)
	if !ok {
		return nil, sqlerr.Internal("the rows of an INSERT are not a projection")
	}
	return p.List, nil
}

// copyBatch is how many rows of a COPY are stored at a time.
const copyBatch = 1024

// copyIn is the run of COPY FROM STDIN.
type copyIn struct {
	s      *Session
	w      *writer
	cols   []pgwire.Column
	rows   []expr.Expr
	parser copyParser
	batch  *arrowbatch.Batch
	where  string
}

// copyPortal is the portal of COPY FROM STDIN.
type copyPortal struct{ *portal }

// WriteCopy takes the next bytes of the stream.
func (p *copyPortal) WriteCopy(ctx context.Context, chunk []byte) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	if n, inside := p.run.(*nested); inside { // EXECUTE of a prepared COPY
		return n.Portal.(*copyPortal).WriteCopy(ctx, chunk)
	}
	return p.run.(*copyIn).write(ctx, chunk)
}

func (c *copyIn) write(ctx context.Context, chunk []byte) error {
	for len(chunk) > 0 {
		n, err := c.parser.parse(chunk, c.batch, copyBatch)
		if err != nil {
			return c.at(err)
		}
		chunk = chunk[n:]
		if c.batch.Len >= copyBatch {
			if err := c.flush(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// at adds the line to an error.
func (c *copyIn) at(err error) error {
	e := *sqlerr.From(err)
	if e.Where == "" {
		e.Where = "line " + itoa(c.parser.line())
	}
	if strings.HasPrefix(e.Where, "line ") {
		e.Where = c.where + ", " + e.Where
	}
	return &e
}

// flush stores the rows read so far.
func (c *copyIn) flush(ctx context.Context) error {
	in := c.batch
	defer in.Release()
	c.batch = arrowbatch.NewLike(shapes(c.cols))
	if in.Len == 0 {
		return nil
	}
	whole, err := evaluate(c.w.ctx, c.rows, in)
	if err != nil {
		return c.at(err)
	}
	if err := c.w.insert(whole); err != nil {
		return c.at(err)
	}
	return ctx.Err()
}

// Next ends the copy: the client has sent everything.
func (c *copyIn) Next(ctx context.Context, _ int) (*arrowbatch.Batch, error) {
	if err := c.parser.finish(c.batch); err != nil {
		return nil, c.at(err)
	}
	if err := c.flush(ctx); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// Tag returns COPY and the number of rows.
func (c *copyIn) Tag(int64) string { return "COPY " + strconv.FormatInt(c.w.count, 10) }

// Close frees what was read and not stored.
func (c *copyIn) Close() error {
	c.batch.Release()
	c.batch = nil
	return nil
}

func (s *Session) prepareCopyTo(in *input, t *sql.Copy) (*statement, error) {
	inner, err := s.copySource(in, t)
	if err != nil {
		return nil, err
	}
	if inner.cols == nil {
		return nil, sqlerr.New(sqlerr.FeatureNotSupported, "COPY query must have a RETURNING clause").At(t.Start)
	}
	f, err := copyFormat(t.Options, inner.cols, false)
	if err != nil {
		return nil, err
	}
	st := &statement{s: s, params: inner.params}
	st.traits.CopyOut = &pgwire.CopyFormat{Binary: f.binary, Columns: len(inner.cols)}
	st.traits.Live = inner.traits.Live
	st.start = func(ctx context.Context, args *arrowbatch.Batch) (run, error) {
		if args != nil {
			args = args.Share()
		}
		p, err := inner.Bind(ctx, args)
		if err != nil {
			return nil, err
		}
		return &copyOut{s: s, from: p, enc: &copyEncoder{f: f, cols: inner.cols, env: s.Env()}}, nil
	}
	return st, nil
}

// copySource analyses what a COPY TO copies.
func (s *Session) copySource(in *input, t *sql.Copy) (*statement, error) {
	if t.Stmt != nil {
		return s.analyse(in.ctx, in.text, t.Stmt, in.params)
	}
	o, err := s.resolve(*t.Table)
	if err != nil {
		return nil, err
	}
	if o.Kind == catalog.KindView || !o.Relation() {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "cannot copy from %s %q", o.Kind, o.Name.Name).At(t.Table.Pos()).
			WithHint("Try the COPY (SELECT ...) TO variant.")
	}
	at, err := copyColumns(o, t.Columns, false)
	if err != nil {
		return nil, err
	}
	sel := &sql.Select{From: []sql.TableRef{relationOf(o)}}
	for _, k := range at {
		sel.Targets = append(sel.Targets, sql.Target{X: &sql.ColumnRef{Parts: []sql.Name{{Text: o.Columns[k].Name}}}})
	}
	return s.analyse(in.ctx, in.text, &sql.QueryStmt{Query: &sql.Query{Body: sel}}, nil)
}

// copyOut is the run of COPY TO STDOUT: each of its rows is one line or tuple.
type copyOut struct {
	s     *Session
	from  pgwire.Portal
	enc   *copyEncoder
	begun bool
	ended bool
	count int64
}

// Next returns the next lines.
func (c *copyOut) Next(ctx context.Context, max int) (*arrowbatch.Batch, error) {
	out := arrowbatch.NewLike([]arrowbatch.Shape{{Layout: arrowbatch.Bytes}})
	line := func(b []byte) {
		if len(b) > 0 {
			out.Cols[0].AppendBytes(b)
			out.AppendOp(arrowbatch.Insert)
		}
	}
	if !c.begun {
		c.begun = true
		line(c.enc.header())
		if out.Len > 0 {
			return out, nil
		}
	}
	if c.ended {
		out.Release()
		return nil, io.EOF
	}
	b, err := c.from.Next(ctx, max)
	if err == io.EOF {
		c.ended = true
		line(c.enc.trailer())
		if out.Len > 0 {
			return out, nil
		}
	}
	if err != nil {
		out.Release()
		return nil, err
	}
	defer b.Release()
	var buf []byte
	for i := range b.Len {
		buf = c.enc.row(buf[:0], b, i)
		line(buf)
	}
	c.count += int64(b.Len)
	return out, nil
}

// Tag returns COPY and the number of rows.
func (c *copyOut) Tag(int64) string { return "COPY " + strconv.FormatInt(c.count, 10) }

// Close ends what is copied.
func (c *copyOut) Close() error { return c.from.Close() }

// copyOptions are the options of COPY.
type copyOptions struct {
	format       string // text, csv, binary
	binary       bool
	delimiter    byte
	null         string
	header       bool
	match        bool // HEADER MATCH
	quote        byte
	escape       byte
	forceQuote   []bool
	forceNull    []bool
	forceNotNull []bool
}

func copyFormat(opts []sql.Option, cols []pgwire.Column, from bool) (*copyOptions, error) {
	c := &copyOptions{format: "text", delimiter: '\t', null: `\N`, quote: '"',
		forceQuote: make([]bool, len(cols)), forceNull: make([]bool, len(cols)), forceNotNull: make([]bool, len(cols))}
	given := map[string]string{}
	for i := range opts {
		o := &opts[i]
		text, ok := o.Text()
		if !ok && o.Value == nil {
			text = "true"
		}
		if err := c.option(o, strings.ToLower(o.Name.Text), text, cols, given); err != nil {
			return nil, sqlerr.From(err).At(o.Name.Pos)
		}
	}
	return c, c.check(given, from)
}

func (c *copyOptions) option(o *sql.Option, name, text string, cols []pgwire.Column, given map[string]string) error {
	if _, twice := given[name]; twice {
		return sqlerr.New(sqlerr.SyntaxError, "conflicting or redundant options")
	}
	given[name] = text
	switch name {
	case "format":
		c.format = strings.ToLower(text)
	case "csv", "binary": // the spellings before PostgreSQL 9.0
		c.format = name
	case "delimiter", "quote", "escape", "null":
	case "header":
		if strings.EqualFold(text, "match") {
			c.header, c.match = true, true
			return nil
		}
		on, ok := parseBool(text)
		if !ok {
			return sqlerr.New(sqlerr.SyntaxError, "header requires a Boolean value or \"match\"")
		}
		c.header = on
	case "encoding":
		if _, err := checkEncoding(text); err != nil {
			return err
		}
	case "force_quote":
		return forced(o, cols, c.forceQuote)
	case "force_null":
		return forced(o, cols, c.forceNull)
	case "force_not_null":
		return forced(o, cols, c.forceNotNull)
	case "freeze":
		return sqlerr.Unsupported("COPY option \"freeze\" is not supported")
	default:
		e := sqlerr.New(sqlerr.SyntaxError, "option %q not recognized", name)
		e.Hint = sqlerr.Suggest(name, []string{"format", "delimiter", "null", "header", "quote", "escape", "encoding",
			"force_quote", "force_null", "force_not_null"})
		return e
	}
	return nil
}

// forced marks the columns that a FORCE_… option names; * is all.
func forced(o *sql.Option, cols []pgwire.Column, marks []bool) error {
	var names []string
	switch v := o.Value.(type) {
	case *sql.Star:
		for i := range marks {
			marks[i] = true
		}
		return nil
	case *sql.Row:
		for _, x := range v.Fields {
			n, err := literal(x)
			if err != nil {
				return err
			}
			names = append(names, n)
		}
	default:
		n, ok := o.Text()
		if !ok {
			return sqlerr.New(sqlerr.SyntaxError, "argument to option %q must be a list of column names", o.Name.Text)
		}
		names = []string{n}
	}
	for _, n := range names {
		found := false
		for i, c := range cols {
			if c.Name == n {
				marks[i], found = true, true
			}
		}
		if !found {
			return sqlerr.New(sqlerr.InvalidColumnReference, "%s column %q not referenced by COPY",
				strings.ToUpper(o.Name.Text), n)
		}
	}
	return nil
}

// check reads the options that depend on the format.
func (c *copyOptions) check(given map[string]string, from bool) error {
	c.binary = c.format == "binary"
	csv := c.format == "csv"
	switch {
	case c.format != "text" && !csv && !c.binary:
		return sqlerr.New(sqlerr.InvalidParameterValue, "COPY format %q not recognized", c.format)
	case csv:
		c.delimiter, c.null = ',', ""
	}
	one := func(name, what string, to *byte) error {
		v, ok := given[name]
		if !ok {
			return nil
		}
		if len(v) != 1 {
			return sqlerr.New(sqlerr.FeatureNotSupported, "COPY %s must be a single one-byte character", what)
		}
		*to = v[0]
		return nil
	}
	if err := one("delimiter", "delimiter", &c.delimiter); err != nil {
		return err
	}
	if err := one("quote", "quote", &c.quote); err != nil {
		return err
	}
	c.escape = c.quote
	if err := one("escape", "escape", &c.escape); err != nil {
		return err
	}
	if v, ok := given["null"]; ok {
		c.null = v
	}
	return c.consistent(given, csv, from)
}

func (c *copyOptions) consistent(given map[string]string, csv, from bool) error {
	has := func(name string) bool { _, ok := given[name]; return ok }
	for _, n := range []string{"delimiter", "null", "header"} {
		if c.binary && has(n) && (n != "header" || c.header) {
			return sqlerr.New(sqlerr.SyntaxError, "cannot specify %s in BINARY mode", strings.ToUpper(n))
		}
	}
	for _, n := range []string{"quote", "escape", "force_quote", "force_null", "force_not_null"} {
		if !csv && has(n) {
			return sqlerr.New(sqlerr.FeatureNotSupported, "COPY %s available only in CSV mode", strings.ReplaceAll(n, "_", " "))
		}
	}
	switch {
	case strings.ContainsAny(string(c.delimiter), "\r\n"):
		return sqlerr.New(sqlerr.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(c.null, "\r\n"):
		return sqlerr.New(sqlerr.InvalidParameterValue, "COPY null representation cannot use newline or carriage return")
	case !csv && strings.IndexByte("\\.abcdefghijklmnopqrstuvwxyz0123456789", c.delimiter) >= 0:
		return sqlerr.New(sqlerr.InvalidParameterValue, "COPY delimiter cannot be %q", string(c.delimiter))
	case csv && c.delimiter == c.quote:
		return sqlerr.New(sqlerr.InvalidParameterValue, "COPY delimiter and quote must be different")
	case strings.IndexByte(c.null, c.delimiter) >= 0 && !c.binary:
		return sqlerr.New(sqlerr.InvalidParameterValue, "COPY delimiter character must not appear in the NULL specification")
	case has("force_quote") && from:
		return sqlerr.New(sqlerr.FeatureNotSupported, "COPY force quote only available using COPY TO")
	case (has("force_null") || has("force_not_null")) && !from:
		return sqlerr.New(sqlerr.FeatureNotSupported, "COPY force null only available using COPY FROM")
	case c.match && !from:
		return sqlerr.New(sqlerr.FeatureNotSupported, "cannot use \"match\" with HEADER in COPY TO")
	}
	return nil
}
