package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/session"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	limitHeap()
	err := root().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	var script *session.ScriptError
	if errors.As(err, &script) {
		fmt.Fprintln(os.Stderr, script)
	} else {
		fmt.Fprintf(os.Stderr, "streamsql: %s\n", describe(err))
	}
	os.Exit(1)
}

func root() *cobra.Command {
	c := &cobra.Command{Use: "streamsql", Short: "A streaming SQL engine that speaks the Postgres wire protocol.",
		SilenceErrors: true, SilenceUsage: true, Version: version()}
	c.CompletionOptions.HiddenDefaultCmd = true
	c.AddCommand(serveCommand(), runCommand(), demoCommand())
	return c
}

// version is the module's version and the commit it was built from.
func version() string {
	v := "devel"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			v += " " + s.Value[:12]
		}
	}
	return v
}
