package stream

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/pgwire"
)

// way is how a case is run.
type way struct {
	name string
	// stop is what comes before each epoch but the first: restart or crash; moments:
	// the crash comes within the epoch's two phases instead.
	stop     string
	moments  bool
	tasks    int
	batch    int
	reversed bool
	switched bool
	// rescaled: before each epoch but the first, the query gets another number of tasks.
	rescaled bool
	// spilled: next to nothing of the state may stay in memory.
	spilled bool
}

var ways = []way{
	{name: "straight"},
	{name: "restarts", stop: "restart"},
	{name: "crashes", stop: "crash"},
	{name: "crash_moments", moments: true},
	{name: "two_tasks", tasks: 2, batch: 1, reversed: true},
	{name: "three_tasks", tasks: 3, batch: 2},
	{name: "switched", switched: true},
	{name: "tasks_and_restarts", tasks: 2, batch: 2, stop: "restart"},
	{name: "rescaled", rescaled: true},
	{name: "spilled", spilled: true},
	{name: "spilled_and_restarts", spilled: true, tasks: 2, stop: "restart"},
}

// fits tells whether a case can be run this way.
func (w way) fits(c *testCase) bool {
	if w.name == "straight" {
		return true
	}
	if w.reversed && c.options["order"] == "fixed" {
		return false
	}
	if t := c.trigger(); t != "processing_time" {
		return t != "real_time" && w.tasks > 0 && w.stop == ""
	}
	if w.switched {
		return c.switchable()
	}
	// After a start every split has its idle timeout anew.
	return w.stop == "" && !w.moments && !w.rescaled || len(c.epochs) > 1 && !c.idles()
}

// idles tells whether splits may fall idle.
func (c *testCase) idles() bool {
	return c.options["idle_timeout"] != "" || slices.ContainsFunc(c.rels, func(r *relation) bool {
		return slices.ContainsFunc(r.with, func(o string) bool { return strings.HasPrefix(o, "idle_timeout") })
	})
}

// switchable tells whether real time must come to the same by the end of each
// epoch: one read takes an epoch's rows, or no row can be late.
func (c *testCase) switchable() bool {
	if c.options["switch"] == "off" || len(c.epochs) < 2 {
		return false
	}
	timed := false
	for _, r := range c.rels {
		timed = timed || r.watermark != ""
	}
	for _, e := range c.epochs {
		for _, s := range e.steps {
			for _, w := range s.want {
				if w.choose > 0 {
					return false
				}
			}
		}
		if e.hasClock {
			return false
		}
	}
	return !timed || len(c.rels) == 1 && len(c.rels[0].splits) == 1
}

func (c *testCase) trigger() string {
	if t := c.options["trigger"]; t != "" {
		return t
	}
	return "processing_time"
}

// runner runs one case one way.
type runner struct {
	t    *testing.T
	c    *testCase
	way  way
	file string
	e    *engine
	// modes are those that the engine does not refuse.
	modes []string
	// base are the operators' figures at the end of the last epoch, by mode and
	// operator.
	base map[string]map[int]exec.StatsValues
	seen map[string]int // epochs of the sink that were looked at, by mode
	read map[string]int // rows of the sink that were looked at, by mode
	want map[string]fold
	got  map[string]fold
	// eager: the queries run in real time now.
	eager bool
}

// newRunner starts an engine with the case's relations.
func newRunner(t *testing.T, c *testCase, file string, w way) *runner {
	r := &runner{t: t, c: c, way: w, file: file, base: map[string]map[int]exec.StatsValues{},
		seen: map[string]int{}, read: map[string]int{}, want: map[string]fold{}, got: map[string]fold{}}
	r.e = &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(0, 0))}
	r.e.w.batch = w.batch
	if z := c.options["timezone"]; z != "" {
		r.e.settings = append(r.e.settings, pgwire.Setting{Name: "timezone", Value: z})
	}
	if c.options["files_per_epoch"] != "" {
		r.e.epochRows, r.e.w.batch = 1, 0
	}
	r.must(r.e.start())
	r.relations()
	return r
}

// end stops the engine.
func (r *runner) end() {
	if err := r.e.close(); err != nil {
		r.t.Error(err)
	}
	for _, f := range r.e.w.faults {
		r.t.Error(f)
	}
}

