package pgwire

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServer serves the toy backend and checks at the end that every session
// was closed.
func startServer(t testing.TB, o Options) (*Server, *fakeBackend, string) {
	t.Helper()
	b := &fakeBackend{}
	if o.WatchAfter == 0 {
		o.WatchAfter = 10 * time.Millisecond
	}
	s, err := NewServer(b, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != ErrServerClosed {
			t.Errorf("Serve returned %v", err)
		}
		for _, fs := range b.sessions {
			if !fs.closed {
				t.Error("a session was not closed")
			}
		}
	})
	return s, b, l.Addr().String()
}

// TestGolden runs the files of testdata: messages out, messages in.
//
//	dial [c=name]      opens a connection and sends nothing
//	connect [c=name]   … and starts as user u; prints nothing
//	send [c=name]      sends the messages of the input
//	until [c=name]     reads until the messages named in the input have come
//	drop [c=name]      … and prints the last two
//	talk [c=name]      sends, then reads a ReadyForQuery per Query and Sync sent
//	bytes n=k          reads k raw bytes
//	rest               reads until the server closes
//	cancel [c=name]    sends a CancelRequest for it on another connection
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		_, _, addr := startServer(t, Options{MaxMessage: 20000})
		conns := map[string]*frontend{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := "main"
			d.MaybeScanArgs(t, "c", &name)
			f := conns[name]
			lines := strings.Split(strings.TrimSpace(d.Input), "\n")
			var out []string
			switch d.Cmd {
			case "dial":
				conns[name] = dial(t, addr)
			case "connect":
				conns[name] = connect(t, addr)
			case "send":
				f.send(t, lines...)
			case "until":
				out = f.until(t, lines...)
			case "drop":
				all := f.until(t, lines...)
				out = all[len(all)-2:]
			case "talk":
				f.send(t, lines...)
				out = f.untilReady(t, countReady(lines))
			case "bytes":
				var b [1]byte
				if _, err := f.nc.Read(b[:]); err != nil {
					t.Fatal(err)
				}
				out = []string{string(b[:])}
			case "rest":
				var err error
				if out, err = f.rest(); err != nil {
					t.Fatal(err)
				}
				out = append(out, "closed")
			case "cancel":
				sendCancel(t, addr, f)
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			return strings.Join(out, "\n")
		})
	})
}

func countReady(lines []string) (n int) {
	for _, l := range lines {
		switch name, _, _ := strings.Cut(strings.TrimSpace(l), " "); name {
		case "Query", "Sync", "FunctionCall":
			n++
		}
	}
	return n
}

func sendCancel(t testing.TB, addr string, f *frontend) {
	t.Helper()
	x := dial(t, addr)
	x.send(t, "CancelRequest "+utoa(f.pid)+" "+utoa(f.secret))
	if out, err := x.rest(); err != nil || len(out) > 0 {
		t.Fatalf("cancel request was answered: %v %v", out, err)
	}
}
