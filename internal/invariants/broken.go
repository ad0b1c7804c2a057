package invariants

import (
	"fmt"
	"os"
	"runtime/debug"
)

// Marker begins the report of a broken rule.
const Marker = "BROKEN INVARIANT: "

// Broken reports a broken rule and ends the process: a panic would be recovered as
// one query's failure, and the query started anew as if nothing had been wrong. It
// is for checked builds alone.
func Broken(format string, args ...any) {
	fmt.Fprintf(os.Stderr, Marker+format+"\n%s", append(args, debug.Stack())...)
	os.Exit(2)
}
