package connector

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Options reads the WITH (…) options of one connector. Each getter names an
// option that the connector knows, with its default; Err then tells every fault
// at once: values that do not parse, required options that are missing, and
// options that no getter named. Getters return the default for a faulty value.
type Options struct {
	owner  string
	given  map[string]string
	known  map[string]bool
	prefix []string
	faults []fault
}

type fault struct {
	code sqlerr.Code
	msg  string
	hint string
}

// NewOptions returns a reader of given; owner names the object for messages,
// as in `connector "file"`.
func NewOptions(owner string, given map[string]string) *Options {
	return &Options{owner: owner, given: given, known: map[string]bool{}}
}

// Has tells whether the option is given, and makes it known.
func (o *Options) Has(name string) bool {
	_, ok := o.get(name)
	return ok
}

func (o *Options) get(name string) (string, bool) {
	o.known[name] = true
	v, ok := o.given[name]
	return v, ok
}

// Fault adds a fault that the caller found, reported by Err.
func (o *Options) Fault(format string, args ...any) {
	o.fault(sqlerr.InvalidParameterValue, "", format, args...)
}

// FaultHint adds a fault with a hint, which may be empty.
func (o *Options) FaultHint(hint, format string, args ...any) {
	o.fault(sqlerr.InvalidParameterValue, hint, format, args...)
}

func (o *Options) fault(code sqlerr.Code, hint, format string, args ...any) {
	e := sqlerr.New(code, format, args...)
	o.faults = append(o.faults, fault{code, e.Message, hint})
}

// bad reports a value that is not of the wanted form; a secret's is not shown.
func (o *Options) bad(name, value, want string) {
	if IsSecret(name) {
		o.fault(sqlerr.InvalidParameterValue, "", `invalid value for option "%s"`, name)
		return
	}
	o.fault(sqlerr.InvalidParameterValue, want, `invalid value for option "%s": "%s"`, name, value)
}

// String returns the option's text.
func (o *Options) String(name, def string) string {
	if v, ok := o.get(name); ok {
		return v
	}
	return def
}

// Required returns the option's text; a missing or empty one is a fault.
func (o *Options) Required(name string) string {
	v, ok := o.get(name)
	if !ok || v == "" {
		o.fault(sqlerr.InvalidParameterValue, "", `%s requires option "%s"`, o.owner, name)
	}
	return v
}

// Int returns a whole number from lo to hi.
func (o *Options) Int(name string, def, lo, hi int64) int64 {
	v, ok := o.get(name)
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		o.bad(name, v, "A whole number is expected.")
		return def
	}
	if n < lo || n > hi {
		o.fault(sqlerr.InvalidParameterValue, "", `%d is outside the valid range for option "%s" (%d .. %d)`,
			n, name, lo, hi)
		return def
	}
	return n
}

// Float returns a finite number.
func (o *Options) Float(name string, def float64) float64 {
	v, ok := o.get(name)
	if !ok {
		return def
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		o.bad(name, v, "A number is expected.")
		return def
	}
	return f
}

// Bool returns a truth value in PostgreSQL's spellings.
func (o *Options) Bool(name string, def bool) bool {
	v, ok := o.get(name)
	if !ok {
		return def
	}
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "t", "true", "on", "yes", "1", "y":
		return true
	case "f", "false", "off", "no", "0", "n":
		return false
	}
	o.bad(name, v, "A boolean is expected: true or false.")
	return def
}

// Enum returns one of allowed (lower case), letter case ignored.
func (o *Options) Enum(name, def string, allowed ...string) string {
	v, ok := o.get(name)
	if !ok {
		return def
	}
	l := strings.ToLower(strings.TrimSpace(v))
	if slices.Contains(allowed, l) {
		return l
	}
	hint := sqlerr.Suggest(l, allowed)
	if hint != "" {
		hint += " "
	}
	o.bad(name, v, hint+"Valid values are: "+strings.Join(allowed, ", ")+".")
	return def
}

// Duration returns a span of time not below zero: "5 s", "100ms", "1 min 30 s".
func (o *Options) Duration(name string, def time.Duration) time.Duration {
	v, ok := o.get(name)
	if !ok {
		return def
	}
	d, ok := ParseDuration(v)
	if !ok {
		o.bad(name, v, `A duration is expected, such as "5 s"; units are us, ms, s, min, h and d.`)
		return def
	}
	return d
}

// Size returns a number of bytes: "64 MB", "1MiB", "4096". Units are powers of
// 1024, as in PostgreSQL.
func (o *Options) Size(name string, def int64) int64 {
	v, ok := o.get(name)
	if !ok {
		return def
	}
	n, ok := ParseSize(v)
	if !ok {
		o.bad(name, v, `A size is expected, such as "64 MB"; units are B, kB, MB, GB and TB.`)
		return def
	}
	return n
}

