package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// codeError returns a broker's error code as an error, nil for 0.
func codeError(code int16) error {
	if code == 0 {
		return nil
	}
	return kafkago.Error(code)
}

// fatalCodes are the broker's errors that trying again cannot heal, with their
// SQLSTATEs. Any other is waited out: brokers restart, leaders move, topics
// appear late.
var fatalCodes = map[kafkago.Error]sqlerr.Code{
	kafkago.TopicAuthorizationFailed:           sqlerr.InsufficientPrivilege,
	kafkago.GroupAuthorizationFailed:           sqlerr.InsufficientPrivilege,
	kafkago.ClusterAuthorizationFailed:         sqlerr.InsufficientPrivilege,
	kafkago.TransactionalIDAuthorizationFailed: sqlerr.InsufficientPrivilege,
	kafkago.SASLAuthenticationFailed:           sqlerr.InvalidPassword,
	kafkago.UnsupportedSASLMechanism:           sqlerr.InvalidAuthorization,
	kafkago.IllegalSASLState:                   sqlerr.InvalidAuthorization,
	kafkago.InvalidTopic:                       sqlerr.InvalidName,
	kafkago.UnsupportedVersion:                 sqlerr.FeatureNotSupported,
	kafkago.UnsupportedForMessageFormat:        sqlerr.FeatureNotSupported,
	kafkago.MessageSizeTooLarge:                sqlerr.ProgramLimitExceeded,
	kafkago.RecordListTooLarge:                 sqlerr.ProgramLimitExceeded,
	kafkago.InvalidRequiredAcks:                sqlerr.InvalidParameterValue,
	kafkago.InvalidTimestamp:                   sqlerr.InvalidParameterValue,
	kafkago.InvalidPartitionNumber:             sqlerr.InvalidParameterValue,
	kafkago.InvalidReplicationFactor:           sqlerr.InvalidParameterValue,
	kafkago.InvalidReplicaAssignment:           sqlerr.InvalidParameterValue,
	kafkago.InvalidConfiguration:               sqlerr.InvalidParameterValue,
	kafkago.PolicyViolation:                    sqlerr.InvalidParameterValue,
	kafkago.InvalidRecord:                      sqlerr.InvalidParameterValue,
	kafkago.InvalidTransactionTimeout:          sqlerr.InvalidParameterValue,
}

// retriable tells whether err may go away by itself.
func retriable(err error) bool {
	if errors.Is(err, errAnew) {
		return false
	}
	var own *sqlerr.Error
	if errors.As(err, &own) {
		return !own.Permanent
	}
	var code kafkago.Error
	if errors.As(err, &code) {
		_, fatal := fatalCodes[code]
		return !fatal
	}
	var unknownCA x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	return !errors.As(err, &unknownCA) && !errors.As(err, &hostname) && !errors.As(err, &invalid) &&
		!errors.As(err, &alert)
}

// explain returns err as it is told to the user; doing is what was tried, as in
// «reading topic "t"». Errors that retrying cannot heal are permanent.
func explain(err error, doing string) error {
	var own *sqlerr.Error
	if errors.As(err, &own) {
		return err
	}
	var code kafkago.Error
	if !errors.As(err, &code) {
		e := sqlerr.Wrap(plainer(err), sqlerr.ConnectionFailure, "%s failed", doing)
		e.Permanent = !retriable(err)
		return e
	}
	if state, fatal := fatalCodes[code]; fatal {
		return sqlerr.New(state, "%s failed: %s", doing, describe(code)).AsPermanent()
	}
	return sqlerr.New(sqlerr.ConnectionFailure, "%s failed: %s", doing, describe(code))
}

// describe is the broker's error in words, with its number.
func describe(code kafkago.Error) string {
	title := strings.ToLower(code.Title())
	if title == "" {
		title = "unknown error"
	}
	return title + " (broker error " + itoa(int64(code)) + ")"
}

// plainer gives names to the errors that say nothing by themselves.
func plainer(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer in time")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the broker closed the connection")
	}
	return err
}

// status tells the query's status of changes only: the other end away, for
// another reason, or back. Safe for concurrent use; several parts may be away.
type status struct {
	report func(error)
	mu     sync.Mutex
	away   map[any]string
	told   string
}

func newStatus(report func(error)) *status { return &status{report: report, away: map[any]string{}} }

// failed tells that part is away.
func (s *status) failed(part any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[part] = err.Error()
	if s.report != nil && s.told != err.Error() {
		s.told = err.Error()
		s.report(err)
	}
}

// ok tells that part is back.
func (s *status) ok(part any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, was := s.away[part]; !was {
		return
	}
	delete(s.away, part)
	if s.report != nil && len(s.away) == 0 {
		s.told = ""
		s.report(nil)
	}
}

// Pauses between tries, doubled from the first to the last.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// backoff makes growing pauses with jitter, so that many clients do not come
// back at the same instant. The zero value is ready.
type backoff struct{ pause time.Duration }

// wait pauses; the error is ctx's. Network waits go by the machine's clock.
func (b *backoff) wait(ctx context.Context) error {
	b.pause = min(max(2*b.pause, firstPause), lastPause)
	return sleep(ctx, b.pause/2+rand.N(b.pause/2))
}

func (b *backoff) reset() { b.pause = 0 }

func sleep(ctx context.Context, d time.Duration) error {
	c, stop := clock.System{}.After(d)
	defer stop()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// persist repeats fn until it succeeds, ctx is done or the error is one that
// waiting cannot heal; part and doing are for the status and the message.
func (s *status) persist(ctx context.Context, part any, doing string, fn func() error) error {
	var pause backoff
	for {
		err := fn()
		if err == nil {
			s.ok(part)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d, ok := ctx.Deadline(); ok && !(clock.System{}).Now().Before(d) {
			return context.DeadlineExceeded // the connection's timer was the first
		}
		err = explain(err, doing)
		if !retriable(err) {
			return err
		}
		s.failed(part, err)
		if werr := pause.wait(ctx); werr != nil {
			return werr
		}
	}
}
