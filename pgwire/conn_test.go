package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// waitFor polls until ok, a bounded number of times.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s did not come true", what)
}

func wantLines(t testing.TB, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got:\n%s\nwant:\n%s", g, w)
	}
}

func TestGoneClientEndsItsStatement(t *testing.T) {
	s, _, addr := startServer(t, Options{})
	for _, after := range [][]string{nil, {"Sync", "Query SELECT 1"}, {"Terminate"}} {
		f := connect(t, addr)
		f.send(t, "Query SLEEP 60000")
		f.until(t, "NoticeResponse")
		f.send(t, after...)
		f.nc.Close()
		waitFor(t, "end of the session", func() bool { return s.Sessions() == 0 })
	}
}

func TestWatchedStatementKeepsWhatFollows(t *testing.T) {
	_, _, addr := startServer(t, Options{WatchAfter: time.Millisecond})
	f := connect(t, addr)
	f.send(t, "Query SLEEP 50")
	f.until(t, "NoticeResponse")
	var want []string
	for i := range 3000 { // more than one buffer
		q := fmt.Sprintf("SELECT 'number %d'", i)
		f.send(t, "Query "+q)
		want = append(want, fmt.Sprintf("DataRow \"number %d\"", i))
	}
	var got []string
	for _, m := range f.untilReady(t, 3001) {
		if strings.HasPrefix(m, "DataRow") {
			got = append(got, m)
		}
	}
	wantLines(t, got, want...)
}

func TestMaxConnections(t *testing.T) {
	_, _, addr := startServer(t, Options{MaxConnections: 1})
	a := connect(t, addr)
	b := dial(t, addr)
	b.send(t, "Startup user=u")
	out, err := b.rest()
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, out, `ErrorResponse FATAL 53300 "sorry, too many clients already"`)
	// A cancel request needs no place.
	a.send(t, "Query SLEEP 60000")
	a.until(t, "NoticeResponse")
	sendCancel(t, addr, a)
	a.untilReady(t, 1)
}

func TestMaxStarting(t *testing.T) {
	_, _, addr := startServer(t, Options{MaxStarting: 1})
	dial(t, addr)
	var second *frontend
	waitFor(t, "a connection closed unheard", func() bool {
		second = dial(t, addr)
		out, err := second.rest()
		return err == nil && len(out) == 0
	})
}

func TestStartupTimeout(t *testing.T) {
	_, _, addr := startServer(t, Options{StartupTimeout: 20 * time.Millisecond})
	f := dial(t, addr)
	f.send(t, "Raw 000000") // and no more
	if out, err := f.rest(); err != nil || len(out) > 0 {
		t.Errorf("got %v, %v; want a closed connection", out, err)
	}
}

func TestWrongCancelKey(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	f := connect(t, addr)
	f.send(t, "Query SLEEP 30")
	f.until(t, "NoticeResponse")
	f.secret++
	sendCancel(t, addr, f)
	wantLines(t, f.untilReady(t, 1), `CommandComplete "SLEEP"`, "ReadyForQuery I")
}

func TestCancelAndTerminateByPID(t *testing.T) {
	s, _, addr := startServer(t, Options{})
	f := connect(t, addr)
	f.send(t, "Query SLEEP 60000")
	f.until(t, "NoticeResponse")
	if !s.Cancel(f.pid) || s.Cancel(f.pid+1) {
		t.Error("Cancel does not tell which sessions there are")
	}
	wantLines(t, f.untilReady(t, 1), `ErrorResponse ERROR 57014 "canceling statement due to user request"`,
		"ReadyForQuery I")
	f.send(t, "Query SLEEP 60000")
	f.until(t, "NoticeResponse")
	if !s.Terminate(f.pid) {
		t.Error("Terminate found no session")
	}
	out, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, out, `ErrorResponse FATAL 57P01 "terminating connection due to administrator command"`)
}

func TestTerminateBlockedWriter(t *testing.T) {
	s, _, addr := startServer(t, Options{})
	f := connect(t, addr)
	f.send(t, "Query ROWS 100000000")  // and read nothing
	time.Sleep(100 * time.Millisecond) // until the socket is full
	s.Terminate(f.pid)
	waitFor(t, "end of the session", func() bool { return s.Sessions() == 0 })
}

func TestShutdown(t *testing.T) {
	s, _, addr := startServer(t, Options{})
	idle, busy, starting := connect(t, addr), connect(t, addr), dial(t, addr)
	busy.send(t, "Query SLEEP 100")
	busy.until(t, "NoticeResponse")
	waitFor(t, "three connections", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 3
	})
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	const bye = `ErrorResponse FATAL 57P01 "terminating connection due to administrator command"`
	for _, c := range []struct {
		f    *frontend
		want []string
	}{
		{idle, []string{bye}},
		{busy, []string{`CommandComplete "SLEEP"`, bye}},
		{starting, []string{`ErrorResponse FATAL 57P03 "the database system is shutting down"`}},
	} {
		out, err := c.f.rest()
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, out, c.want...)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("the server still accepts")
	}
}

func TestShutdownCutsShort(t *testing.T) {
	s, _, addr := startServer(t, Options{})
	f := connect(t, addr)
	f.send(t, "Query SLEEP 60000")
	f.until(t, "NoticeResponse")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown returned %v", err)
	}
	out, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, out, `ErrorResponse FATAL 57P01 "terminating connection due to administrator command"`)
}

// password lets in who knows the word.
type password struct{}

