package stream

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
	cq "github.com/streamsql/streamsql/stream"
)

// fold is what a mode's output has come to: rows by how often they are there or, in
// update mode, the rows by key.
type fold struct {
	rows  map[string]int
	byKey map[string]string
}

func newFold() fold { return fold{map[string]int{}, map[string]string{}} }

// keyOf is the key's part of a row.
func (c *testCase) keyOf(row string) string {
	f := strings.Split(row, sep)
	out := make([]string, len(c.key))
	for i, k := range c.key {
		out[i] = f[k]
	}
	return strings.Join(out, sep)
}

// take folds an epoch's output in.
func (c *testCase) take(f fold, mode string, plus, minus []string) {
	switch {
	case mode == "complete":
		clear(f.rows)
		for _, r := range plus {
			f.rows[r]++
		}
	case mode == "update" && c.hasKey:
		for _, r := range minus {
			delete(f.byKey, c.keyOf(r))
		}
		for _, r := range plus {
			f.byKey[c.keyOf(r)] = r
		}
	default:
		for _, r := range plus {
			f.rows[r]++
		}
		for _, r := range minus {
			f.rows[r]--
		}
		maps.DeleteFunc(f.rows, func(_ string, n int) bool { return n == 0 })
	}
}

// follow folds rows in as they come one after the other.
func (c *testCase) follow(f fold, mode string, rows []sinkRow) {
	if mode == "complete" {
		clear(f.rows)
	}
	for _, row := range rows {
		var plus, minus []string
		if row.Delete {
			minus = []string{row.Row}
		} else {
			plus = []string{row.Row}
		}
		if mode == "complete" {
			f.rows[row.Row]++
		} else {
			c.take(f, mode, plus, minus)
		}
	}
}

// committed returns what a sink was given since the last look. In complete mode
// only the last epoch counts.
func (r *runner) committed(mode string) (rows []sinkRow, epochs int) {
	r.e.w.mu.Lock()
	defer r.e.w.mu.Unlock()
	s := r.e.w.sink(mode)
	fresh := s.epochs[min(r.seen[mode], len(s.epochs)):]
	r.seen[mode] = len(s.epochs)
	epochs = len(fresh)
	if mode == "complete" && epochs > 1 {
		fresh = fresh[epochs-1:]
	}
	for _, e := range fresh {
		rows = append(rows, e.rows...)
	}
	return rows, epochs
}

func divide(plus, minus []string, rows []sinkRow) (p, m []string) {
	for _, r := range rows {
		if r.Delete {
			minus = append(minus, r.Row)
		} else {
			plus = append(plus, r.Row)
		}
	}
	return plus, minus
}

// check compares an epoch's output and figures with what is expected.
func (r *runner) check(ep *epoch, s *step) {
	r.t.Helper()
	for _, m := range r.modes {
		want := s.want[m]
		if want == nil {
			want = &output{}
		}
		rows, epochs := r.committed(m)
		if r.plain(ep) && epochs != 1 {
			r.errorf(ep.line, "%s: %d epochs instead of one", m, epochs)
		}
		if r.way.switched {
			r.c.take(r.want[m], m, want.plus, want.minus)
			r.c.follow(r.got[m], m, rows)
			r.folds(ep, m)
		} else {
			plus, minus := divide(nil, nil, rows)
			r.output(s.line, m, want, plus, minus)
		}
		st, err := r.e.status(m)
		r.must(err)
		r.figures(s, m, &st)
		r.marks(s, m, &st)
	}
	r.kept(s)
	r.columns()
}

// plain tells whether nothing but the epoch's FLUSH has cut epochs.
func (r *runner) plain(ep *epoch) bool {
	return ep.before == "" && r.way.stop == "" && !r.way.moments && !r.way.switched && !r.way.rescaled && !r.way.spilled
}

// output compares one epoch's output in a mode.
func (r *runner) output(line int, mode string, want *output, plus, minus []string) {
	r.t.Helper()
	wantPlus, wantMinus := slices.Clone(want.plus), slices.Clone(want.minus)
	if want.choose > 0 {
		n := 0
		for _, row := range want.choice {
			if slices.Contains(plus, row) {
				wantPlus = append(wantPlus, row)
				n++
			}
		}
		if n != want.choose {
			r.errorf(line, "%s: %d of the rows to choose from instead of %d", mode, n, want.choose)
		}
	}
	if mode == "update" && r.c.hasKey {
		wantMinus, minus = r.keys(wantMinus), r.keys(minus)
	}
	r.compare(line, mode+" +", wantPlus, plus)
	r.compare(line, mode+" -", wantMinus, minus)
}

