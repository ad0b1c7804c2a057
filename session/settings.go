package session

import (
	"embed"
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

//go:embed data/settings.tsv
var settingsFile embed.FS

// Version is the release that server_version and version() name.
const Version = "0.1"

// pgVersionNum is expr.ServerVersion as a number.
const pgVersionNum = "150010"

// setting is a run-time parameter as it is defined.
type setting struct {
	name, boot, unit, category, desc string
	context                          string // user, superuser, internal, postmaster, sighup, backend
	vartype                          string // bool, integer, real, string, enum
	min, max                         float64
	enum                             []string
	// works tells that the parameter has an effect; SET of another one that
	// PostgreSQL has is taken with a notice.
	works bool
	// report: the client is told of changes by ParameterStatus.
	report bool
	// list: the value is a list of names (search_path).
	list bool
	// check replaces the ordinary parsing of a string parameter.
	check func(value string) (string, *sqlerr.Error)
}

// reported are the parameters that clients are told of, in PostgreSQL's order.
var reported = []string{"application_name", "client_encoding", "DateStyle", "default_transaction_read_only",
	"in_hot_standby", "integer_datetimes", "IntervalStyle", "is_superuser", "server_encoding", "server_version",
	"session_authorization", "standard_conforming_strings", "TimeZone"}

// effective are PostgreSQL's parameters that do here what they do there.
var effective = []string{"application_name", "client_encoding", "client_min_messages", "DateStyle",
	"default_transaction_deferrable", "default_transaction_isolation", "default_transaction_read_only",
	"transaction_deferrable", "transaction_isolation", "transaction_read_only", "extra_float_digits", "bytea_output",
	"IntervalStyle", "standard_conforming_strings", "idle_in_transaction_session_timeout", "idle_session_timeout",
	"statement_timeout", "search_path", "TimeZone", "row_security", "escape_string_warning", "array_nulls",
	// No statement waits for a lock, so any limit is kept.
	"lock_timeout"}

const ownCategory = "Streaming"

// ownSettings are streamsql's own.
var ownSettings = []setting{
	{name: "implicit_flush", boot: "off", vartype: "bool", category: ownCategory,
		desc: "Waits, after a write and before a query reads a view, until every row committed is absorbed."},
	{name: "require_bounded_state", boot: "off", vartype: "bool", category: ownCategory,
		desc: "Refuses continuous queries over streams whose state nothing bounds."},
	{name: "parallelism", boot: "0", vartype: "integer", max: 256, category: ownCategory,
		desc: "Number of parallel tasks of new continuous queries that do not say it; 0 takes the engine's."},
	{name: "is_superuser", boot: "on", vartype: "bool", context: "internal", category: "Preset Options",
		desc: "Shows whether the current user is a superuser."},
	{name: "session_authorization", vartype: "string", category: "Preset Options",
		desc: "Shows the session's user name."},
	{name: "role", boot: "none", vartype: "string", category: "Preset Options", desc: "Shows the current role."},
}

// registry is all parameters, sorted by name.
type registry struct {
	all    []setting
	byName map[string]int // by name in lower case
	names  []string
}

var loadSettings = sync.OnceValue(func() *registry {
	r := &registry{byName: map[string]int{}}
	text, err := settingsFile.ReadFile("data/settings.tsv")
	if err != nil {
		panic(err) // embedded: it cannot be missing
	}
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		f := strings.Split(line, "\t")
		s := setting{name: f[0], boot: f[1], unit: f[2], category: f[3], desc: f[4], context: f[5], vartype: f[6],
			min: number(f[7], math.Inf(-1)), max: number(f[8], math.Inf(1))}
		if f[9] != "" {
			s.enum = strings.Split(f[9], ",")
		}
		r.all = append(r.all, s)
	}
	for _, s := range ownSettings {
		s.works = true
		if s.context == "" {
			s.context = "user"
		}
		r.all = append(r.all, s)
	}
	sort.Slice(r.all, func(i, j int) bool { return strings.ToLower(r.all[i].name) < strings.ToLower(r.all[j].name) })
	for i := range r.all {
		r.byName[strings.ToLower(r.all[i].name)] = i
		r.names = append(r.names, r.all[i].name)
	}
	r.adapt()
	return r
})

