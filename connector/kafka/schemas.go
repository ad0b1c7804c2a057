package kafka

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/connector/registry"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// schemas looks up the schemas of a source's records for all its readers, in
// goroutines of their own, so that a registry that is away holds up no Read.
type schemas struct {
	client  *registry.Client
	subject string
	status  *status
	ctx     context.Context
	cancel  context.CancelFunc
	group   sync.WaitGroup

	mu    sync.Mutex
	known map[int32]*lookup
}

// lookup is a schema that is being looked up; the rest is set when done is closed.
type lookup struct {
	done           chan struct{}
	writer, reader *format.Schema
	refused        *sqlerr.Error // the registry does not have it: its records are bad
	err            error         // the registry cannot be asked
}

// subjectOf is the subject of the values of a topic, or of its keys, unless the options
// name one.
func subjectOf(r *connector.SchemaRegistry, topic, of string) string {
	if r.Subject != "" {
		return r.Subject
	}
	return topic + "-" + of
}

func newSchemas(ctx context.Context, r *connector.SchemaRegistry, subject string, st *status) *schemas {
	s := &schemas{client: registry.New(r), subject: subject, status: st, known: map[int32]*lookup{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

func (s *schemas) close() {
	s.cancel()
	s.group.Wait()
	s.client.Close()
}

// find returns the lookup of the schema, which it begins if nobody has.
func (s *schemas) find(id int32) *lookup {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.known[id]
	if l == nil {
		if len(s.known) >= format.MaxSchemas {
			s.known = map[int32]*lookup{} // those in work go on; they are asked for again
		}
		l = &lookup{done: make(chan struct{})}
		s.known[id] = l
		s.group.Add(1)
		spawn.Go("schema lookup", func() error {
			defer s.group.Done()
			defer close(l.done)
			s.run(l, id)
			return nil
		}, nil)
	}
	return l
}

// run asks for the schema of the records and for the subject's newest, which has
// the defaults of fields that older records lack.
func (s *schemas) run(l *lookup, id int32) {
	err := s.status.persist(s.ctx, l, "looking up schema "+strconv.Itoa(int(id)), func() (err error) {
		if l.writer, err = s.client.Schema(s.ctx, id); err != nil {
			return err
		}
		l.reader, err = s.client.Latest(s.ctx, s.subject)
		if sqlerr.CodeOf(err) == sqlerr.UndefinedObject {
			return nil // the records are of another subject's schemas
		}
		return err
	})
	if sqlerr.CodeOf(err) == sqlerr.UndefinedObject {
		l.refused, err = sqlerr.From(err), nil
	}
	l.err = err
}

// learn gives the decoder the schema. done is false while it is not known.
func (r *reader) learn(ctx context.Context, u *format.UnknownSchema) (done bool, err error) {
	known, dec := r.src.schemas, r.dec
	if u.Key {
		known, dec = r.src.keySchemas, r.dec.Keys()
	}
	id := u.ID
	l := known.find(id)
	timeout, stop := clock.System{}.After(idlePoll)
	defer stop()
	select {
	case <-l.done:
	case <-timeout:
		return false, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return false, nil
		}
		return false, ctx.Err()
	}
	switch {
	case l.err != nil:
		return false, l.err
	case l.refused != nil:
		dec.RefuseSchema(id, l.refused)
	default:
		dec.AddSchema(id, l.writer, l.reader)
	}
	return true, nil
}

// decode fills the decoder, looking up schemas as records need them. There are no
// rows while the schema of the next record is not known.
func (r *reader) decode(ctx context.Context, bound int64) error {
	for {
		err := r.fill(bound)
		unknown, ok := err.(*format.UnknownSchema)
		if !ok {
			return err
		}
		if done, err := r.learn(ctx, unknown); !done {
			return err
		}
	}
}

// register makes the schema of the sink's rows known to the registry, waiting for
// one that is away.
func (s *sink) register(ctx context.Context, e *format.Encoder) error {
	r := s.cfg.format.Registry
	if r == nil {
		return nil
	}
	c := registry.New(r)
	defer c.Close()
	subject := subjectOf(r, s.cfg.topic, "value")
	return s.status.persist(ctx, c, `registering the schema of subject "`+subject+`"`, func() error {
		id, err := c.Register(ctx, subject, e.Schema())
		if err == nil {
			e.SetSchemaID(id)
		}
		return err
	})
}
