package clients

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/invariants"
)

var (
	buildOnce sync.Once
	binary    string
	buildErr  error
)

// server returns the URL of the server under test: the one that
// STREAMSQL_TEST_SERVER names, else a fresh one that ends with the test.
func server(t *testing.T) string {
	t.Helper()
	if url := os.Getenv("STREAMSQL_TEST_SERVER"); url != "" {
		return url
	}
	const program = "../../cmd/streamsql"
	if _, err := os.Stat(program); err != nil {
		skip(t, "no server to test: %v", err)
	}
	buildOnce.Do(func() {
		dir, err := os.MkdirTemp("", "streamsql-clients")
		if err != nil {
			buildErr = err
			return
		}
		binary = filepath.Join(dir, "streamsql")
		args := []string{"build", "-o", binary}
		if invariants.Enabled {
			args = append(args, "-tags", "invariants")
		}
		if out, err := exec.Command("go", append(args, program)...).CombinedOutput(); err != nil {
			buildErr = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return start(t)
}

// TestMain removes the binary that server has built.
func TestMain(m *testing.M) {
	code := m.Run()
	if binary != "" {
		os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// start runs the server on a free port over an empty directory.
func start(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	log := &lockedBuffer{}
	cmd := exec.Command(binary, "serve", "--http", "", "--listen", addr, "--data", t.TempDir())
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ended with %v\n%s", err, log)
			}
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			t.Errorf("the server did not end\n%s", log)
		}
	})
	for range 400 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return "postgres://streamsql@" + addr + "/streamsql"
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended: %v\n%s", err, log)
		case <-time.After(25 * time.Millisecond):
		}
	}
	t.Fatalf("the server does not listen on %s\n%s", addr, log)
	return ""
}

// lockedBuffer collects a program's output.
type lockedBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