func number(s string, otherwise float64) float64 {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	return otherwise
}

// adapt changes PostgreSQL's definitions to what holds here.
func (r *registry) adapt() {
	for _, n := range effective {
		r.def(n).works = true
	}
	for _, n := range reported {
		r.def(n).report = true
	}
	for n, boot := range map[string]string{"server_version": expr.ServerVersion + " (streamsql " + Version + ")",
		"server_version_num": pgVersionNum, "server_encoding": "UTF8", "client_encoding": "UTF8", "TimeZone": "UTC",
		"lc_collate": "C.UTF-8", "lc_ctype": "C.UTF-8", "lc_messages": "C.UTF-8", "jit": "off",
		"default_text_search_config": "pg_catalog.simple"} {
		r.def(n).boot = boot
	}
	r.def("search_path").list = true
	for n, check := range map[string]func(string) (string, *sqlerr.Error){"DateStyle": checkDateStyle,
		"TimeZone": checkTimeZone, "client_encoding": checkEncoding, "search_path": checkSearchPath,
		"IntervalStyle":               only("IntervalStyle", "postgres", r.def("IntervalStyle").enum),
		"standard_conforming_strings": onlyOn,
		"application_name":            checkPrintable} {
		r.def(n).check = check
	}
}

// Parameter describes a run-time parameter that has an effect.
type Parameter struct {
	Name, Default, Description string
	// Own: PostgreSQL does not have it. Fixed: SET cannot change it.
	Own, Fixed bool
}

// Parameters returns the run-time parameters that have an effect, by name.
func Parameters() []Parameter {
	var out []Parameter
	for i := range loadSettings().all {
		s := &loadSettings().all[i]
		if s.works {
			out = append(out, Parameter{Name: s.name, Default: s.show(s.boot), Description: s.desc,
				Own: s.category == ownCategory, Fixed: s.settable() != nil})
		}
	}
	return out
}

// def returns a definition that is known to exist.
func (r *registry) def(name string) *setting { return &r.all[r.byName[strings.ToLower(name)]] }

// find returns the position of a parameter; ok is false for an unknown one.
func (r *registry) find(name string) (int, bool) {
	i, ok := r.byName[strings.ToLower(name)]
	return i, ok
}

// custom tells whether name is one that a client may make up: two or more
// identifiers with dots.
func custom(name string) bool {
	parts := strings.Split(name, ".")
	if len(parts) < 2 {
		return false
	}
	for _, p := range parts {
		for i, c := range p {
			letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > 127
			if !letter && (i == 0 || c != '$' && (c < '0' || c > '9')) {
				return false
			}
		}
		if p == "" {
			return false
		}
	}
	return true
}

func (r *registry) unknown(name string) *sqlerr.Error {
	e := sqlerr.New(sqlerr.UndefinedObject, "unrecognized configuration parameter %q", name)
	if strings.Contains(name, ".") {
		e = sqlerr.New(sqlerr.InvalidName, "invalid configuration parameter name %q", name).
			WithDetail("Custom parameter names must be two or more simple identifiers separated by dots.")
	}
	e.Hint = sqlerr.Suggest(name, r.names)
	return e
}

// parse returns value in its canonical form, that of pg_settings.setting.
func (s *setting) parse(value string) (string, *sqlerr.Error) {
	if s.check != nil {
		return s.check(value)
	}
	switch s.vartype {
	case "bool":
		b, ok := parseBool(value)
		if !ok {
			return "", sqlerr.New(sqlerr.InvalidParameterValue, "parameter %q requires a Boolean value", s.name)
		}
		return onOff(b), nil
	case "enum":
		return s.parseEnum(value)
	case "integer", "real":
		return s.parseNumber(value)
	}
	return value, nil
}

