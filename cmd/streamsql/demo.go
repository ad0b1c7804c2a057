package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/session"
)

func demoCommand() *cobra.Command {
	c := serveConfig{}
	var rounds int
	cmd := &cobra.Command{Use: "demo", Short: "Start a server with a running example and show it in the terminal.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), c, rounds, os.Stdout, isTerminal(os.Stdout))
		}}
	cmd.Flags().StringVar(&c.listen, "listen", "127.0.0.1:7432", "address for Postgres clients")
	cmd.Flags().IntVar(&rounds, "rounds", 0, "stop after showing the result so many times; 0: go on until Ctrl-C")
	return cmd
}

// demoSQL sets the example up: an auction house's bids, counted per 2 seconds.
const demoSQL = `
CREATE SOURCE bids WITH (connector = 'nexmark', kind = 'bid', rate = '5000', rows_per_second = '5000',
  base_time = '%s');
CREATE MATERIALIZED VIEW bids_per_channel AS
  SELECT window_start, channel, count(*) AS bids, max(price) AS highest
  FROM TUMBLE(bids, date_time, INTERVAL '2 seconds')
  WHERE channel IN ('Google', 'Facebook', 'Baidu', 'Apple')
  GROUP BY window_start, channel;
`

const demoQuery = `SELECT to_char(window_start, 'HH24:MI:SS') AS window, channel, bids, highest
FROM bids_per_channel
WHERE window_start IN (
  SELECT window_start FROM bids_per_channel GROUP BY window_start ORDER BY window_start DESC LIMIT 3)
ORDER BY window_start DESC, channel;
`

// demo starts a server in memory with the example and shows the view until ctx
// ends, over itself in a terminal, else as plain lines.
func demo(ctx context.Context, c serveConfig, rounds int, out io.Writer, terminal bool) (err error) {
	logger := slog.New(slog.DiscardHandler)
	if err := onlyLoopback(c.listen); err != nil {
		return err
	}
	e, err := openEngine(engineConfig{}, logger)
	if err != nil {
		return err
	}
	s, err := startServer(e, c, logger)
	if err != nil {
		return errors.Join(err, e.close())
	}
	defer func() { err = errors.Join(err, s.stop(), e.close()) }()
	now := clock.System{}.Now().UTC().Format("2006-01-02 15:04:05Z")
	setup := fmt.Sprintf(demoSQL, now)
	if err := script(ctx, e, setup, io.Discard); err != nil {
		return err
	}
	host, port, _ := strings.Cut(s.addr, ":")
	fmt.Fprintf(out, "A server is running. Join it from another terminal:\n\n  psql -h %s -p %s\n\n"+
		"The view bids_per_channel below is kept up to date while bids come in:\n%s\n", host, port, setup)
	return show(ctx, e, rounds, out, terminal)
}

// show prints the view each second.
func show(ctx context.Context, e *engine, rounds int, out io.Writer, terminal bool) error {
	lines := 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; rounds == 0 || n < rounds; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		var b strings.Builder
		if err := script(ctx, e, demoQuery, &b); err != nil {
			return err
		}
		if terminal && lines > 0 {
			fmt.Fprintf(out, "\x1b[%dA\x1b[J", lines)
		}
		fmt.Fprint(out, b.String())
		lines = strings.Count(b.String(), "\n")
	}
	return nil
}

func script(ctx context.Context, e *engine, text string, out io.Writer) error {
	return e.sessions.RunScript(ctx, session.Script{File: "demo", Text: text, Format: "aligned", Quiet: true,
		Out: out, Err: io.Discard, User: "streamsql", Database: "streamsql"})
}

// isTerminal tells whether f is a character device, which a pipe and a file are not.
func isTerminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
