package session

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/sql"
)

// testEngine notes what is asked of the continuous queries.
type testEngine struct {
	mu    sync.Mutex
	calls []string // of Queries
	fail  map[string]error
}

func (e *testEngine) note(format string, args ...any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	call := fmt.Sprintf(format, args...)
	e.calls = append(e.calls, call)
	return e.fail[call]
}

func (e *testEngine) taken() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.calls
	e.calls = nil
	return out
}

func (e *testEngine) Create(_ context.Context, o *catalog.Object) error {
	return e.note("create %s", o.Name)
}

func (e *testEngine) Drop(_ context.Context, o *catalog.Object) error {
	return e.note("drop %s", o.Name)
}

func (e *testEngine) Alter(_ context.Context, o *catalog.Object) error {
	return e.note("alter %s trigger=%s", o.Name, o.Options["trigger"])
}

func (e *testEngine) Control(_ context.Context, o *catalog.Object, a sql.ControlAction) error {
	return e.note("%s %s", a, o.Name)
}

func (e *testEngine) Await(ctx context.Context, o *catalog.Object) error {
	if o == nil {
		return e.note("await any")
	}
	if err := e.note("await %s", o.Name); err != nil {
		return err
	}
	if strings.HasPrefix(o.Name.Name, "endless") {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (e *testEngine) Flush(context.Context) error { return e.note("flush") }