func invalid(name, value string) *sqlerr.Error {
	return sqlerr.New(sqlerr.InvalidParameterValue, "invalid value for parameter %q: %q", name, value)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// parseBool reads on, off, true, false, yes, no, 1, 0 and their unambiguous
// beginnings.
func parseBool(v string) (value, ok bool) {
	v = strings.ToLower(v)
	if v == "" {
		return false, false
	}
	for _, w := range []struct {
		word  string
		least int
		value bool
	}{{"true", 1, true}, {"false", 1, false}, {"yes", 1, true}, {"no", 1, false}, {"on", 2, true}, {"off", 2, false},
		{"1", 1, true}, {"0", 1, false}} {
		if len(v) >= w.least && strings.HasPrefix(w.word, v) {
			return w.value, true
		}
	}
	return false, false
}

func (s *setting) parseEnum(value string) (string, *sqlerr.Error) {
	for _, e := range s.enum {
		if strings.EqualFold(e, value) {
			return e, nil
		}
	}
	// Spellings that PostgreSQL takes without listing them.
	for alias, e := range map[string]string{"debug": "debug2", "info": "info", "fatal": "fatal", "panic": "panic"} {
		if s.name == "client_min_messages" && strings.EqualFold(alias, value) {
			return e, nil
		}
	}
	if b, ok := parseBool(value); ok {
		for _, e := range s.enum {
			if e == onOff(b) {
				return e, nil
			}
		}
	}
	return "", invalid(s.name, value).WithHint("Available values: %s.", strings.Join(s.enum, ", "))
}

type unit struct {
	name string
	per  float64 // of the next smaller base: bytes or microseconds
}

var (
	memoryUnits = []unit{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}
	timeUnits   = []unit{{"d", 86400e6}, {"h", 3600e6}, {"min", 60e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}}
)

// units returns the units that the parameter's values may have and the size of
// its own; nil for a plain number.
func (s *setting) units() ([]unit, float64) {
	switch s.unit {
	case "":
		return nil, 1
	case "8kB":
		return memoryUnits, 8 << 10
	}
	for _, list := range [][]unit{memoryUnits, timeUnits} {
		for _, u := range list {
			if u.name == s.unit {
				return list, u.per
			}
		}
	}
	return nil, 1
}

func (s *setting) parseNumber(value string) (string, *sqlerr.Error) {
	text := strings.TrimSpace(value)
	end := len(text)
	for end > 0 && (text[end-1] >= 'a' && text[end-1] <= 'z' || text[end-1] >= 'A' && text[end-1] <= 'Z') {
		end--
	}
	list, base := s.units()
	if list == nil && s.vartype == "real" {
		end = len(text) // 1e3 ends in a digit; any letter at the end is an error
	}
	word := text[end:]
	n, err := parseFloat(strings.TrimSpace(text[:end]))
	if err != nil {
		return "", invalid(s.name, value)
	}
	if word != "" {
		i := 0
		for i < len(list) && list[i].name != word {
			i++
		}
		if i == len(list) {
			return "", s.unitError(value, list)
		}
		n = n * list[i].per / base
	}
	if s.vartype == "integer" {
		n = math.RoundToEven(n)
		if math.Abs(n) > math.MaxInt32 {
			return "", invalid(s.name, value).WithHint("Value exceeds integer range.")
		}
	}
	if n < s.min || n > s.max {
		shownUnit := ""
		if s.unit != "" {
			shownUnit = " " + s.unit
		}
		return "", sqlerr.New(sqlerr.InvalidParameterValue, "%s%s is outside the valid range for parameter %q (%s .. %s)",
			formatNumber(n), shownUnit, s.name, formatNumber(s.min), formatNumber(s.max))
	}
	return formatNumber(n), nil
}

// parseFloat reads a decimal, hexadecimal or octal number as PostgreSQL does.
func parseFloat(s string) (float64, error) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return float64(n), nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
		return 0, strconv.ErrRange
	}
	return n, err
}

func (s *setting) unitError(value string, list []unit) *sqlerr.Error {
	e := invalid(s.name, value)
	if list == nil {
		return e
	}
	names := make([]string, len(list))
	for i, u := range list {
		names[len(list)-1-i] = `"` + u.name + `"`
	}
	names[len(names)-1] = "and " + names[len(names)-1]
	return e.WithHint("Valid units for this parameter are %s.", strings.Join(names, ", "))
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// show returns a canonical value as SHOW prints it: with the largest unit that
// divides it.
func (s *setting) show(value string) string {
	list, base := s.units()
	if list == nil {
		return value
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n <= 0 {
		return value
	}
	for _, u := range list {
		if q := n * base / u.per; q >= 1 && q == math.Trunc(q) {
			return formatNumber(q) + u.name
		}
	}
	return value + s.unit
}