func (r *runner) keys(rows []string) []string {
	var out []string
	for _, row := range rows {
		out = append(out, r.c.keyOf(row))
	}
	return out
}

// compare compares rows as multisets.
func (r *runner) compare(line int, what string, want, got []string) {
	r.t.Helper()
	n := map[string]int{}
	for _, row := range want {
		n[row]++
	}
	for _, row := range got {
		n[row]--
	}
	for _, row := range slices.Sorted(maps.Keys(n)) {
		switch k := n[row]; {
		case k > 0:
			r.errorf(line, "%s %s is missing (%d)", what, readable(row), k)
		case k < 0:
			r.errorf(line, "%s %s is too much (%d)", what, readable(row), -k)
		}
	}
}

// folds compares what has come of all epochs so far.
func (r *runner) folds(ep *epoch, mode string) {
	r.t.Helper()
	r.compare(ep.line, "up to here, "+mode, r.want[mode].list(), r.got[mode].list())
}

// list is what a fold has come to.
func (f fold) list() []string {
	var out []string
	for row, n := range f.rows {
		for range max(n, 0) {
			out = append(out, row)
		}
		if n < 0 {
			out = append(out, "taken back and never given:"+row)
		}
	}
	for _, row := range f.byKey {
		out = append(out, row)
	}
	return out
}

