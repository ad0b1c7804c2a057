package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"strings"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/streamsql/streamsql/connector"
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

// status is the query's, with our words for the broker's errors.
type status struct{ *connector.Away }

func newStatus(report func(error)) *status { return &status{connector.NewAway(report)} }

// persist repeats fn until it succeeds, ctx is done or the error is one that
// waiting cannot heal; part and doing are for the status and the message.
func (s *status) persist(ctx context.Context, part any, doing string, fn func() error) error {
	return s.Persist(ctx, part, fn, func(err error) error { return explain(err, doing) })
}
