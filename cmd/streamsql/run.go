package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/stream"
)

// runConfig are the options of run.
type runConfig struct {
	data, format, stateMemory, readMemory string
	vars                                  []string
	quiet                                 bool
}

func runCommand() *cobra.Command {
	var c runConfig
	cmd := &cobra.Command{Use: "run FILE.sql...", Short: "Run SQL files to their end, in this process.",
		Long: `Run SQL files to their end, in this process. "-" reads standard input.

Continuous queries have trigger 'available_now' unless they say otherwise:
sources are read to what is there. A SELECT sees all that came before it
(SET implicit_flush = off to change that). Results go to standard output. The
first error goes to standard error as FILE:LINE:COLUMN: SQLSTATE message and
ends the run with status 1.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return run(cmd.Context(), c, files, os.Stdout, os.Stderr)
		}}
	cmd.Flags().StringVar(&c.data, "data", "", "directory of the data; empty: in memory")
	stateMemoryFlag(cmd, &c.stateMemory)
	readMemoryFlag(cmd, &c.readMemory)
	cmd.Flags().StringVar(&c.format, "format", "aligned", "how results are written: aligned, csv or json")
	cmd.Flags().StringArrayVarP(&c.vars, "var", "v", nil, "NAME=VALUE put in for :NAME, :'NAME' and :\"NAME\"")
	cmd.Flags().BoolVarP(&c.quiet, "quiet", "q", false, "leave out the tags of statements without rows")
	return cmd
}

// run runs files one after the other in one engine.
func run(ctx context.Context, c runConfig, files []string, out, errOut io.Writer) (err error) {
	vars := map[string]string{}
	for _, v := range c.vars {
		name, val, ok := strings.Cut(v, "=")
		if !ok {
			return sqlerr.New(sqlerr.InvalidParameterValue, "-v %s: write NAME=VALUE", v)
		}
		vars[name] = val
	}
	e, err := openEngine(engineConfig{data: c.data, trigger: stream.Trigger{Kind: stream.AvailableNow},
		stateMemory: c.stateMemory, readMemory: c.readMemory}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.queries.Start()
	for _, f := range files {
		text, err := readFile(f)
		if err != nil {
			return err
		}
		sc := session.Script{File: f, Text: text, Vars: vars, Format: c.format, Quiet: c.quiet, Out: out, Err: errOut,
			User: "streamsql", Database: "streamsql",
			Settings: []pgwire.Setting{{Name: "implicit_flush", Value: "on"}}}
		if err := e.sessions.RunScript(ctx, sc); err != nil {
			return err
		}
	}
	return nil
}

func readFile(name string) (string, error) {
	var b []byte
	var err error
	if name == "-" {
		b, err = io.ReadAll(os.Stdin)
	} else {
		b, err = os.ReadFile(name)
	}
	if err != nil {
		return "", sqlerr.Wrap(err, sqlerr.UndefinedFile, "cannot read %s", name)
	}
	return string(b), nil
}
