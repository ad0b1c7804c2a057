package kafka

import (
	"testing"
	"time"
)

// realServer is a server on the test broker, with a topic of its own.
func realServer(t *testing.T, options ...string) *server {
	addr, topic, _ := realTopic(t, 3)
	s := newServer(t, addr, options...)
	s.topic = topic
	return s
}

func TestRealExactlyOnce(t *testing.T) {
	for _, c := range crashPoints {
		t.Run(c.name, func(t *testing.T) {
			s := realServer(t)
			s.mustStart()
			s.run(0, 10)
			c.last(s)
			s.crash()
			s.mustStart()
			s.wantIDs(c.next)
			for e := range 20 { // fast, so that the end of one meets the begin of the next
				s.run(c.next+e*10, c.next+e*10+10)
			}
			s.wantIDs(c.next + 200)
		})
	}
}

func TestRealExpiredTransaction(t *testing.T) {
	s := realServer(t, "transaction_timeout", "1 s", "compression", "zstd")
	s.mustStart()
	s.run(0, 10)
	s.crashPrepared(10, 2000)
	time.Sleep(3 * time.Second)
	s.wantIDs(10)
	s.mustStart()
	s.wantIDs(2000)
	s.crash()
	s.mustStart()
	s.wantIDs(2000)
	s.run(2000, 2100)
	s.wantIDs(2100)
}

func TestRealOlderCopy(t *testing.T) {
	s := realServer(t)
	s.mustStart()
	s.run(0, 10)
	epoch, prepared := s.epoch, s.prepared
	s.run(10, 20)
	s.crash()
	s.epoch, s.prepared = epoch, prepared
	if err := s.start(); err == nil {
		t.Fatal("an older copy goes on")
	}
}

func TestRealTimeoutTooLong(t *testing.T) {
	wantTooLong(t, realServer(t, "transaction_timeout", "2 days"))
}
