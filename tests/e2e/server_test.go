package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/streamsql/streamsql/internal/invariants"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "streamsql-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "streamsql")
	args := []string{"build", "-trimpath", "-o", binary}
	env := append(os.Environ(), "CGO_ENABLED=0") // as the program is built for others
	if raceEnabled {
		args, env = append(args, "-race"), os.Environ()
	}
	if invariants.Enabled {
		args = append(args, "-tags", "invariants")
	}
	build := exec.Command("go", append(args, "../../cmd/streamsql")...)
	build.Env = env
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// testTime bounds what a single wait of a test may take.
const testTime = 60 * time.Second

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	t.Cleanup(cancel)
	return ctx
}

// output collects a program's output.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// server is a running `streamsql serve`.
type server struct {
	t    *testing.T
	dir  string
	addr string
	log  *output
	cmd  *exec.Cmd
	end  chan struct{} // closed when the process has ended
	err  error
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// launch starts a server over dir without waiting for it.
func launch(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, addr: freeAddr(t), log: &output{}, end: make(chan struct{})}
	s.cmd = exec.Command(binary, append([]string{"serve", "--listen", s.addr, "--http", "", "--data", dir}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.end)
	}()
	t.Cleanup(func() {
		if !s.ended() {
			s.stop(syscall.SIGTERM)
		}
		if t.Failed() {
			t.Logf("log of the server:\n%s", tail(s.log.String(), 60))
		}
		if strings.Contains(s.log.String(), "DATA RACE") {
			t.Errorf("data race:\n%s", s.log)
		}
		if _, broken, ok := strings.Cut(s.log.String(), invariants.Marker); ok {
			t.Errorf("broken invariant: %s", broken)
		}
	})
	return s
}

// tail is the last lines of s.
func tail(s string, lines int) string {
	l := strings.SplitAfter(s, "\n")
	return strings.Join(l[max(0, len(l)-lines):], "")
}

// serve starts a server over dir and waits until it answers.
func serve(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	s := launch(t, dir, args...)
	s.ready()
	return s
}

func (s *server) ready() {
	s.t.Helper()
	for begin := time.Now(); time.Since(begin) < testTime; time.Sleep(2 * time.Millisecond) {
		if c, err := net.Dial("tcp", s.addr); err == nil {
			c.Close()
			return
		}
		if s.ended() {
			s.t.Fatalf("the server ended: %v\n%s", s.err, s.log)
		}
	}
	s.t.Fatalf("the server does not listen on %s\n%s", s.addr, s.log)
}

func (s *server) ended() bool {
	select {
	case <-s.end:
		return true
	default:
		return false
	}
}

// kill ends the server as a power cut does.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Errorf("cannot kill the server: %v", err)
	}
	<-s.end
}

// stop ends the server by a signal, which it must obey with status 0 within 10 s.
func (s *server) stop(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.end:
		if s.err != nil {
			s.t.Errorf("the server ended with %v\n%s", s.err, tail(s.log.String(), 60))
		}
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // with the stacks of what hangs
		select {
		case <-s.end:
		case <-time.After(5 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.end
		}
		s.t.Errorf("the server did not end within 10 s of %s\n%s", sig, tail(s.log.String(), 400))
	}
}

func (s *server) url() string { return "postgres://streamsql@" + s.addr + "/streamsql?sslmode=disable" }

func (s *server) connect() *db {
	s.t.Helper()
	return connect(s.t, s.url())
}

// db is a client's connection.
type db struct {
	t *testing.T
	*pgx.Conn
}

func connect(t *testing.T, url string) *db {
	t.Helper()
	c, err := pgx.Connect(testContext(t), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return &db{t, c}
}

// exec runs statements, which must succeed.
func (d *db) exec(sql string, args ...any) {
	d.t.Helper()
	if err := d.try(sql, args...); err != nil {
		d.t.Fatalf("%s\n%v", sql, err)
	}
}

func (d *db) try(sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	if len(args) == 0 {
		_, err := d.PgConn().Exec(ctx, sql).ReadAll()
		return err
	}
	_, err := d.Exec(ctx, sql, args...)
	return err
}

// rows returns a query's rows as text, one a line, columns separated by |.
func (d *db) rows(sql string) []string {
	d.t.Helper()
	out, err := d.tryRows(sql)
	if err != nil {
		d.t.Fatalf("%s\n%v", sql, err)
	}
	return out
}

func (d *db) tryRows(sql string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	res, err := d.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, row := range res[len(res)-1].Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			if cells[i] = "∅"; c != nil {
				cells[i] = string(c)
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return out, nil
}

// value returns the one value of a query.
func (d *db) value(sql string) string {
	d.t.Helper()
	r := d.rows(sql)
	if len(r) != 1 {
		d.t.Fatalf("%s gave %d rows: %q", sql, len(r), r)
	}
	return r[0]
}

// until waits until a query's rows are as wanted.
func (d *db) until(sql, want string) {
	d.t.Helper()
	var got string
	for begin := time.Now(); time.Since(begin) < testTime; time.Sleep(20 * time.Millisecond) {
		if got = strings.Join(d.rows(sql), "\n"); got == want {
			return
		}
	}
	d.t.Fatalf("%s\ngives %s\nnot   %s\nqueries:\n%s", sql, got, want, strings.Join(d.rows(statesSQL), "\n"))
}

const statesSQL = "SELECT name, state, trigger, epoch, restarts, rows_in, late_rows, error_code, error FROM streamsql.queries ORDER BY id"

// same compares two lists of rows, each in any order.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	count := map[string]int{}
	for _, r := range want {
		count[r]++
	}
	var more []string
	for _, r := range got {
		if count[r]--; count[r] < 0 {
			more = append(more, r)
		}
	}
	var missing []string
	for r, n := range count {
		for range max(n, 0) {
			missing = append(missing, r)
		}
	}
	if len(more)+len(missing) > 0 || len(got) == 0 {
		t.Errorf("%s: %d rows, %d wanted; %d too many: %q; %d missing: %q", what, len(got), len(want),
			len(more), more[:min(5, len(more))], len(missing), missing[:min(5, len(missing))])
	}
}

// result is what a run of the program gave.
type result struct {
	code        int
	out, errOut string
}

// program runs the program to its end.
func program(t *testing.T, in string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = io.Reader(strings.NewReader(in)), &out, &errOut
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("streamsql %q did not end\n%s\n%s", args, &out, &errOut)
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	if strings.Contains(errOut.String(), "DATA RACE") {
		t.Errorf("data race:\n%s", &errOut)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}