func (password) Authenticate(_ context.Context, p *StartupParams, x Exchange) error {
	m, err := x.Ask(&pgproto3.AuthenticationCleartextPassword{}, pgproto3.AuthTypeCleartextPassword)
	if err != nil {
		return err
	}
	if pw, ok := m.(*pgproto3.PasswordMessage); !ok || pw.Password != "open" {
		return sqlerr.New(sqlerr.InvalidPassword, "password authentication failed for user %q", p.User)
	}
	return nil
}

func TestAuthenticator(t *testing.T) {
	_, _, addr := startServer(t, Options{Auth: password{}})
	const (
		opened = "Raw 70 00000009 6f70656e00"
		wrong  = "Raw 70 00000006 6e00"
	)
	f := dial(t, addr)
	f.send(t, "Startup user=u", opened)
	f.untilReady(t, 1)
	for answer, want := range map[string]string{
		wrong:                `ErrorResponse FATAL 28P01 "password authentication failed for user \"u\""`,
		"Query SELECT 1":     `ErrorResponse FATAL 08P01 "expected password response, got message type 81"`,
		"Raw 70 00100000 61": `ErrorResponse FATAL 54000 "message of 1048572 bytes exceeds the limit of 10000 bytes"`,
	} {
		f := dial(t, addr)
		f.send(t, "Startup user=u", answer)
		out, err := f.rest()
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, out, "Authentication 3", want)
	}
}

func TestRefusedSession(t *testing.T) {
	_, b, addr := startServer(t, Options{})
	b.refuse = sqlerr.New(sqlerr.InvalidCatalogName, "database %q does not exist", "d")
	f := dial(t, addr)
	f.send(t, "Startup user=u database=d")
	out, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, out, "Authentication 0", `ErrorResponse FATAL 3D000 "database \"d\" does not exist"`)
}

func TestStartupParams(t *testing.T) {
	_, b, addr := startServer(t, Options{})
	f := dial(t, addr)
	f.send(t, `Startup user=u TimeZone=UTC options="-c\x20a=b\x20--c-d=e\\\x20f\x20-cg=h"`)
	f.untilReady(t, 1)
	p := b.sessions[0].params
	got := fmt.Sprintf("%s %s %q %v", p.User, p.Database, p.Settings, p.PID == f.pid)
	if want := `u u [{"TimeZone" "UTC"} {"a" "b"} {"c_d" "e f"} {"g" "h"}] true`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMessagesInPieces(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	f := connect(t, addr)
	long := strings.Repeat("x", 100_000)
	m, err := f.encode("Query SELECT '" + long + "'")
	if err != nil {
		t.Fatal(err)
	}
	for i, piece := 0, 1; i < len(m); piece *= 3 {
		end := min(i+piece, len(m))
		if _, err := f.nc.Write(m[i:end]); err != nil {
			t.Fatal(err)
		}
		i = end
		time.Sleep(time.Millisecond)
	}
	out := f.untilReady(t, 1)
	if want := fmt.Sprintf("DataRow %q", long); out[1] != want {
		t.Errorf("got %.60s… of %d bytes", out[1], len(out[1]))
	}
}

func TestManyParameters(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	f := connect(t, addr)
	f.send(t, "Parse name=s INSERT $1", "Sync", "Parse name=m SELECT $65535")
	b := cstr("", "m")
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint16(b, 65535)
	for range 65535 {
		b = binary.BigEndian.AppendUint32(b, 1)
		b = append(b, 'x')
	}
	b = binary.BigEndian.AppendUint16(b, 0)
	if _, err := f.nc.Write(frame('B', b)); err != nil {
		t.Fatal(err)
	}
	f.send(t, "Execute", "Sync", "Parse SELECT $65536", "Sync")
	out := f.untilReady(t, 3)
	wantLines(t, out, "ParseComplete", "ReadyForQuery I", "ParseComplete", "BindComplete", `DataRow "x"`,
		`CommandComplete "SELECT 1"`, "ReadyForQuery I",
		`ErrorResponse ERROR 54000 "a statement can have at most 65535 parameters, not 65536"`, "ReadyForQuery I")
}

func TestPanicIsLoggedNotShown(t *testing.T) {
	s, b, addr := startServer(t, Options{})
	f := connect(t, addr)
	f.send(t, "Query PANIC")
	out, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, out, `ErrorResponse FATAL XX000 "internal error: the connection cannot go on"`)
	waitFor(t, "end of the session", func() bool { return s.Sessions() == 0 })
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.sessions[0].closed {
		t.Error("the session was not closed")
	}
}

// TestIdleMemory holds what an idle connection may cost.
func TestIdleMemory(t *testing.T) {
	const n, limit = 256, 64 << 10
	_, _, addr := startServer(t, Options{})
	before := memoryInUse()
	for range n {
		f := connect(t, addr)
		f.send(t, "Query ROWS 3000", "Parse SELECT 1", "Bind", "Execute", "Sync")
		f.untilReady(t, 2)
	}
	// The clients are ours too: their share makes the figure only larger.
	if per := (memoryInUse() - before) / n; per > limit {
		t.Errorf("an idle connection takes %d bytes, limit %d", per, limit)
	} else {
		t.Logf("%d bytes", per)
	}
}

func memoryInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func TestOptionsReportAllFaults(t *testing.T) {
	_, err := NewServer(&fakeBackend{}, Options{MaxConnections: -1, MaxMessage: 1, StartupTimeout: -1, WatchAfter: -1,
		MaxStarting: -1})
	if err == nil || strings.Count(err.Error(), "must be") != 5 {
		t.Errorf("got %v", err)
	}
}
