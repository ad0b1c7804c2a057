package session

import (
	"context"
	"maps"
	"slices"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

func (s *Session) prepareAlter(_ *input, tree sql.Statement) *statement {
	return s.command(func(context.Context) (string, error) {
		switch t := tree.(type) {
		case *sql.AlterSet:
			return s.alterSet(t)
		case *sql.AlterRename:
			return s.alterRename(t)
		case *sql.Comment:
			return s.comment(t)
		}
		return "", sqlerr.Internal("not an ALTER statement")
	})
}

// alterTarget finds the object of an ALTER; nil with IF EXISTS if there is none.
func (s *Session) alterTarget(k sql.ObjectKind, n sql.QualifiedName, ifExists bool) (*catalog.Object, error) {
	if err := s.begin().checkWrite("ALTER " + k.String()); err != nil {
		return nil, err
	}
	o, err := s.resolveKind(k, n)
	if err != nil {
		e := sqlerr.From(err)
		if e.Code == sqlerr.WrongObjectType {
			e.Hint = ""
		}
		return nil, e
	}
	if o == nil && ifExists {
		s.notice(sqlerr.SuccessfulCompletion, "%s %q does not exist, skipping", kindOf[k], n.Name.Text)
		return nil, nil
	}
	if o == nil {
		return nil, s.missing(kindOf[k], n)
	}
	return o, nil
}

func (s *Session) alterSet(t *sql.AlterSet) (string, error) {
	tag := "ALTER " + t.Kind.String()
	o, err := s.alterTarget(t.Kind, t.Name, t.IfExists)
	if err != nil || o == nil {
		return tag, err
	}
	next := *o
	if next.Options = maps.Clone(o.Options); next.Options == nil {
		next.Options = map[string]string{}
	}
	inner := false // an option of the connector is among them
	for i := range t.Options {
		opt := &t.Options[i]
		def, err := s.alterable(o, opt.Name)
		if err != nil {
			return "", err
		}
		inner = inner || def.check == nil
		if t.Reset {
			delete(next.Options, opt.Name.Text)
			continue
		}
		text, ok := opt.Text()
		if !ok {
			return "", sqlerr.New(sqlerr.InvalidParameterValue, "option %q needs a value", opt.Name.Text).At(opt.Name.Pos)
		}
		if def.check == nil {
			next.Options[opt.Name.Text] = text
			continue
		}
		if next.Options[opt.Name.Text], err = checkOption(opt.Name, def, text); err != nil {
			return "", err
		}
	}
	if inner {
		if err := s.checkSource(&next); err != nil {
			return "", err
		}
	}
	next.SQL = withOptions(o, next.Options)
	return tag, s.tx.catalogTx().Replace(&next)
}

// alterable tells whether an option can be changed on a living object. One without a
// check is a source's connector's.
func (s *Session) alterable(o *catalog.Object, n sql.Name) (queryOption, error) {
	var inner []string
	if o.Kind == catalog.KindSource || o.Kind == catalog.KindTable {
		inner = s.srv.Connectors[o.Options["connector"]].Alterable
	}
	if slices.Contains(inner, n.Text) {
		return queryOption{}, nil
	}
	def, known := queryOptions[n.Text]
	known = known && slices.Contains(def.of, o.Kind)
	_, given := o.Options[n.Text]
	switch {
	case def.altersOf(o.Kind):
		return def, nil
	case known || given:
		return def, sqlerr.Unsupported("option %q of %s %q cannot be changed", n.Text, o.Kind, o.Name).At(n.Pos).
			WithHint("DROP the %s and CREATE it with the new value.", o.Kind)
	}
	names := slices.Clone(inner)
	for name, d := range queryOptions {
		if d.altersOf(o.Kind) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return def, unknownOption(n, names)
}

// withOptions is the statement that makes o with the engine's options as given.
func withOptions(o *catalog.Object, options map[string]string) string {
	tree, err := sql.ParseOne(o.SQL)
	if err != nil {
		return o.SQL
	}
	lists := optionLists(tree)
	if len(lists) == 0 {
		return o.SQL
	}
	with := lists[len(lists)-1]
	kept := (*with)[:0]
	for _, opt := range *with {
		if v, still := options[opt.Name.Text]; still {
			if text, ok := opt.Text(); !ok || text != v {
				opt.Value = &sql.StringLit{Value: v}
			}
			kept = append(kept, opt)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(options)) {
		if !slices.ContainsFunc(kept, func(x sql.Option) bool { return x.Name.Text == n }) {
			kept = append(kept, sql.Option{Name: sql.Name{Text: n}, Value: &sql.StringLit{Value: options[n]}})
		}
	}
	*with = kept
	return sql.FormatStatement(tree)
}

func (s *Session) alterRename(t *sql.AlterRename) (string, error) {
	tag := "ALTER " + t.Kind.String()
	o, err := s.alterTarget(t.Kind, t.Name, t.IfExists)
	if err != nil || o == nil {
		return tag, err
	}
	// Definitions are kept as text, in which the old name stands.
	if deps := s.snapshot().Dependents(o.ID); len(deps) > 0 {
		return "", sqlerr.New(sqlerr.DependentObjects, "cannot rename %s %s because other objects depend on it",
			o.Kind, o.Name).
			WithDetail("%s %s depends on %s %s", deps[0].Kind, deps[0].Name, o.Kind, o.Name)
	}
	cat := s.tx.catalogTx()
	renamed, err := cat.Rename(o.ID, t.NewName.Text)
	if err != nil {
		return "", sqlerr.From(err).At(t.NewName.Pos)
	}
	next := *renamed
	next.SQL = renamedSQL(o.SQL, t.NewName.Text)
	return tag, cat.Replace(&next)
}

// renamedSQL is a CREATE statement with another name.
func renamedSQL(text, name string) string {
	tree, err := sql.ParseOne(text)
	if err != nil {
		return text
	}
	var n *sql.QualifiedName
	switch t := tree.(type) {
	case *sql.CreateSource:
		n = &t.Name
	case *sql.CreateTable:
		n = &t.Name
	case *sql.CreateView:
		n = &t.Name
	case *sql.CreateSink:
		n = &t.Name
	case *sql.CreateFlow:
		n = &t.Name
	default:
		return text
	}
	n.Name.Text = name
	return sql.FormatStatement(tree)
}

func (s *Session) comment(t *sql.Comment) (string, error) {
	text := ""
	if t.Text != nil {
		text = *t.Text
	}
	if t.Kind != sql.KindColumn {
		o, err := s.alterTarget(t.Kind, t.Name, false)
		if err != nil {
			return "", err
		}
		next := *o
		next.Comment = text
		return "COMMENT", s.tx.catalogTx().Replace(&next)
	}
	o, err := s.resolve(t.Name)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(o.Columns, func(c catalog.Column) bool { return c.Name == t.Column.Text && !c.Hidden })
	if i < 0 || o.Kind == catalog.KindSystem {
		return "", sqlerr.New(sqlerr.UndefinedColumn, "column %q of relation %q does not exist", t.Column.Text, o.Name.Name).
			At(t.Column.Pos)
	}
	next := *o
	next.Columns = slices.Clone(o.Columns)
	next.Columns[i].Comment = text
	return "COMMENT", s.begin().catalogTx().Replace(&next)
}
