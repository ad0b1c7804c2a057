package docs

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/pgwire"
)

// prompt is psql's, in a transcript.
var prompt = regexp.MustCompile(`^streamsql[=-]# ?`)

// TestPsqlSession types what README.md shows into psql and compares what it says.
func TestPsqlSession(t *testing.T) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("psql is not installed")
	}
	p := readPage(t, "../../README.md")
	addr := listen(t)
	found := false
	for _, b := range p.blocks {
		if b.info != "console" {
			continue
		}
		found = true
		var typed, said strings.Builder
		for _, l := range strings.SplitAfter(b.text, "\n") {
			if at := prompt.FindString(l); at != "" {
				typed.WriteString(strings.TrimPrefix(l, at))
			} else {
				said.WriteString(l)
			}
		}
		host, port, _ := net.SplitHostPort(addr)
		cmd := exec.CommandContext(t.Context(), psql, "-X", "-h", host, "-p", port, "-U", "streamsql", "-d", "streamsql")
		cmd.Stdin = strings.NewReader(typed.String())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := trimLines(string(out)); got != said.String() {
			t.Errorf("%s:%d: psql prints\n%s", p.path, b.line, got)
		}
	}
	if !found {
		t.Error("README.md shows no session")
	}
}

// listen serves an engine on a port of its own and returns the address.
func listen(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, err := pgwire.NewServer(newServer(t, true), pgwire.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	spawn.Go("listener", func() error { return srv.Serve(ln) }, func(error) { close(done) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		<-done
	})
	return ln.Addr().String()
}
