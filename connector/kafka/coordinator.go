package kafka

import (
	"context"
	"errors"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/addoffsetstotxn"
	"github.com/segmentio/kafka-go/protocol/addpartitionstotxn"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
	"github.com/segmentio/kafka-go/protocol/txnoffsetcommit"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// The kinds of coordinators.
const (
	groupCoordinator int8 = iota
	txnCoordinator
)

// coordinatorOf asks for the broker that keeps a group or a transactional id.
func (cl *client) coordinatorOf(ctx context.Context, kind int8, key string) (int32, error) {
	res, err := cl.send(ctx, anyBroker, &findcoordinator.Request{Key: key, KeyType: kind}, 0)
	if err != nil {
		return 0, err
	}
	r := res.(*findcoordinator.Response)
	return r.NodeID, codeError(r.ErrorCode)
}

// lostCodes are the broker's answers to a producer whose transaction is no longer
// its own: it took too long and was aborted, or somebody else took the id over.
// Nothing is left to do in it but to write the epoch again.
var lostCodes = map[kafkago.Error]bool{
	kafkago.OutOfOrderSequenceNumber: true,
	kafkago.InvalidProducerEpoch:     true,
	kafkago.InvalidTransactionState:  true,
	kafkago.InvalidProducerIDMapping: true,
	kafkago.UnknownProducerId:        true,
	kafkago.ProducerFenced:           true,
	kafkago.TransactionalIDNotFound:  true,
}

// lost returns the broker's answer if it says that the transaction is lost.
func lost(err error) (code kafkago.Error, ok bool) {
	return code, errors.As(err, &code) && lostCodes[code]
}

// Pauses before asking a coordinator again that is still ending the transaction
// before: a matter of milliseconds, so nobody is told before slowEnd has passed.
const (
	firstEndPause = 2 * time.Millisecond
	lastEndPause  = 100 * time.Millisecond
	slowEnd       = 10 * time.Second
)

// ask sends a request to the coordinator of key, again while it is away, moves, or
// is busy with the transaction before. code tells the broker's code in the answer.
// An answer that the transaction is lost is returned as it is.
func (s *sink) ask(ctx context.Context, kind int8, key, doing string, req protocol.Message,
	code func(protocol.Message) int16) (res protocol.Message, err error) {
	who := [2]any{kind, key}
	var gone error
	pause, busySince := firstEndPause, time.Time{}
	err = s.status.persist(ctx, who, doing, func() error {
		for {
			res, err = s.askOnce(ctx, kind, key, req, code)
			if _, ok := lost(err); ok {
				gone = err
				return nil
			}
			if !errors.Is(err, kafkago.ConcurrentTransactions) && !errors.Is(err, unstableOffset) {
				break
			}
			now := clock.System{}.Now()
			if busySince.IsZero() {
				busySince = now
			}
			if now.Sub(busySince) > slowEnd {
				break
			}
			if err := connector.Sleep(ctx, pause); err != nil {
				return err
			}
			pause = min(2*pause, lastEndPause)
		}
		if err != nil {
			s.forget(key)
		}
		return err
	})
	if err == nil {
		err = gone
	}
	return res, err
}

func (s *sink) askOnce(ctx context.Context, kind int8, key string, req protocol.Message,
	code func(protocol.Message) int16) (protocol.Message, error) {
	s.mu.Lock()
	broker, ok := s.coordinators[key]
	s.mu.Unlock()
	if !ok {
		var err error
		if broker, err = s.cl.coordinatorOf(ctx, kind, key); err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.coordinators[key] = broker
		s.mu.Unlock()
	}
	res, err := s.cl.send(ctx, broker, req, 0)
	if err != nil {
		return nil, err
	}
	return res, codeError(code(res))
}

func (s *sink) forget(key string) {
	s.mu.Lock()
	delete(s.coordinators, key)
	s.mu.Unlock()
}

// initProducer takes a transactional id over: what was open under it is aborted,
// and whoever had it before is refused from now on.
func (s *sink) initProducer(ctx context.Context, id string) (identity, error) {
	return s.newIdentity(ctx, id, noIdentity)
}

// newIdentity gives the holder of a transactional id its next identity, or with
// noIdentity any comer, whatever is open then.
func (s *sink) newIdentity(ctx context.Context, id string, old identity) (identity, error) {
	doing := `taking over transactional id "` + id + `"`
	var code kafkago.Error
	res, err := s.ask(ctx, txnCoordinator, id, doing, &initproducerid.Request{TransactionalID: id,
		TransactionTimeoutMs: int32(s.cfg.timeout.Milliseconds()), ProducerID: old.id, ProducerEpoch: old.epoch},
		func(m protocol.Message) int16 {
			code = kafkago.Error(m.(*initproducerid.Response).ErrorCode)
			if old == noIdentity && lostCodes[code] { // another took it over at the same time: the last to ask has it
				return int16(kafkago.ConcurrentTransactions)
			}
			return int16(code)
		})
	if code == kafkago.InvalidTransactionTimeout {
		return identity{}, s.timeoutError(ctx, id)
	}
	if err != nil {
		return identity{}, s.denied(err)
	}
	r := res.(*initproducerid.Response)
	return identity{id: r.ProducerID, epoch: r.ProducerEpoch, transactional: true}, nil
}

// denied adds to an error about rights which ones are needed.
func (s *sink) denied(err error) error {
	var own *sqlerr.Error
	if !errors.As(err, &own) || own.Code != sqlerr.InsufficientPrivilege || own.Hint != "" {
		return err
	}
	return own.WithHint("delivery = 'exactly_once' needs the rights WRITE and DESCRIBE on transactional ids and READ on "+
		`groups that begin with "%s", and WRITE and READ on topic "%s". Without them use delivery = 'at_least_once'.`,
		s.cfg.prefix, s.cfg.topic)
}

// timeoutError says that the broker does not take our transaction_timeout, and
// which it would if it tells.
func (s *sink) timeoutError(ctx context.Context, id string) error {
	limit := ""
	if broker, err := s.cl.coordinatorOf(ctx, txnCoordinator, id); err == nil {
		const brokerResource, name = 4, "transaction.max.timeout.ms"
		res, err := s.cl.send(ctx, broker, &describeconfigs.Request{Resources: []describeconfigs.RequestResource{
			{ResourceType: brokerResource, ResourceName: itoa(int64(broker)), ConfigNames: []string{name}}}}, 0)
		if err == nil {
			for _, r := range res.(*describeconfigs.Response).Resources {
				for _, e := range r.ConfigEntries {
					if e.ConfigName == name && e.ConfigValue != "" {
						limit = e.ConfigValue + " ms"
					}
				}
			}
		}
	}
	e := sqlerr.New(sqlerr.InvalidParameterValue, `option "transaction_timeout" of %d ms is more than the broker allows`,
		s.cfg.timeout.Milliseconds()).AsPermanent()
	if limit != "" {
		e = e.WithDetail("Its transaction.max.timeout.ms is %s.", limit)
	}
	return e
}

// addPartitions puts partitions of a topic into the transaction.
func (s *sink) addPartitions(ctx context.Context, topic, id string, who identity, parts []int32) error {
	_, err := s.ask(ctx, txnCoordinator, id, `beginning a transaction on topic "`+topic+`"`,
		&addpartitionstotxn.Request{TransactionalID: id, ProducerID: who.id, ProducerEpoch: who.epoch,
			Topics: []addpartitionstotxn.RequestTopic{{Name: topic, Partitions: parts}}},
		func(m protocol.Message) (code int16) {
			for _, t := range m.(*addpartitionstotxn.Response).Results {
				for _, p := range t.Results {
					// «Not attempted» is said of those beside the one with the reason.
					if c := p.ErrorCode; c != 0 && (code == 0 || kafkago.Error(code) == operationNotAttempted) {
						code = c
					}
				}
			}
			return code
		})
	return s.denied(err)
}

const operationNotAttempted kafkago.Error = 55

// mark writes the epoch into the transaction, so that whoever comes later can read
// whether it was committed.
func (s *sink) mark(ctx context.Context, group, id string, who identity, e int64) error {
	doing := `ending epoch ` + itoa(e) + ` on topic "` + s.cfg.topic + `"`
	_, err := s.ask(ctx, txnCoordinator, id, doing, &addoffsetstotxn.Request{TransactionalID: id,
		ProducerID: who.id, ProducerEpoch: who.epoch, GroupID: group},
		func(m protocol.Message) int16 { return m.(*addoffsetstotxn.Response).ErrorCode })
	if err != nil {
		return s.denied(err)
	}
	_, err = s.ask(ctx, groupCoordinator, group, doing, &txnoffsetcommit.Request{TransactionalID: id, GroupID: group,
		ProducerID: who.id, ProducerEpoch: who.epoch, GenerationID: -1,
		Topics: []txnoffsetcommit.RequestTopic{{Name: s.cfg.topic, Partitions: []txnoffsetcommit.RequestPartition{
			{Partition: 0, CommittedOffset: e, CommittedLeaderEpoch: -1}}}}},
		func(m protocol.Message) int16 {
			for _, t := range m.(*txnoffsetcommit.Response).Topics {
				for _, p := range t.Partitions {
					return p.ErrorCode
				}
			}
			return int16(kafkago.Unknown)
		})
	return s.denied(err)
}

// marker returns the epoch that was committed last under a group, -1 for none.
func (s *sink) marker(ctx context.Context, group string) (int64, error) {
	req := &markerRequest{group: group, topic: s.cfg.topic}
	_, err := s.ask(ctx, groupCoordinator, group, `reading the last epoch on topic "`+s.cfg.topic+`"`, req,
		func(protocol.Message) int16 { return req.code })
	return req.epoch, s.denied(err)
}

// endTxn commits or aborts.
func (s *sink) endTxn(ctx context.Context, id string, who identity, commit bool) error {
	_, err := s.ask(ctx, txnCoordinator, id, `ending a transaction on topic "`+s.cfg.topic+`"`,
		&endtxn.Request{TransactionalID: id, ProducerID: who.id, ProducerEpoch: who.epoch, Committed: commit},
		func(m protocol.Message) int16 { return m.(*endtxn.Response).ErrorCode })
	return s.denied(err)
}
