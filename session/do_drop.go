package session

import (
	"context"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
)

func (s *Session) prepareDrop(t *sql.Drop) *statement {
	return s.command(func(context.Context) (string, error) {
		kind := kindOf[t.Kind]
		tag := "DROP " + wordOf[kind]
		if err := s.begin().checkWrite(tag); err != nil {
			return "", err
		}
		var ids []catalog.ObjectID
		for _, n := range t.Names {
			o, err := s.resolveKind(t.Kind, n)
			if err != nil {
				return "", err
			}
			if o == nil {
				if !t.IfExists {
					return "", s.missing(kind, n)
				}
				s.notice(sqlerr.SuccessfulCompletion, "%s %q does not exist, skipping", kind, n.Name.Text)
				continue
			}
			ids = append(ids, o.ID)
		}
		if len(ids) == 0 {
			return tag, nil
		}
		also, err := s.tx.catalogTx().Drop(ids, t.Cascade)
		if err != nil {
			return "", err
		}
		s.tellCascade(also)
		return tag, nil
	})
}

// tellCascade is PostgreSQL's notice of what CASCADE took along.
func (s *Session) tellCascade(also []*catalog.Object) {
	if len(also) == 0 {
		return
	}
	lines := make([]string, len(also))
	for i, o := range also {
		lines[i] = "drop cascades to " + o.Kind.String() + " " + o.Name.String()
	}
	n := &pgwire.Notice{Code: sqlerr.SuccessfulCompletion, Message: lines[0]}
	if len(also) > 1 {
		n.Message = "drop cascades to " + itoa(int64(len(also))) + " other objects"
		n.Detail = strings.Join(lines, "\n")
	}
	s.client.Notice(n)
}

func (s *Session) prepareTruncate(t *sql.Truncate) *statement {
	return s.command(func(ctx context.Context) (string, error) {
		if err := s.begin().checkWrite("TRUNCATE TABLE"); err != nil {
			return "", err
		}
		if t.RestartIdentity {
			return "", sqlerr.Unsupported("RESTART IDENTITY is not supported: there are no identity columns").At(t.Start)
		}
		for _, n := range t.Tables {
			o, err := s.resolve(n)
			if err != nil {
				return "", err
			}
			if err := writable(o, OpDelete); err != nil {
				return "", sqlerr.From(err).At(n.Pos())
			}
			w, err := s.newWriter(o)
			if err == nil {
				err = w.truncate(ctx)
			}
			if err != nil {
				return "", err
			}
		}
		return "TRUNCATE TABLE", nil
	})
}
