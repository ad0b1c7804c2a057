package session

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// vars holds the values of a session's parameters and undoes them with their
// transaction. cur, source and custom are replaced, never changed, so that
// executions and transactions may keep them.
type vars struct {
	reg    *registry
	cur    []string
	reset  []string // what RESET goes back to: the values at the session's start
	source []string
	custom map[string]string // made-up parameters with a dot, names in lower case
	// afterCommit holds what SET LOCAL covers until the transaction ends.
	afterCommit map[int]string
	// changed is called for each parameter whose value has changed.
	changed func(s *setting, value string)
}

// savedVars is the state to which a rollback returns.
type savedVars struct {
	cur, source []string
	custom      map[string]string
	afterCommit map[int]string
}

func newVars(changed func(*setting, string)) *vars {
	v := &vars{reg: loadSettings(), custom: map[string]string{}, afterCommit: map[int]string{}, changed: changed}
	for i := range v.reg.all {
		v.cur = append(v.cur, v.reg.all[i].boot)
		v.source = append(v.source, "default")
	}
	v.reset = slices.Clone(v.cur)
	return v
}

// get returns the canonical value of a parameter that is known to exist.
func (v *vars) get(name string) string { return v.cur[v.reg.byName[strings.ToLower(name)]] }

func (v *vars) on(name string) bool { return v.get(name) == "on" }

// lookup returns a parameter's value as SHOW prints it.
func (v *vars) lookup(name string) (string, bool) {
	if i, ok := v.reg.find(name); ok {
		return v.reg.all[i].show(v.cur[i]), true
	}
	s, ok := v.custom[strings.ToLower(name)]
	return s, ok
}

func (v *vars) put(i int, value, source string) {
	if v.source[i] != source {
		v.source = slices.Clone(v.source)
		v.source[i] = source
	}
	if v.cur[i] == value {
		return
	}
	v.cur = slices.Clone(v.cur)
	v.cur[i] = value
	if v.changed != nil {
		v.changed(&v.reg.all[i], value)
	}
}

func (v *vars) putCustom(name, value string) {
	v.custom = maps.Clone(v.custom)
	v.custom[strings.ToLower(name)] = value
}

// set gives a parameter a value by SET; the result tells whether the parameter
// has an effect.
func (v *vars) set(name, value string, local bool) (works bool, err error) {
	i, ok := v.reg.find(name)
	if !ok {
		if !custom(name) {
			return false, v.reg.unknown(name)
		}
		v.putCustom(name, value)
		return true, nil
	}
	s := &v.reg.all[i]
	if err := s.settable(); err != nil {
		return false, err
	}
	value, perr := s.parse(value)
	if perr != nil {
		return false, perr
	}
	v.assign(i, value, local)
	return s.works, nil
}

func (v *vars) assign(i int, value string, local bool) {
	if local {
		if _, covered := v.afterCommit[i]; !covered {
			v.afterCommit[i] = v.cur[i]
		}
	} else {
		delete(v.afterCommit, i)
	}
	v.put(i, value, "session")
}

func (s *setting) settable() *sqlerr.Error {
	switch s.context {
	case "internal":
		return sqlerr.New(sqlerr.CantChangeParam, "parameter %q cannot be changed", s.name)
	case "postmaster":
		return sqlerr.New(sqlerr.CantChangeParam, "parameter %q cannot be changed without restarting the server", s.name)
	case "sighup":
		return sqlerr.New(sqlerr.CantChangeParam, "parameter %q cannot be changed now", s.name)
	}
	return nil
}

// start gives a parameter its value for the whole session (start-up message).
func (v *vars) start(name, value string) error {
	i, ok := v.reg.find(name)
	if !ok {
		if !custom(name) {
			return v.reg.unknown(name)
		}
		v.putCustom(name, value)
		return nil
	}
	s := &v.reg.all[i]
	if err := s.settable(); err != nil {
		return err
	}
	value, perr := s.parse(value)
	if perr != nil {
		return perr
	}
	v.fix(i, value, "client")
	return nil
}

func (v *vars) fix(i int, value, source string) {
	v.reset[i] = value
	v.put(i, value, source)
}

// resetOne is RESET name and SET name TO DEFAULT.
func (v *vars) resetOne(name string, local bool) error {
	i, ok := v.reg.find(name)
	if !ok {
		if _, known := v.custom[strings.ToLower(name)]; known {
			v.putCustom(name, "")
			return nil
		}
		return v.reg.unknown(name)
	}
	if err := v.reg.all[i].settable(); err != nil {
		return err
	}
	v.assign(i, v.reset[i], local)
	return nil
}

// resetAll is RESET ALL: everything but what belongs to the transaction and who
// the user is.
func (v *vars) resetAll() {
	for i := range v.reg.all {
		switch s := &v.reg.all[i]; s.name {
		case "transaction_isolation", "transaction_read_only", "transaction_deferrable", "role", "session_authorization":
		default:
			if s.settable() == nil && v.cur[i] != v.reset[i] {
				v.assign(i, v.reset[i], false)
			}
		}
	}
	v.custom = map[string]string{}
}

// save and restore frame a transaction or savepoint.
func (v *vars) save() *savedVars {
	saved := &savedVars{cur: v.cur, source: v.source, custom: v.custom}
	if len(v.afterCommit) > 0 {
		saved.afterCommit = maps.Clone(v.afterCommit)
	}
	return saved
}

func (v *vars) restore(s *savedVars) {
	for i, val := range s.cur {
		v.put(i, val, s.source[i])
	}
	v.custom, v.afterCommit = s.custom, map[int]string{}
	maps.Copy(v.afterCommit, s.afterCommit)
}

// commit ends what SET LOCAL set.
func (v *vars) commit() {
	for _, i := range slices.Sorted(maps.Keys(v.afterCommit)) {
		v.put(i, v.afterCommit[i], v.source[i])
	}
	clear(v.afterCommit)
}

// list returns all parameters for pg_settings, with secrets of none.
func (v *vars) list() []catalog.Setting {
	out := make([]catalog.Setting, 0, len(v.cur))
	for i := range v.reg.all {
		s := &v.reg.all[i]
		c := catalog.Setting{Name: s.name, Value: v.cur[i], Unit: s.unit, Category: s.category, Description: s.desc,
			Type: s.vartype, Context: s.context, Enum: s.enum, Boot: s.boot, Reset: v.reset[i], Source: v.source[i]}
		if s.vartype == "integer" || s.vartype == "real" {
			c.Min, c.Max = formatNumber(s.min), formatNumber(s.max)
		}
		out = append(out, c)
	}
	for n, val := range v.custom {
		out = append(out, catalog.Setting{Name: n, Value: val, Category: "Customized Options", Type: "string",
			Context: "user", Source: "session"})
	}
	sort.SliceStable(out, func(i, j int) bool { return strings.ToLower(out[i].Name) < strings.ToLower(out[j].Name) })
	return out
}