// List returns the parts of a comma-separated text, trimmed, without empty ones.
func (o *Options) List(name string) []string {
	v, _ := o.get(name)
	var out []string
	for _, p := range strings.Split(v, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// Prefix returns the options whose names begin with p, sorted and without it,
// and makes them known.
func (o *Options) Prefix(p string) map[string]string {
	o.prefix = append(o.prefix, p)
	out := map[string]string{}
	for name, v := range o.given {
		if rest, ok := strings.CutPrefix(name, p); ok && rest != "" {
			o.known[name] = true
			out[rest] = v
		}
	}
	return out
}

// Err returns every fault as one error, nil when there is none. Call it after
// the last getter.
func (o *Options) Err() error { return join(o.owner, o.allFaults()) }

// allFaults returns the faults with those of options that no getter named.
func (o *Options) allFaults() []fault {
	faults := slices.Clone(o.faults)
	for _, name := range slices.Sorted(maps.Keys(o.given)) {
		if o.known[name] {
			continue
		}
		known := slices.Sorted(maps.Keys(o.known))
		hint := sqlerr.Suggest(name, known)
		if hint == "" && len(known) > 0 {
			hint = "Valid options are: " + strings.Join(append(known, starred(o.prefix)...), ", ") + "."
		}
		e := sqlerr.New(sqlerr.InvalidParameterValue, `unrecognized option "%s" of %s`, name, o.owner)
		faults = append(faults, fault{e.Code, e.Message, hint})
	}
	return faults
}

func starred(prefixes []string) []string {
	var out []string
	for _, p := range prefixes {
		out = append(out, p+"*")
	}
	return out
}

// join makes one error of the faults: one speaks for itself, several are listed
// in the detail.
func join(owner string, faults []fault) error {
	if len(faults) == 0 {
		return nil
	}
	f := faults[0]
	e := &sqlerr.Error{Code: f.code, Message: f.msg, Hint: f.hint, Permanent: true}
	if len(faults) == 1 {
		return e
	}
	e.Message, e.Hint = strconv.Itoa(len(faults))+" faults in the options of "+owner+": "+f.msg+" and others", ""
	var b strings.Builder
	for i, f := range faults {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.msg + ".")
		if f.hint != "" {
			b.WriteString(" " + f.hint)
		}
	}
	e.Detail = b.String()
	return e
}

// secretWords mark the options whose values are never shown.
var secretWords = []string{"password", "passphrase", "secret", "token", "credential", "private_key", "sasl_jaas"}

// IsSecret tells whether an option's value must not be shown.
func IsSecret(name string) bool {
	l := strings.ReplaceAll(strings.ToLower(name), ".", "_")
	for _, w := range secretWords {
		if strings.Contains(l, w) {
			return true
		}
	}
	return strings.HasSuffix(l, "_key") && strings.Contains(l, "ssl")
}

// Masked returns a copy of options with the values of secrets replaced by
// "********", for SHOW, logs and errors.
func Masked(options map[string]string) map[string]string {
	out := maps.Clone(options)
	for name := range out {
		if IsSecret(name) {
			out[name] = "********"
		}
	}
	return out
}

var durationUnits = map[string]time.Duration{
	"us": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second, "secs": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// ParseDuration reads numbers with units: "5 s", "1.5min", "1 h 30 min"; "0"
// needs none. ok is false for anything else, and for what does not fit.
func ParseDuration(s string) (d time.Duration, ok bool) {
	s = strings.TrimSpace(s)
	if s == "0" {
		return 0, true
	}
	total := 0.0
	for s != "" {
		n, rest, ok := number(s)
		if !ok {
			return 0, false
		}
		word, rest := letters(strings.TrimLeft(rest, " "))
		unit, ok := durationUnits[strings.ToLower(word)]
		if !ok {
			return 0, false
		}
		total += n * float64(unit)
		s = strings.TrimLeft(rest, " ")
		d = 1
	}
	if d == 0 || total >= math.MaxInt64 {
		return 0, false
	}
	return time.Duration(math.Round(total)), true
}

var sizeUnits = map[string]int64{"": 1, "b": 1,
	"k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30, "t": 1 << 40, "tb": 1 << 40, "tib": 1 << 40}

// ParseSize reads a number of bytes with an optional unit of 1024's powers.
func ParseSize(s string) (n int64, ok bool) {
	f, rest, ok := number(strings.TrimSpace(s))
	if !ok {
		return 0, false
	}
	unit, ok := sizeUnits[strings.ToLower(strings.TrimSpace(rest))]
	if !ok || f*float64(unit) >= math.MaxInt64 {
		return 0, false
	}
	return int64(f * float64(unit)), true
}

// number takes a decimal number without sign off the front of s.
func number(s string) (f float64, rest string, ok bool) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	f, err := strconv.ParseFloat(s[:i], 64)
	return f, s[i:], err == nil
}

func letters(s string) (word, rest string) {
	i := 0
	for i < len(s) && (s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z') {
		i++
	}
	return s[:i], s[i:]
}
