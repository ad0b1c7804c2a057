package postgres

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Factory returns the maker of sinks; there is no source.
func Factory() connector.Factory {
	return connector.Factory{Sink: newSink, CheckSink: checkSink}
}

// checkSink checks the options and, where the columns are known, the table.
func checkSink(ctx context.Context, s *connector.Spec) error {
	c, err := read(s)
	if err != nil {
		return err
	}
	if !c.upsert && !s.AppendOnly {
		return sqlerr.Unsupported(`sink "%s" has rows that are changed and deleted, which FORMAT PLAIN cannot say`, s.Name).
			WithHint("Use FORMAT UPSERT, or output_mode = 'append'.").AsPermanent()
	}
	if len(s.Columns) == 0 { // of a sink for flows, which check again
		return nil
	}
	if c.upsert {
		if _, err := c.keyColumns(s); err != nil {
			return err
		}
	}
	err = c.look(ctx, s)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		return nil
	}
	own := sqlerr.From(c.explain(err, `checking table "`+c.full()+`"`))
	if own.Code == sqlerr.ConnectionFailure && own.Hint == "" {
		own.Hint = "The table is looked at when the sink is created: the server must be there."
	}
	return own
}

// look checks the table in a transaction that leaves nothing.
func (c *config) look(ctx context.Context, s *connector.Spec) error {
	pg, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(pg)
	if err := run(ctx, pg, "BEGIN READ WRITE"); err != nil {
		return err
	}
	if c.create {
		there, err := c.exists(ctx, pg)
		if err != nil {
			return err
		}
		if !there {
			if err := c.createMissing(ctx, pg, s); err != nil {
				return err
			}
		}
	}
	if _, err := c.inspect(ctx, pg, s); err != nil {
		return err
	}
	if c.exactly {
		return c.checkProgress(ctx, pg)
	}
	return nil
}

// createMissing makes the table.
func (c *config) createMissing(ctx context.Context, pg *pgconn.PgConn, s *connector.Spec) error {
	rows, err := query(ctx, pg, "SELECT pg_catalog.current_setting('server_version_num')")
	if err != nil {
		return err
	}
	version, _ := strconv.Atoi(rows[0][0]) // of a server that we connected to
	text, err := c.createTable(s, version)
	if err != nil {
		return err
	}
	return c.refused(create(ctx, pg, text), `table "`+c.full()+`" cannot be created`)
}

// create runs CREATE TABLE IF NOT EXISTS, which fails where another session makes the
// same table: the next try finds it.
func create(ctx context.Context, pg *pgconn.PgConn, text string) error {
	err := run(ctx, pg, text)
	var e *pgconn.PgError
	if errors.As(err, &e) && (e.Code == "23505" || e.Code == "42P07") {
		return sqlerr.New(sqlerr.SerializationFailure, "the table was created at the same time: %s", e.Message)
	}
	return err
}

// session is a connection of one part with what it knows of the table.
type session struct {
	pg   *pgconn.PgConn
	t    *target
	used bool // something was written: the table may have been altered since
}

// sink writes one table.
type sink struct {
	spec *connector.Spec
	cfg  *config
	away *connector.Away

	// Set by Abort: the epoch that this run goes on from.
	after   connector.Epoch
	resumed bool

	mu       sync.Mutex
	sessions map[int]*session // by part, each used by one goroutine at a time
}

func newSink(_ context.Context, s *connector.Spec) (connector.Sink, error) {
	c, err := read(s)
	if err != nil {
		return nil, err
	}
	if c.exactly && (s.Outbox == nil || s.Identity == "") {
		return nil, sqlerr.Internal("postgres: a sink without an outbox cannot write exactly once")
	}
	return &sink{spec: s, cfg: c, away: connector.NewAway(s.Report), sessions: map[int]*session{}}, nil
}

// Open waits for the server, makes the table where the options say so, and returns
// a writer.
func (s *sink) Open(ctx context.Context, part int) (connector.Writer, error) {
	var w *writer
	err := s.persist(ctx, part, "opening", func(c *session) error {
		w = s.newWriter(part, c.t)
		if !s.cfg.exactly {
			return nil
		}
		at, err := s.register(ctx, c.pg, part)
		if err != nil {
			return err
		}
		if s.resumed && at > s.after {
			return s.ahead(s.after, at)
		}
		w.prev = at
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// persist runs fn on the part's session, again with a new one until the server is
// there and does it. fn must not mind being repeated.
func (s *sink) persist(ctx context.Context, part int, doing string, fn func(*session) error) error {
	doing += ` table "` + s.cfg.full() + `"`
	return s.away.Persist(ctx, part, func() error {
		for {
			c, err := s.session(ctx, part)
			if err != nil {
				return err
			}
			old := c.used
			c.used = true
			if err = fn(c); err == nil {
				return nil
			}
			s.drop(part)
			if !old || ctx.Err() != nil {
				return err
			}
			// An old session may have been cut off while it was idle, and the table altered.
		}
	}, func(err error) error { return s.cfg.explain(err, doing) })
}

// session returns the part's session, a new one if it has none.
func (s *sink) session(ctx context.Context, part int) (*session, error) {
	s.mu.Lock()
	c := s.sessions[part]
	s.mu.Unlock()
	if c != nil && !c.pg.IsClosed() {
		return c, nil
	}
	pg, err := s.cfg.connect(ctx)
	if err != nil {
		return nil, err
	}
	c = &session{pg: pg}
	if err = s.ready(ctx, pg); err == nil {
		c.t, err = s.cfg.inspect(ctx, pg, s.spec)
	}
	if err != nil {
		hangUp(pg)
		return nil, err
	}
	s.mu.Lock()
	s.sessions[part] = c
	s.mu.Unlock()
	return c, nil
}

// ready makes the table if the options say so and nothing was ever written to it.
func (s *sink) ready(ctx context.Context, pg *pgconn.PgConn) error {
	if !s.cfg.create || s.resumed && s.after > 0 {
		return nil
	}
	there, err := s.cfg.exists(ctx, pg)
	if err != nil || there {
		return err
	}
	return s.cfg.createMissing(ctx, pg, s.spec)
}

// drop ends the part's session.
func (s *sink) drop(part int) {
	s.mu.Lock()
	c := s.sessions[part]
	delete(s.sessions, part)
	s.mu.Unlock()
	if c != nil {
		hangUp(c.pg)
	}
}

// Close ends the sessions; the writers must have been closed.
func (s *sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part, c := range s.sessions {
		hangUp(c.pg)
		delete(s.sessions, part)
	}
	return nil
}
