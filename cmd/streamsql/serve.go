package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/metrics"
	"github.com/streamsql/streamsql/pgwire"
)

// serveConfig are the options of serve.
type serveConfig struct {
	data, listen, http, admin, stateMemory, readMemory string
}

func serveCommand() *cobra.Command {
	var c serveConfig
	cmd := &cobra.Command{Use: "serve", Short: "Start a server.", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), c, os.Stderr) }}
	cmd.Flags().StringVar(&c.data, "data", "streamsql-data", "directory of the data; made if it does not exist")
	cmd.Flags().StringVar(&c.listen, "listen", "127.0.0.1:7432", "address for Postgres clients")
	stateMemoryFlag(cmd, &c.stateMemory)
	readMemoryFlag(cmd, &c.readMemory)
	cmd.Flags().StringVar(&c.http, "http", "127.0.0.1:7480", "address for health and metrics; empty: none")
	cmd.Flags().StringVar(&c.admin, "admin", "", "address for profiles (pprof), which tell about the data; empty: none")
	return cmd
}

// drain is how long a stopping server waits for running statements.
const drain = 4 * time.Second

// serve runs a server until ctx ends.
func serve(ctx context.Context, c serveConfig, log io.Writer) error {
	logger := slog.New(slog.NewTextHandler(log, nil))
	for _, addr := range []string{c.listen, c.http, c.admin} {
		if err := onlyLoopback(addr); err != nil {
			return err
		}
	}
	e, err := openEngine(engineConfig{data: c.data, stateMemory: c.stateMemory, readMemory: c.readMemory}, logger)
	if err != nil {
		return err
	}
	s, err := startServer(e, c, logger)
	if err != nil {
		return errors.Join(err, e.close())
	}
	http := ""
	if s.httpAddr != "" {
		http = " (http " + s.httpAddr + ")"
	}
	fmt.Fprintf(log, "streamsql listens on %s%s, data in %s\n", s.addr, http, c.data)
	select {
	case <-ctx.Done():
		fmt.Fprintln(log, "streamsql is stopping")
	case err = <-s.failed:
	}
	return errors.Join(err, s.stop(), e.close())
}

// onlyLoopback refuses an address that others can reach: there is no
// authentication yet.
func onlyLoopback(addr string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return sqlerr.New(sqlerr.InvalidParameterValue, "invalid address %q", addr).WithHint("Write HOST:PORT.")
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return sqlerr.New(sqlerr.FeatureNotSupported, "refusing to listen on %s: clients are not authenticated", addr).
		WithHint("Listen on a loopback address such as 127.0.0.1:7432.")
}

// server is the listening part of a program.
type server struct {
	pg       *pgwire.Server
	web      []*http.Server
	addr     string
	httpAddr string
	failed   chan error
}

// startServer starts the queries and the listeners.
func startServer(e *engine, c serveConfig, logger *slog.Logger) (*server, error) {
	ln, err := net.Listen("tcp", c.listen)
	if err != nil {
		return nil, sqlerr.Wrap(err, sqlerr.SystemError, "cannot listen on %s", c.listen)
	}
	pg, err := pgwire.NewServer(e.sessions, pgwire.Options{Log: logger})
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s := &server{pg: pg, addr: ln.Addr().String(), failed: make(chan error, 3)}
	if c.http != "" {
		if err := s.startWeb(c.http, e); err != nil {
			return nil, errors.Join(err, ln.Close())
		}
	}
	if c.admin != "" {
		if _, err := s.serveHTTP(c.admin, profiles()); err != nil {
			return nil, errors.Join(err, s.stop(), ln.Close())
		}
	}
	e.queries.Start()
	spawn.Go("listener", func() error { return s.pg.Serve(ln) }, s.report)
	return s, nil
}

func (s *server) report(err error) {
	if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		s.failed <- err
	}
}

// startWeb serves /healthz and /metrics.
func (s *server) startWeb(addr string, e *engine) (err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		metrics.New(func() metrics.Server { return e.reading(s.pg.Sessions()) }))
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	s.httpAddr, err = s.serveHTTP(addr, mux)
	return err
}

// profiles serves what Go's profiler tells.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serveHTTP starts a web server and returns where it listens.
func (s *server) serveHTTP(addr string, h http.Handler) (string, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return "", sqlerr.Wrap(err, sqlerr.SystemError, "cannot listen on %s", addr)
	}
	web := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	s.web = append(s.web, web)
	spawn.Go("http", func() error { return web.Serve(ln) }, s.report)
	return ln.Addr().String(), nil
}

// stop lets running statements end, within bounds.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := s.pg.Shutdown(ctx)
	if err == context.DeadlineExceeded { // statements were cut short, as they are told
		err = nil
	}
	for _, web := range s.web {
		err = errors.Join(err, web.Shutdown(ctx))
	}
	return err
}
