package kafka

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// faults answers the first requests of a kind with codes; 0 is the broker's own
// answer, lost on the way for -2.
func faults(c *kfake.Cluster, key kmsg.Key, codes ...int16) *int {
	n := 0
	c.ControlKey(key.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		n++
		if n > len(codes) || codes[n-1] == 0 {
			return nil, nil, false
		}
		return answer(r, codes[n-1]), nil, true
	})
	return &n
}

func answer(r kmsg.Request, code int16) kmsg.Response {
	switch r := r.(type) {
	case *kmsg.EndTxnRequest:
		res := r.ResponseKind().(*kmsg.EndTxnResponse)
		res.ErrorCode = code
		return res
	case *kmsg.AddOffsetsToTxnRequest:
		res := r.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
		res.ErrorCode = code
		return res
	case *kmsg.InitProducerIDRequest:
		res := r.ResponseKind().(*kmsg.InitProducerIDResponse)
		res.ErrorCode = code
		return res
	case *kmsg.FindCoordinatorRequest:
		res := r.ResponseKind().(*kmsg.FindCoordinatorResponse)
		res.ErrorCode = code
		return res
	case *kmsg.OffsetFetchRequest:
		res := r.ResponseKind().(*kmsg.OffsetFetchResponse)
		res.ErrorCode = code
		return res
	case *kmsg.AddPartitionsToTxnRequest:
		res := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
		for _, t := range r.Topics {
			rt := kmsg.NewAddPartitionsToTxnResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			res.Topics = append(res.Topics, rt)
		}
		return res
	case *kmsg.TxnOffsetCommitRequest:
		res := r.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
		for _, t := range r.Topics {
			rt := kmsg.NewTxnOffsetCommitResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			res.Topics = append(res.Topics, rt)
		}
		return res
	}
	panic(fmt.Sprintf("%T", r))
}

// Coordinators that load, move, are away or still end the transaction before are
// waited for, at every step.
func TestCoordinatorFaults(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.EndTxn, kmsg.AddOffsetsToTxn, kmsg.InitProducerID, kmsg.FindCoordinator,
		kmsg.OffsetFetch, kmsg.AddPartitionsToTxn, kmsg.TxnOffsetCommit} {
		t.Run(key.Name(), func(t *testing.T) {
			t.Parallel()
			c, addr := cluster(t, 3)
			n := faults(c, key, 14, 51, 15, 51, 51, 16, 88, 14)
			s := newServer(t, addr)
			s.mustStart()
			s.run(0, 100)
			s.run(100, 200)
			s.crash()
			s.mustStart()
			s.run(200, 300)
			s.wantIDs(300)
			if *n < 8 {
				t.Fatal("faults not met:", *n)
			}
		})
	}
}

// The answers of EndTxn and of produce are lost: both are asked again and nothing
// is there twice.
func TestLostAnswers(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.EndTxn, kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.InitProducerID} {
		t.Run(key.Name(), func(t *testing.T) {
			t.Parallel()
			c, addr := cluster(t, 2)
			s := newServer(t, addr)
			cut := 0
			c.ControlKey(key.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				if cut++; cut%2 == 1 && cut < 6 && s.sink != nil {
					// The request is carried out, its connection ends before the answer is read.
					go cutConnections(s.sink.(*sink).cl)
				}
				return nil, nil, false
			})
			s.mustStart()
			for e := range 5 {
				s.run(e*50, e*50+50)
			}
			s.wantIDs(250)
		})
	}
}

// cutConnections ends what connections there are; new ones may be made.
func cutConnections(cl *client) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for c := range cl.conns {
		c.(*trackedConn).Conn.Close()
	}
}

func TestTransactionErrors(t *testing.T) {
	for _, c := range []struct {
		key  kmsg.Key
		code int16
		want sqlerr.Code
		text string
	}{
		{kmsg.InitProducerID, 53, sqlerr.InsufficientPrivilege, `taking over transactional id "streamsql-`},
		{kmsg.OffsetFetch, 30, sqlerr.InsufficientPrivilege, "reading the last epoch"},
		{kmsg.AddPartitionsToTxn, 29, sqlerr.InsufficientPrivilege, "beginning a transaction"},
		{kmsg.AddOffsetsToTxn, 30, sqlerr.InsufficientPrivilege, "ending epoch 1"},
		{kmsg.InitProducerID, 35, sqlerr.FeatureNotSupported, "taking over"},
	} {
		bc, addr := cluster(t, 1)
		faults(bc, c.key, c.code, c.code, c.code, c.code)
		s := newServer(t, addr)
		err := s.start()
		if err == nil {
			if err = s.write(0, 10); err == nil {
				err = s.prepare()
			}
		}
		wantError(t, err, c.want, c.text)
		if e := sqlerr.From(err); c.want == sqlerr.InsufficientPrivilege && !strings.Contains(e.Hint, `begin with "streamsql"`) {
			t.Errorf("hint %q", e.Hint)
		}
	}
}

func TestTransactionTimeoutTooLong(t *testing.T) {
	_, addr := cluster(t, 1)
	wantTooLong(t, newServer(t, addr, "transaction_timeout", "2 days"))
}

func wantTooLong(t *testing.T, s *server) {
	t.Helper()
	err := s.start()
	wantError(t, err, sqlerr.InvalidParameterValue, `option "transaction_timeout" of 172800000 ms is more than the broker allows`)
	if d := sqlerr.From(err).Detail; !strings.Contains(d, "transaction.max.timeout.ms is 900000 ms") {
		t.Error(d)
	}
}