// run runs the case and returns the modes that CREATE refused, with their errors.
func (c *testCase) run(t *testing.T, file string, w way) map[string]error {
	r := newRunner(t, c, file, w)
	defer r.end()
	switch c.trigger() {
	case "processing_time":
		return r.paced()
	case "real_time":
		return r.realTime()
	}
	return r.bounded()
}

func (r *runner) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: case %s, %s: %v", r.file, r.c.name, r.way.name, err)
	}
}

// errorf reports a failure at a line.
func (r *runner) errorf(line int, format string, args ...any) {
	r.t.Helper()
	r.t.Errorf("%s:%d: case %s, %s: %s", r.file, line, r.c.name, r.way.name, fmt.Sprintf(format, args...))
}

// relations creates sources, tables and what stands before the query.
func (r *runner) relations() {
	for _, rel := range r.c.rels {
		var cols []string
		for _, c := range rel.cols {
			cols = append(cols, c.name+" "+c.text)
		}
		cols = append(cols, rel.defs...)
		switch {
		case rel.table && rel.key != "":
			cols = append(cols, "PRIMARY KEY ("+rel.key+")")
		case rel.declared:
			cols = append(cols, fmt.Sprintf("WATERMARK FOR %s AS %[1]s - INTERVAL '%s seconds'", rel.watermark, rel.delay))
		}
		text := fmt.Sprintf("%s (%s)", rel.name, strings.Join(cols, ", "))
		switch {
		case !rel.table:
			r.e.w.addSource(rel.name, rel.splits)
			with := append([]string{"connector = 'memory'", "name = '" + rel.name + "'"}, rel.with...)
			text = fmt.Sprintf("CREATE SOURCE %s WITH (%s)", text, strings.Join(with, ", "))
		case rel.appendOnly:
			text = "CREATE TABLE " + text + " APPEND ONLY"
		default:
			text = "CREATE TABLE " + text
		}
		r.must(r.e.exec(text))
	}
	for _, s := range r.c.setup {
		r.must(r.e.exec(s))
	}
}

// create creates the query with a sink in a mode.
func (r *runner) create(mode string) error {
	with := []string{"connector = 'memory'", "name = '" + mode + "'", "output_mode = '" + mode + "'"}
	switch t := r.c.trigger(); t {
	case "processing_time":
		with = append(with, "trigger = 'processing_time 1000 days'")
	default:
		with = append(with, "trigger = '"+t+"'")
	}
	with = append(with, "checkpoint_interval = '1000 days'")
	idle := cmp.Or(r.c.options["idle_timeout"], "off")
	if idle != "off" {
		idle += " s"
	}
	with = append(with, "idle_timeout = '"+idle+"'")
	if r.way.spilled {
		with = append(with, "state_memory = '1 B'")
	}
	if r.way.tasks > 0 {
		with = append(with, fmt.Sprintf("parallelism = %d", r.way.tasks))
	}
	for _, name := range []string{"watermark_policy", "late_rows", "state_ttl"} {
		if v := r.c.options[name]; v != "" && v != "min" {
			with = append(with, name+" = '"+v+"'")
		}
	}
	return r.e.exec(fmt.Sprintf("CREATE SINK %s WITH (%s) AS %s", mode, strings.Join(with, ", "), r.c.sql))
}

// createAll creates the query in all modes and returns what is refused.
func (r *runner) createAll() map[string]error {
	refused := map[string]error{}
	for _, m := range r.c.modes {
		err := r.create(m)
		if _, script := codeOf(err); err != nil && !script {
			r.must(err)
		}
		if err != nil {
			refused[m] = err
			continue
		}
		r.modes = append(r.modes, m)
		r.want[m], r.got[m] = newFold(), newFold()
	}
	return refused
}

// paced runs a case whose epochs are cut by FLUSH.
func (r *runner) paced() map[string]error {
	var refused map[string]error
	for i, ep := range r.c.epochs {
		if ep.hasClock {
			r.e.clock.Set(time.Unix(0, 0).Add(time.Duration(ep.clock * float64(time.Second))))
		}
		step := ep.steps[0]
		if i == 0 {
			r.feed(step)
			if r.materialized() {
				r.must(r.e.exec("FLUSH"))
			}
			if refused = r.createAll(); len(r.modes) == 0 {
				return refused
			}
			r.must(r.e.began())
		} else {
			r.next(ep, step)
		}
		r.check(ep, step)
	}
	return refused
}

