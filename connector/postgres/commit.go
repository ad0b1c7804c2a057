package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Commit writes an epoch and its number in one transaction for each part. It is
// called for an epoch of this run by its coordinator, and for one of an earlier run
// before the first Open.
func (s *sink) Commit(ctx context.Context, e connector.Epoch, parts [][]byte) error {
	var todo []prepared
	for _, raw := range parts {
		var p prepared
		if err := json.Unmarshal(raw, &p); err != nil {
			return sqlerr.Wrap(err, sqlerr.DataCorrupted, "the prepared output of a postgres sink is damaged").AsPermanent()
		}
		todo = append(todo, p)
	}
	if len(todo) == 1 {
		return s.commitPart(ctx, e, &todo[0])
	}
	g, _ := spawn.NewGroup(ctx)
	for i := range todo {
		g.Go(fmt.Sprintf("postgres part %d", todo[i].Part), func(ctx context.Context) error {
			return s.commitPart(ctx, e, &todo[i])
		})
	}
	return g.Wait()
}

func (s *sink) commitPart(ctx context.Context, e connector.Epoch, p *prepared) error {
	err := s.persist(ctx, p.Part, fmt.Sprintf("writing epoch %d to", e), func(c *session) error {
		return s.writeEpoch(ctx, c, e, p)
	})
	if err != nil {
		return err
	}
	return s.spec.Outbox.Remove(p.Part, uint64(e), p.Pieces)
}

// writeEpoch is one try. The row of progress is locked first: whatever an earlier
// session has sent for it comes to its end before.
func (s *sink) writeEpoch(ctx context.Context, c *session, e connector.Epoch, p *prepared) error {
	where := fmt.Sprintf(" WHERE sink = %s AND part = %d", literal(s.spec.Identity), p.Part)
	rows, err := queryLast(ctx, c.pg, begin+"; SELECT epoch FROM "+s.cfg.progress()+where+" FOR UPDATE")
	if err != nil {
		return s.progressError(err)
	}
	if len(rows) == 0 {
		return s.forgotten(e, "It has no row of this sink.")
	}
	at, err := epochIn(rows)
	switch {
	case err != nil:
		return err
	case at == e:
		return run(ctx, c.pg, "ROLLBACK")
	case at > e:
		return s.ahead(e, at)
	case at != p.Prev:
		return s.forgotten(e, fmt.Sprintf("It says epoch %d, and not %d, which was committed last.", at, p.Prev))
	}
	if err := s.writePieces(ctx, c, e, p); err != nil {
		return err
	}
	return s.end(ctx, c, fmt.Sprintf("UPDATE %s SET epoch = %d, changed = now(), name = %s, target = %s", s.cfg.progress(),
		e, literal(s.spec.Name), literal(s.cfg.full()))+where+"; ")
}

// begin begins a transaction, whatever the server's defaults are.
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

// end runs the last statement and commits. The tuples of a direct copy may have been
// taken for values of other types if the table was altered since it was looked at.
func (s *sink) end(ctx context.Context, c *session, last string) error {
	if c.t.direct {
		rows, err := queryLast(ctx, c.pg, last+c.t.check)
		if err != nil {
			return err
		}
		if rows[0][0] != c.t.signature {
			return sqlerr.New(sqlerr.SerializationFailure, `the columns of table "%s" were altered`, s.cfg.full())
		}
	} else if last != "" {
		if err := run(ctx, c.pg, last); err != nil {
			return err
		}
	}
	return run(ctx, c.pg, "COMMIT")
}

// writePieces writes what the outbox has of an epoch.
func (s *sink) writePieces(ctx context.Context, c *session, e connector.Epoch, p *prepared) error {
	n := uint64(0)
	err := s.spec.Outbox.Each(p.Part, uint64(e), func(raw []byte) error {
		piece, err := readPiece(raw)
		if err != nil {
			return err
		}
		n++
		return s.writePiece(ctx, c, piece, n < p.Pieces)
	})
	if err == nil && n != p.Pieces {
		err = sqlerr.New(sqlerr.DataCorrupted, "the outbox has %d of %d pieces of epoch %d", n, p.Pieces, e).AsPermanent()
	}
	return err
}

// writePiece is tryPiece; its error names the row.
func (s *sink) writePiece(ctx context.Context, c *session, p *piece, more bool) error {
	if err := s.tryPiece(ctx, c, p, more); err != nil {
		return s.blame(ctx, c, p, err)
	}
	return nil
}

// writeNow writes a piece at once, in a transaction of its own.
func (s *sink) writeNow(ctx context.Context, part int, p *piece) error {
	return s.persist(ctx, part, "writing to", func(c *session) error {
		if err := run(ctx, c.pg, begin); err != nil {
			return err
		}
		if err := s.writePiece(ctx, c, p, false); err != nil {
			return err
		}
		return s.end(ctx, c, "")
	})
}

// Abort forgets what was kept of epochs that are not in the checkpoint.
func (s *sink) Abort(_ context.Context, after connector.Epoch) error {
	s.after, s.resumed = after, true
	if !s.cfg.exactly {
		return nil
	}
	return s.spec.Outbox.Clear()
}