// byID returns the operators by their number in the plan.
func byID(ops []exec.StatsValues) []exec.StatsValues {
	out := slices.Clone(ops)
	slices.SortFunc(out, func(a, b exec.StatsValues) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// figure is one number of an operator since the last epoch.
func figure(what string, v, base exec.StatsValues) int64 {
	switch what {
	case "late":
		return v.Late - base.Late
	case "partial":
		return v.Partial - base.Partial
	case "dups":
		return v.Dups - base.Dups
	case "nulltime":
		return v.NullTime - base.NullTime
	}
	return v.Groups
}

// expected returns the figures stated for a mode: those with mode= take the place
// of those without, and what is not stated of partial, dups and nulltime is 0.
func expected(s *step, mode string) []count {
	type id struct{ what, op string }
	out := map[id]count{}
	for _, w := range []string{"partial", "dups", "nulltime"} {
		out[id{w, ""}] = count{line: s.line, what: w}
	}
	for _, general := range []bool{true, false} {
		for _, c := range s.counts {
			if (c.mode == "") == general && (general || c.mode == mode) {
				out[id{c.what, c.op}] = c
			}
		}
	}
	return slices.Collect(maps.Values(out))
}

// figures compares what the operators counted.
func (r *runner) figures(s *step, mode string, st *cq.Status) {
	r.t.Helper()
	for _, c := range expected(s, mode) {
		if c.what == "state" && r.way.spilled {
			continue // what is in memory
		}
		if n := r.sum(c, mode, st); n != c.n {
			r.errorf(c.line, "%s: %s %d%s instead of %d", mode, c.what, n, opName(c.op), c.n)
		}
	}
	base := map[int]exec.StatsValues{}
	for _, v := range st.Operators {
		base[v.ID] = v
	}
	r.base[mode] = base
}

func opName(op string) string {
	if op == "" {
		return ""
	}
	return " of " + op
}

func (r *runner) sum(c count, mode string, st *cq.Status) int64 {
	if c.op != "" {
		v, ok := operator(st.Operators, r.c.ops[c.op])
		if !ok {
			r.errorf(c.line, "the plan has no operator %v", r.c.ops[c.op])
		}
		return figure(c.what, v, r.base[mode][v.ID])
	}
	n := int64(0)
	for _, v := range st.Operators {
		n += figure(c.what, v, r.base[mode][v.ID])
	}
	return n
}

// marks compares watermarks.
func (r *runner) marks(s *step, mode string, st *cq.Status) {
	r.t.Helper()
	for _, m := range s.marks {
		got, what := st.Watermark, "the query's"
		if m.source != "" {
			got, what = r.sourceMark(m, st), m.source+"/"+m.split
		}
		ok := got == m.micros || m.none && (got == arrowbatch.NoTime || got <= 0)
		if !ok {
			r.errorf(m.line, "%s: the watermark (%s) is %s instead of %s", mode, what, seconds(got), seconds(m.micros))
		}
	}
}

// sourceMark reads the watermark of a source or of one of its splits from the last
// checkpoint. The watermark operators stand in the plan as the sources in the case.
func (r *runner) sourceMark(m mark, st *cq.Status) int64 {
	n := 0
	for _, rel := range r.c.rels {
		if rel.watermark != "" {
			n++
		}
		if rel.name == m.source {
			break
		}
	}
	op, ok := operator(st.Operators, opRef{"Watermark", n})
	if !ok {
		r.errorf(m.line, "the plan has no watermark operator %d", n)
		return 0
	}
	key := m.split
	all, err := r.e.watermarks(st.ID)
	r.must(err)
	if w, ok := all[keyText(op.ID)][key]; ok {
		return w
	}
	return arrowbatch.NoTime
}

// kept looks for late rows among those that are kept, or in the table that takes
// them, and holds their number against the operators' counters.
func (r *runner) kept(s *step) {
	r.t.Helper()
	from, toTable := strings.CutPrefix(r.c.options["late_rows"], "table ")
	r.keptCount(s, from, toTable)
	if !toTable {
		from = "streamsql.late_rows"
	}
	for _, k := range s.kept {
		rel := r.c.relation(k.source)
		conds := fmt.Sprintf("watermark = '%s'::timestamptz", types.AppendTimestamptz(nil, k.micros, nil))
		for i, c := range rel.cols {
			v, err := sqlValue(c, k.values[i])
			r.must(err)
			if toTable {
				conds += fmt.Sprintf(" AND %s IS NOT DISTINCT FROM %s", c.name, v)
				continue
			}
			conds += fmt.Sprintf(" AND (\"row\"::json->>'%s')::%s IS NOT DISTINCT FROM %s", c.name, c.text, v)
		}
		for _, m := range r.modes {
			n, err := r.e.query(fmt.Sprintf("SELECT count(*) FROM %s WHERE query = '%s' AND %s", from, m, conds))
			r.must(err)
			if n[0] != "1" {
				r.errorf(s.line, "%s: the late row %v is kept %s times", m, k.values, n[0])
			}
		}
	}
}

// keptCount compares how many late rows there are with how many were counted.
func (r *runner) keptCount(s *step, table string, toTable bool) {
	r.t.Helper()
	kept, err := r.e.m.Kept(state.LateRecord)
	r.must(err)
	for _, m := range r.modes {
		st, err := r.e.status(m)
		r.must(err)
		want, got := 0, 0
		for _, o := range st.Operators {
			want += int(o.Late)
		}
		for _, k := range kept {
			if k.Query == st.ID {
				got = len(k.Late)
			}
		}
		if n := r.c.keepLimit(); !toTable && want > n {
			want = n
		}
		if toTable {
			if got > 0 {
				r.errorf(s.line, "%s: %d late rows are kept beside the table", m, got)
			}
			n, err := r.e.query(fmt.Sprintf("SELECT count(*) FROM %s WHERE query = '%s'", table, m))
			r.must(err)
			got, err = strconv.Atoi(n[0])
			r.must(err)
		}
		if got != want {
			r.errorf(s.line, "%s: %d late rows are kept instead of %d", m, got, want)
		}
	}
}

// keepLimit is how many late rows a query keeps.
func (c *testCase) keepLimit() int {
	word, n, _ := strings.Cut(c.options["late_rows"], " ")
	limit, err := strconv.Atoi(n)
	switch {
	case word == "drop":
		return 0
	case err != nil:
		return 1000
	}
	return limit
}

// columns compares the names and types of the result's columns.
func (r *runner) columns() {
	r.t.Helper()
	r.e.w.mu.Lock()
	defer r.e.w.mu.Unlock()
	for _, m := range r.modes {
		var got, want []string
		for _, c := range r.e.w.sink(m).columns {
			got = append(got, c.Name+":"+c.Type.String())
		}
		for _, c := range r.c.columns {
			want = append(want, c.name+":"+c.typ.String())
		}
		if !slices.Equal(got, want) {
			r.errorf(r.c.line, "%s: the columns are %v instead of %v", m, got, want)
		}
	}
}

// bounded runs a case whose run ends by itself: all rows are there at its start, an
// epoch's as one append.
func (r *runner) bounded() map[string]error {
	var refused map[string]error
	for from := 0; from < len(r.c.epochs); {
		to := from + 1
		for to < len(r.c.epochs) && r.c.epochs[to].before == "" {
			to++
		}
		run := r.c.epochs[from:to]
		if from > 0 {
			r.must(r.e.close())
		}
		for _, ep := range run {
			r.feed(ep.steps[0])
		}
		if from > 0 {
			r.must(r.e.start())
		} else if refused = r.createAll(); len(r.modes) == 0 {
			return refused
		}
		if !run[len(run)-1].finished {
			r.t.Fatalf("%s:%d: the run must end", r.file, run[0].line)
		}
		r.must(r.e.await(func(s *cq.Status) bool { return s.State == cq.Finished }))
		r.checkRun(run)
		from = to
	}
	return refused
}

// checkRun compares a run's epochs with the sink's one by one; after them come
// empty ones only. Figures and watermarks are compared at the end.
func (r *runner) checkRun(run []*epoch) {
	r.t.Helper()
	last := run[len(run)-1].steps[0]
	for _, m := range r.modes {
		r.e.w.mu.Lock()
		s := r.e.w.sink(m)
		got := s.epochs[r.seen[m]:]
		r.seen[m] = len(s.epochs)
		r.e.w.mu.Unlock()
		for _, ep := range run {
			var plus, minus []string
			if len(got) > 0 {
				plus, minus = divide(nil, nil, got[0].rows)
				got = got[1:]
			}
			want := ep.steps[0].want[m]
			if want == nil {
				want = &output{}
			}
			r.output(ep.line, m, want, plus, minus)
		}
		for _, e := range got {
			if len(e.rows) > 0 {
				r.errorf(last.line, "%s: %d rows more after the last epoch", m, len(e.rows))
			}
		}
		st, err := r.e.status(m)
		r.must(err)
		total := *last
		total.counts = runCounts(run)
		r.figures(&total, m, &st)
		r.marks(last, m, &st)
	}
	r.columns()
}

// runCounts adds up the figures of a run's epochs; the state is that of the last.
func runCounts(run []*epoch) []count {
	var out []count
	for _, ep := range run {
		for _, c := range ep.steps[0].counts {
			i := slices.IndexFunc(out, func(o count) bool { return o.what == c.what && o.op == c.op && o.mode == c.mode })
			switch {
			case i < 0:
				out = append(out, c)
			case c.what == "state":
				out[i] = c
			default:
				out[i].n += c.n
			}
		}
	}
	return out
}

// realTime runs a case in real time, read by read.
func (r *runner) realTime() map[string]error {
	r.e.run()
	refused := r.createAll()
	if len(r.modes) == 0 {
		return refused
	}
	r.must(r.e.began())
	for _, ep := range r.c.epochs {
		for _, s := range ep.steps {
			r.feed(s)
			for _, m := range r.modes {
				r.checkRead(s, m)
			}
		}
		r.must(r.e.exec("FLUSH"))
		for _, m := range r.modes {
			if plus, minus := r.written(m); len(plus)+len(minus) > 0 {
				r.errorf(ep.line, "%s: %d rows more by the end of the epoch", m, len(plus)+len(minus))
			}
			st, err := r.e.status(m)
			r.must(err)
			last := *ep.steps[len(ep.steps)-1]
			last.counts = slices.DeleteFunc(slices.Clone(last.counts), func(c count) bool { return c.what != "state" })
			r.figures(&last, m, &st)
			r.marks(&last, m, &st)
		}
	}
	r.columns()
	return refused
}

// written returns what was written to a sink since the last look.
func (r *runner) written(mode string) (plus, minus []string) {
	r.e.w.mu.Lock()
	defer r.e.w.mu.Unlock()
	s := r.e.w.sink(mode)
	plus, minus = divide(nil, nil, s.written[r.read[mode]:])
	r.read[mode] = len(s.written)
	return plus, minus
}

// checkRead awaits what one read must bring: as many rows, and as many late ones.
func (r *runner) checkRead(s *step, mode string) {
	r.t.Helper()
	want := s.want[mode]
	if want == nil {
		want = &output{}
	}
	from := r.read[mode]
	var st cq.Status
	for deadline := time.Now().Add(patience / 4); ; time.Sleep(200 * time.Microsecond) {
		var err error
		st, err = r.e.status(mode)
		r.must(err)
		r.e.w.mu.Lock()
		n := len(r.e.w.sink(mode).written) - from
		r.e.w.mu.Unlock()
		ok := n >= len(want.plus)+len(want.minus)
		for _, c := range expected(s, mode) {
			ok = ok && (c.what == "state" || r.sum(c, mode, &st) == c.n)
		}
		if ok || time.Now().After(deadline) {
			break
		}
	}
	plus, minus := r.written(mode)
	r.output(s.line, mode, want, plus, minus)
	counts := *s
	counts.counts = slices.DeleteFunc(slices.Clone(s.counts), func(c count) bool { return c.what == "state" })
	r.figures(&counts, mode, &st)
}