// materialized tells whether queries of the set-up run.
func (r *runner) materialized() bool { return len(r.e.m.Status()) > 0 }

// next brings the engine through an epoch that is not the first.
func (r *runner) next(ep *epoch, step *step) {
	before := cmp.Or(r.way.stop, ep.before)
	if r.way.switched {
		r.change(ep.n)
	}
	fed := false
	switch {
	case r.way.rescaled && before == "":
		for _, m := range r.modes {
			r.must(r.e.exec(fmt.Sprintf("PAUSE %s; ALTER SINK %[1]s SET (parallelism = %d); RESUME %[1]s", m, ep.n*5%7+1)))
		}
	case before == "restart":
		r.must(r.e.close())
		// In turns, rows come while the engine is away.
		if fed = ep.n%2 == 0 && !step.tables(r.c); fed {
			r.feed(step)
		}
		r.must(r.e.start())
	case before == "crash":
		r.crash(func() *engine {
			r.e.w.mu.Lock()
			defer r.e.w.mu.Unlock()
			return r.e.crashed(ep.n%3*50, uint64(ep.n))
		}())
	}
	if r.eager && r.e.tick == nil { // the engine that has started has a clock of its own
		r.e.run()
	}
	if !fed {
		r.feed(step)
	}
	if !r.way.moments {
		r.must(r.e.exec("FLUSH"))
		return
	}
	after := r.crashIn(ep.n)
	r.must(r.e.exec("FLUSH"))
	r.e.w.mu.Lock()
	r.e.w.moment = nil
	r.e.w.mu.Unlock()
	if *after == nil {
		return
	}
	r.crash(*after)
	r.must(r.e.exec("FLUSH"))
}

// crashIn prepares for a crash in the epoch to come: when the first sink has
// prepared, when it is to commit, when it has committed. What is found after the
// crash is in the result then.
func (r *runner) crashIn(n int) **engine {
	after := new(*engine)
	at := []string{"prepared", "commit", "committed"}[n%3]
	e := r.e
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.w.moment = func(_, step string, _ uint64) {
		if step == at && *after == nil {
			*after = e.crashed(n/3%3*50, uint64(n))
		}
	}
	return after
}

// crash puts the engine aside for the one that starts after it.
func (r *runner) crash(after *engine) {
	r.must(r.e.close())
	r.e = after
	r.must(r.e.start())
}

// change changes the triggers: real time for the second third of the epochs.
func (r *runner) change(n int) {
	k := len(r.c.epochs)
	from := 2 + (k-2)/3
	to := from + (k+1)/3
	trigger := ""
	switch n {
	case from:
		trigger, r.eager = "real_time", true
		r.e.run()
	case to:
		trigger, r.eager = "processing_time 1000 days", false
	}
	if trigger == "" {
		return
	}
	for _, m := range r.modes {
		r.must(r.e.exec(fmt.Sprintf("ALTER SINK %s SET (trigger = '%s')", m, trigger)))
	}
}

// tables tells whether the step changes tables.
func (s *step) tables(c *testCase) bool {
	return slices.ContainsFunc(s.rows, func(r change) bool { return c.relation(r.rel).table })
}

// feed gives a step's rows to all relations: tables in one transaction, sources at
// once.
func (r *runner) feed(s *step) {
	text, rows, err := r.c.statements(s.rows)
	r.must(err)
	if text != "" {
		r.must(r.e.exec("BEGIN; " + text + "COMMIT"))
	}
	if r.way.reversed {
		slices.Reverse(rows)
	}
	if len(rows) > 0 {
		r.e.w.append(rows)
	}
}

// refusals tells whether the modes that must be refused are, each with its error.
func (r *runner) refusals() (wrong map[string]error) {
	wrong = map[string]error{}
	for _, f := range r.c.refusal {
		err := r.create(f.mode)
		if e, ok := codeOf(err); !ok || string(e.Code) != f.code ||
			!strings.Contains(strings.ToLower(e.Message), strings.ToLower(f.word)) {
			if err == nil {
				err = errors.New("is not refused")
			}
			wrong["error "+f.mode] = err
		}
	}
	return wrong
}
