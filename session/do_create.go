package session

import (
	"context"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

// prepareCreate makes the CREATE statements. Their analysis happens when they
// run, as that of all utility statements does in PostgreSQL.
func (s *Session) prepareCreate(in *input, tree sql.Statement) (*statement, error) {
	return s.command(func(ctx context.Context) (string, error) {
		name, kind, ifNotExists := created(tree)
		if err := s.begin().checkWrite("CREATE " + wordOf[kind]); err != nil {
			return "", err
		}
		full, err := s.newName(name)
		if err != nil {
			return "", sqlerr.From(err).At(name.Pos())
		}
		if s.snapshot().Get(full.Schema, full.Name) != nil && ifNotExists {
			s.notice(sqlerr.DuplicateTable, "relation %q already exists, skipping", full.Name)
			return "CREATE " + wordOf[kind], nil
		}
		switch t := tree.(type) {
		case *sql.CreateSource:
			return "CREATE SOURCE", s.createSource(ctx, in, t, full)
		case *sql.CreateTable:
			return s.createTable(ctx, in, t, full)
		case *sql.CreateView:
			if !t.Materialized {
				return "CREATE VIEW", s.createView(in, t, full)
			}
		}
		return "CREATE " + wordOf[kind], s.createQuery(ctx, in, tree)
	}), nil
}

// created tells what a CREATE statement makes.
func created(tree sql.Statement) (name sql.QualifiedName, k catalog.Kind, ifNotExists bool) {
	switch t := tree.(type) {
	case *sql.CreateSource:
		return t.Name, catalog.KindSource, t.IfNotExists
	case *sql.CreateTable:
		return t.Name, catalog.KindTable, t.IfNotExists
	case *sql.CreateView:
		if t.Materialized {
			return t.Name, catalog.KindMaterializedView, t.IfNotExists
		}
		return t.Name, catalog.KindView, t.IfNotExists
	case *sql.CreateSink:
		return t.Name, catalog.KindSink, t.IfNotExists
	case *sql.CreateFlow:
		return t.Name, catalog.KindFlow, t.IfNotExists
	}
	return name, 0, false
}

// newObject starts an object: its name is free in the transaction's view.
func (s *Session) newObject(n catalog.Name, k catalog.Kind, pos int) (*catalog.Object, error) {
	if err := s.begin().catalogTx().Free(n); err != nil {
		return nil, sqlerr.From(err).At(pos)
	}
	id, err := s.srv.Catalog.NewID()
	if err != nil {
		return nil, err
	}
	return &catalog.Object{ID: id, Name: n, Kind: k}, nil
}

// statementSQL is a statement's text for SHOW CREATE, with secrets hidden and without
// what it says of an object that was there before.
func statementSQL(text string, tree sql.Statement) string {
	raw := tree.Extent().Of(text)
	orReplace, savepoint := replaces(tree)
	hide := orReplace || savepoint.Text != ""
	lists := optionLists(tree)
	for _, opts := range lists {
		for i := range *opts {
			opt := &(*opts)[i]
			v, _ := opt.Text()
			hide = hide || catalog.Shown(opt.Name.Text, v) != v || catalog.SecretOption(opt.Name.Text)
		}
	}
	if !hide {
		return raw
	}
	one, err := sql.ParseOne(raw)
	if err != nil {
		return ""
	}
	for _, opts := range optionLists(one) {
		for i := range *opts {
			opt := &(*opts)[i]
			v, _ := opt.Text()
			if shown := catalog.Shown(opt.Name.Text, v); shown != v || catalog.SecretOption(opt.Name.Text) {
				opt.Value = &sql.StringLit{Value: shown}
			}
		}
	}
	forgetOrigin(one)
	return sql.FormatStatement(one)
}

func forgetOrigin(tree sql.Statement) {
	switch t := tree.(type) {
	case *sql.CreateView:
		t.OrReplace, t.Savepoint = false, sql.Name{}
	case *sql.CreateSink:
		t.OrReplace, t.Savepoint = false, sql.Name{}
	case *sql.CreateFlow:
		t.OrReplace, t.Savepoint = false, sql.Name{}
	}
}

// optionLists are the WITH lists of a CREATE statement.
func optionLists(tree sql.Statement) []*[]sql.Option {
	format := func(f *sql.Format) []*[]sql.Option {
		if f == nil {
			return nil
		}
		return []*[]sql.Option{&f.Options, &f.KeyOptions}
	}
	switch t := tree.(type) {
	case *sql.CreateSource:
		return append(format(t.Format), &t.Options)
	case *sql.CreateTable:
		return append(format(t.Format), &t.Options)
	case *sql.CreateSink:
		return append(format(t.Format), &t.Options)
	case *sql.CreateView:
		return []*[]sql.Option{&t.Options}
	case *sql.CreateFlow:
		return []*[]sql.Option{&t.Options}
	}
	return nil
}

// setFormat fills in FORMAT and ENCODE.
func setFormat(o *catalog.Object, f *sql.Format) error {
	if f == nil {
		return nil
	}
	o.Format, o.Encode = strings.ToLower(f.Row), strings.ToLower(f.Encode)
	var err error
	if o.FormatOptions, err = optionMap(f.Options); err != nil {
		return err
	}
	if f.KeyEncode == "" {
		return nil
	}
	keys, err := optionMap(f.KeyOptions)
	if err != nil {
		return err
	}
	o.FormatOptions["key.encode"] = strings.ToLower(f.KeyEncode)
	for n, v := range keys {
		o.FormatOptions["key."+n] = v
	}
	return nil
}

func (s *Session) createSource(_ context.Context, in *input, t *sql.CreateSource, n catalog.Name) error {
	o, err := s.newObject(n, catalog.KindSource, t.Name.Pos())
	if err != nil {
		return err
	}
	o.AppendOnly = true
	if o.Options, err = takeOptions(o.Kind, t.Options, true); err != nil {
		return err
	}
	if o.Options["connector"] == "" {
		return sqlerr.New(sqlerr.InvalidParameterValue, "source %q has no connector", n.Name).
			WithHint("Name one by WITH (connector = '...').")
	}
	if err := setFormat(o, t.Format); err != nil {
		return err
	}
	if err := s.fixedColumns(o, &t.TableDef); err != nil {
		return err
	}
	if err := s.defineTable(in.text, o, &t.TableDef); err != nil {
		return err
	}
	o.SQL = statementSQL(in.text, t)
	o.AppendOnly = !o.Changing()
	if err := s.checkSource(o); err != nil {
		return err
	}
	return s.putTable(in.text, o, &t.TableDef)
}
