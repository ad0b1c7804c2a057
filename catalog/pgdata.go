package catalog

import (
	"sort"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// pgType is a row of PostgreSQL's pg_type; regproc columns are oids.
type pgType struct {
	oid                          uint32
	name                         string
	len                          int16
	byVal                        bool
	typ, category                string
	preferred                    bool
	delim                        string
	elem, array, subscript       uint32
	input, output, receive, send uint32
	modin, modout, analyze       uint32
	align, storage               string
	collation                    uint32
}

// pgProc is a row of PostgreSQL's pg_proc.
type pgProc struct {
	oid              uint32
	name             string
	kind, volatility string
	strict, retset   bool
	ret              uint32
	args             []uint32
	argNames         []string
	variadic         uint32
	defaults         int16
	// inOut marks the functions that pg_type names: they always exist.
	inOut bool
}

// fields cuts one line of a data file; the first fault is kept.
type fields struct {
	f   []string
	err error
}

func (r *fields) next() string {
	if len(r.f) == 0 {
		r.err = sqlerr.Internal("short line in a catalog data file")
		return ""
	}
	s := r.f[0]
	r.f = r.f[1:]
	return s
}

func (r *fields) flag() bool { return r.next() == "t" }

func (r *fields) num() int64 {
	n, err := strconv.ParseInt(r.next(), 10, 64)
	if err != nil {
		r.err = err
	}
	return n
}

func (r *fields) oid() uint32 { return uint32(r.num()) }

func dataLines(name string) ([]string, error) {
	text, err := dataFiles.ReadFile("data/" + name)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), nil
}

func (s *System) readTypes() error {
	lines, err := dataLines("pg_type.tsv")
	if err != nil {
		return err
	}
	for _, line := range lines {
		r := &fields{f: strings.Split(line, "\t")}
		t := pgType{oid: r.oid(), name: r.next(), len: int16(r.num()), byVal: r.flag(), typ: r.next(),
			category: r.next(), preferred: r.flag(), delim: r.next(), elem: r.oid(), array: r.oid(),
			subscript: r.oid(), input: r.oid(), output: r.oid(), receive: r.oid(), send: r.oid(),
			modin: r.oid(), modout: r.oid(), analyze: r.oid(), align: r.next(), storage: r.next(),
			collation: r.oid()}
		if r.err != nil {
			return r.err
		}
		s.types = append(s.types, t)
	}
	return nil
}

func (s *System) readProcs() error {
	lines, err := dataLines("pg_proc.tsv")
	if err != nil {
		return err
	}
	inOut := map[uint32]bool{}
	for _, t := range s.types {
		for _, o := range []uint32{t.subscript, t.input, t.output, t.receive, t.send, t.modin, t.modout, t.analyze} {
			inOut[o] = true
		}
	}
	for _, line := range lines {
		r := &fields{f: strings.Split(line, "\t")}
		p := pgProc{oid: r.oid(), name: r.next(), kind: r.next(), volatility: r.next(), strict: r.flag(),
			retset: r.flag(), ret: r.oid()}
		for _, a := range strings.Fields(r.next()) {
			oid, err := strconv.ParseUint(a, 10, 32)
			if err != nil {
				return err
			}
			p.args = append(p.args, uint32(oid))
		}
		if names := r.next(); names != "" {
			p.argNames = strings.Split(names, ",")
		}
		p.variadic, p.defaults, p.inOut = r.oid(), int16(r.num()), inOut[p.oid]
		if r.err != nil {
			return r.err
		}
		s.procs = append(s.procs, p)
	}
	return nil
}

// firstOwnProc is the first oid of functions that PostgreSQL does not have.
const firstOwnProc = 12500

// FunctionSet is the functions that pg_proc shows, immutable.
type FunctionSet struct{ procs []pgProc }

// NewFunctionSet returns the functions that exist: those that types name and the
// known ones, with PostgreSQL's oids and signatures where it has them.
func NewFunctionSet(known []Function) *FunctionSet {
	sys, err := loadSystem()
	if err != nil {
		return &FunctionSet{} // Open fails with the same error
	}
	kinds := make(map[string]byte, len(known))
	for _, f := range known {
		kinds[f.Name] = f.Kind
	}
	var out []pgProc
	found := map[string]bool{}
	for _, p := range sys.procs {
		_, is := kinds[p.name]
		if p.inOut || is {
			out = append(out, p)
			found[p.name] = true
		}
	}
	var own []string
	for name := range kinds {
		if !found[name] {
			own = append(own, name)
		}
	}
	sort.Strings(own)
	for i, name := range own {
		out = append(out, pgProc{oid: uint32(firstOwnProc + i), name: name, kind: string(kinds[name]),
			volatility: "s", ret: 2276}) // "any": the result depends on the arguments
	}
	return &FunctionSet{out}
}

// typeByOID finds a built-in type.
func (s *System) typeByOID(oid uint32) *pgType {
	i := sort.Search(len(s.types), func(i int) bool { return s.types[i].oid >= oid })
	if i < len(s.types) && s.types[i].oid == oid {
		return &s.types[i]
	}
	return nil
}
