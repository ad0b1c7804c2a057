package pgwire

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// psqlCommand makes a psql that runs commands against addr.
func psqlCommand(t *testing.T, addr string, commands ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("psql")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-X", "-A", "-h", host, "-p", port, "-U", "u", "-d", "d"}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	return exec.Command(path, args...)
}

func TestPsql(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	cmd := psqlCommand(t, addr, "SELECT 1 AS one, 'x' AS t", "ROWS 2; NOTICE warning 'mind'", "FAIL 42P01 3 'bad'",
		"NOTIFY ch hello", "COPY 2 TO STDOUT", `\copy 1 FROM STDIN`, "SHOW JOURNAL")
	cmd.Stdin = strings.NewReader("1\n2\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const want = `one|t
1|x
(1 row)
WARNING:  mind
HINT:  h
i|t|d
1|row 1|0.5
2|row 2|1
(2 rows)
NOTICE
ERROR:  bad
LINE 1: FAIL 42P01 3 'bad'
           ^
NOTIFY
Asynchronous notification "ch" with payload "hello" received from server process with PID 1.
1	a
2	\N
COPY 2
journal
"1\n2\n"
(1 row)
`
	if string(out) != want {
		t.Errorf("got:\n%s\nwant:\n%s", out, want)
	}
}

func TestPsqlInterrupt(t *testing.T) {
	s, b, addr := startServer(t, Options{})
	cmd := psqlCommand(t, addr, "SLEEP 60000")
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1000)
	n, err := r.Read(buf) // the notice that the statement runs
	if err != nil || !bytes.Contains(buf[:n], []byte("sleeping")) {
		t.Fatalf("%s, %v", buf[:n], err)
	}
	time.Sleep(10 * time.Millisecond)
	rest := make(chan []byte, 1)
	go func() {
		out, _ := io.ReadAll(r)
		rest <- out
	}()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // fails as its statement did
	w.Close()
	if out := <-rest; !bytes.Contains(out, []byte("canceling statement due to user request")) {
		t.Errorf("got %s", out)
	}
	waitFor(t, "end of the session", func() bool { return s.Sessions() == 0 })
	if n := len(b.sessions); n != 1 {
		t.Errorf("%d sessions", n)
	}
}
