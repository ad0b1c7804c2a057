package pgwire

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

// serveBytes gives a server the bytes of a client that then stops sending and
// checks that the connection ends and the server lives.
func serveBytes(t *testing.T, s *Server, data []byte) {
	t.Helper()
	client, server := net.Pipe()
	s.accept(server)
	go func() {
		_, _ = client.Write(data)
		time.Sleep(time.Millisecond)
		client.Close()
	}()
	_, _ = io.Copy(io.Discard, client)
	client.Close()
	waitFor(t, "end of the connection", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 0
	})
}

func fuzzServer(t testing.TB) *Server {
	s, err := NewServer(&fakeBackend{}, Options{MaxMessage: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func encodeAll(t testing.TB, lines string) []byte {
	var b []byte
	for _, l := range strings.Split(lines, "|") {
		m, err := new(frontend).encode(l)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, m...)
	}
	return b
}

var fuzzSeeds = []string{
	"Startup user=u",
	"SSLRequest|Startup user=u database=d|Query SELECT 1; ROWS 10|Terminate",
	"Startup user=u|Parse name=s oids=23,0 SELECT $1, $2|Describe S s|Bind portal=p stmt=s pf=1,0 rf=1 x'00000001' 'a'|" +
		"Describe P p|Execute max=1 p|Close P p|Close S s|Flush|Sync",
	"Startup user=u|Query COPY 2 FROM STDIN|CopyData a|CopyFail no|Query COPY 1 FROM STDIN|CopyDone|Query BEGIN",
	"Startup version=3.9 user=u _pq_.x=y|FunctionCall|Query FAIL 42601 3 'x'|" +
		"Query DECLARE c NO CURSOR FOR ROWS 3|Describe P c",
}

func FuzzConnection(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(encodeAll(f, s))
	}
	s := fuzzServer(f)
	f.Fuzz(func(t *testing.T, data []byte) { serveBytes(t, s, data) })
}

// TestMutatedConversations runs conversations with flipped, cut and inserted
// bytes; the seed is fixed, so that a failure repeats.
func TestMutatedConversations(t *testing.T) {
	s := fuzzServer(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		data := encodeAll(t, fuzzSeeds[i%len(fuzzSeeds)])
		for range 1 + rnd.IntN(4) {
			at := rnd.IntN(len(data))
			switch rnd.IntN(3) {
			case 0:
				data[at] = byte(rnd.Uint32())
			case 1:
				data = append(data[:at:at], data[min(at+1+rnd.IntN(4), len(data)):]...)
			case 2:
				data = append(data[:at:at], append([]byte{0xff, byte(rnd.Uint32())}, data[at:]...)...)
			}
			if len(data) == 0 {
				break
			}
		}
		serveBytes(t, s, data)
	}
	if n := s.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}
