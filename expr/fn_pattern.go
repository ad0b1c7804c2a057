package expr

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// maxPatterns bounds the compiled patterns that a Ctx keeps.
const maxPatterns = 256

// patternKey identifies a compiled pattern.
type patternKey struct{ pattern, flags string }

// regex returns the compiled pattern of this row. The last one is kept in the
// frame, all of them in Ctx: a constant is compiled once in an operator's life.
func (f *frame) regex(pattern, flags string, global bool) (*scalar.Regex, error) {
	if f.re != nil && f.reKey.pattern == pattern && f.reKey.flags == flags {
		return f.re, nil
	}
	key := patternKey{string([]byte(pattern)), string([]byte(flags))}
	re, ok := f.ctx.regexps[key]
	if !ok {
		var err error
		if re, err = scalar.CompileRegex(key.pattern, key.flags, global); err != nil {
			return nil, err
		}
		if f.ctx.regexps == nil || len(f.ctx.regexps) >= maxPatterns {
			f.ctx.regexps = map[patternKey]*scalar.Regex{}
		}
		f.ctx.regexps[key] = re
	}
	f.re, f.reKey = re, key
	return re, nil
}

// like is regex for LIKE patterns.
func (f *frame) like(pattern string) *scalar.LikePattern {
	if f.lk == nil || f.reKey.pattern != pattern {
		f.reKey.pattern = string([]byte(pattern))
		f.lk = scalar.CompileLike(f.reKey.pattern)
	}
	return f.lk
}

// like is the compiled form of a constant pattern, kept in Ctx.
func (c *Ctx) like(pattern string) *scalar.LikePattern {
	if p, ok := c.likes[pattern]; ok {
		return p
	}
	if c.likes == nil || len(c.likes) >= maxPatterns {
		c.likes = map[string]*scalar.LikePattern{}
	}
	key := string([]byte(pattern))
	p := scalar.CompileLike(key)
	c.likes[key] = p
	return p
}

// addPatterns adds LIKE, regular expressions and the functions that use them.
func addPatterns(t *table) {
	likeOperators(t)
	regexOperators(t)
	regexFunctions(t)
	regexFinders(t)
	escape := func(f *frame, i int) (err error) {
		f.out.Data, err = scalar.LikeEscape(f.out.Data, f.str(0, i), f.str(1, i))
		return err
	}
	t.fn("like_escape", "text,text:text", "LIKE pattern with another escape character", escape)
	t.fn("similar_to_escape", "text:text", "SIMILAR TO pattern as regular expression", func(f *frame, i int) (err error) {
		f.out.Data, err = scalar.SimilarToRegex(f.out.Data, f.str(0, i), `\`)
		return err
	})
	t.fn("similar_to_escape", "text,text:text", "SIMILAR TO pattern as regular expression",
		func(f *frame, i int) (err error) {
			f.out.Data, err = scalar.SimilarToRegex(f.out.Data, f.str(0, i), f.str(1, i))
			return err
		})
}

func likeOperators(t *table) {
	for _, neg := range []bool{false, true} {
		bang := ""
		if neg {
			bang = "!"
		}
		like := func(f *frame, i int) error {
			ok, err := f.like(f.str(1, i)).Match(f.bytes(0, i))
			f.out.Bits.Put(i, ok != neg)
			return err
		}
		likes := kernel(func(f *frame) {
			if !f.args[1].one || f.args[0].one {
				f.each(like)
				return
			}
			p := f.ctx.like(f.str(1, 0))
			col := f.args[0].v
			dense := f.sel == nil || len(f.sel)*4 > f.n
			if dense && p.MatchColumn(f.out.Bits, col.Off[:f.n+1], col.Data, neg) {
				return
			}
			f.each(func(f *frame, i int) error {
				ok, err := p.Match(f.bytes(0, i))
				f.out.Bits.Put(i, ok != neg)
				return err
			})
		})
		ilike := func(f *frame, i int) error {
			f.buf = scalar.AppendLower(f.buf[:0], f.str(1, i))
			p := f.like(string(f.buf))
			f.buf = scalar.AppendLower(f.buf[:0], f.str(0, i))
			ok, err := p.Match(f.buf)
			f.out.Bits.Put(i, ok != neg)
			return err
		}
		for _, typ := range []string{"text", "name", "bpchar"} {
			t.op(bang+"~~", typ+",text:bool", nil, likes)
			t.op(bang+"~~*", typ+",text:bool", ilike)
		}
		t.op(bang+"~~", "bytea,bytea:bool", like)
	}
}

func regexOperators(t *table) {
	match := func(flags string, neg bool) rowFunc {
		return func(f *frame, i int) error {
			re, err := f.regex(f.str(1, i), flags, false)
			if err != nil {
				return err
			}
			return f.setBool(i, re.Match(f.bytes(0, i)) != neg)
		}
	}
	for _, typ := range []string{"text", "name", "bpchar"} {
		t.op("~", typ+",text:bool", match("", false))
		t.op("!~", typ+",text:bool", match("", true))
		t.op("~*", typ+",text:bool", match("i", false))
		t.op("!~*", typ+",text:bool", match("i", true))
	}
	t.fn("regexp_like", "text,text:bool", "text matches a regular expression", match("", false))
	t.fn("regexp_like", "text,text,text:bool", "text matches a regular expression", func(f *frame, i int) error {
		re, err := f.noGlobal(f.str(1, i), f.str(2, i), "regexp_like")
		if err != nil {
			return err
		}
		return f.setBool(i, re.Match(f.bytes(0, i)))
	})
}

// noGlobal is regex for functions that refuse the option g.
func (f *frame) noGlobal(pattern, flags, name string) (*scalar.Regex, error) {
	re, err := f.regex(pattern, flags, true)
	if err == nil && re.Global {
		e := sqlerr.New(sqlerr.InvalidParameterValue, "%s() does not support the \"global\" option", name)
		if name == "regexp_match" {
			e = e.WithHint("Use the regexp_matches function instead.")
		}
		return nil, e
	}
	return re, err
}

func regexFunctions(t *table) {
	const desc = "text with matches of a regular expression replaced"
	t.fn("regexp_replace", "text,text,text:text", desc, func(f *frame, i int) error {
		re, err := f.regex(f.str(1, i), "", true)
		if err != nil {
			return err
		}
		return regexReplace(f, re, f.str(0, i), f.str(2, i), 1, 1)
	})
	t.fn("regexp_replace", "text,text,text,text:text", desc, func(f *frame, i int) error {
		if flags := f.str(3, i); flags != "" && flags[0] >= '0' && flags[0] <= '9' {
			return sqlerr.New(sqlerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", flags[0]).
				WithHint("If you meant to use regexp_replace() with a start parameter, " +
					"cast the fourth argument to integer explicitly.")
		}
		re, err := f.regex(f.str(1, i), f.str(3, i), true)
		if err != nil {
			return err
		}
		n := 1
		if re.Global {
			n = 0
		}
		return regexReplace(f, re, f.str(0, i), f.str(2, i), 1, n)
	})
	from := func(n, flags int) rowFunc {
		return func(f *frame, i int) error {
			opts := ""
			if flags > 0 {
				opts = f.str(flags, i)
			}
			re, err := f.regex(f.str(1, i), opts, true)
			if err != nil {
				return err
			}
			nth := 1
			if n > 0 {
				nth = int(f.i32(n, i))
				if nth < 0 {
					return badArgument("n", nth)
				}
			} else if re.Global {
				nth = 0
			}
			start := int(f.i32(3, i))
			if start <= 0 {
				return badArgument("start", start)
			}
			return regexReplace(f, re, f.str(0, i), f.str(2, i), start, nth)
		}
	}
	t.fn("regexp_replace", "text,text,text,int4:text", desc, from(0, 0))
	t.fn("regexp_replace", "text,text,text,int4,int4:text", desc, from(4, 0))
	t.fn("regexp_replace", "text,text,text,int4,int4,text:text", desc, from(4, 5))
	const pieces = "pieces of a text between matches"
	t.fn("regexp_split_to_array", "text,text:text[]", pieces, func(f *frame, i int) error {
		return regexSplit(f, i, "")
	})
	t.fn("regexp_split_to_array", "text,text,text:text[]", pieces, func(f *frame, i int) error {
		return regexSplit(f, i, f.str(2, i))
	})
}

func badArgument(name string, x int) error {
	return sqlerr.New(sqlerr.InvalidParameterValue, "invalid value for parameter \"%s\": %d", name, x)
}

// regexReplace replaces match n of s from character start on, all if n is 0.
func regexReplace(f *frame, re *scalar.Regex, s, repl string, start, n int) error {
	limit := n
	if n == 0 {
		limit = -1
	}
	skip := scalar.Offset(s, start-1)
	last := 0
	for k, loc := range re.FindFrom(s, skip, limit) {
		if n > 0 && k != n-1 {
			continue
		}
		f.out.Data = append(f.out.Data, s[last:loc[0]]...)
		f.out.Data = scalar.AppendReplacement(f.out.Data, repl, s, loc)
		last = loc[1]
	}
	return f.setStr(s[last:])
}

func regexSplit(f *frame, i int, flags string) error {
	re, err := f.noGlobal(f.str(1, i), flags, "regexp_split_to_array")
	if err != nil {
		return err
	}
	s, last := f.str(0, i), 0
	elems := f.out.Kids[0]
	for _, loc := range re.FindAllStringIndex(s, -1) {
		// An empty match splits between characters, not at the ends.
		if loc[1] == loc[0] && (loc[0] == 0 || loc[0] >= len(s) || loc[0] == last) {
			continue
		}
		elems.AppendString(s[last:loc[0]])
		last = loc[1]
	}
	elems.AppendString(s[last:])
	return nil
}

// regexFinders adds regexp_match, _substr, _count, _instr and substring.
func regexFinders(t *table) {
	match := func(flags int) rowFunc {
		return func(f *frame, i int) error {
			opts := ""
			if flags > 0 {
				opts = f.str(flags, i)
			}
			re, err := f.noGlobal(f.str(1, i), opts, "regexp_match")
			if err != nil {
				return err
			}
			s := f.str(0, i)
			loc := re.FindStringSubmatchIndex(s)
			if loc == nil {
				f.null(i)
				return nil
			}
			appendGroups(f.out.Kids[0], s, loc)
			return nil
		}
	}
	t.fn("regexp_match", "text,text:text[]", "groups of the first match", match(0))
	t.fn("regexp_match", "text,text,text:text[]", "groups of the first match", match(2))
	t.fn("substring", "text,text:text", "first match, or its first group", func(f *frame, i int) error {
		re, err := f.regex(f.str(1, i), "", false)
		if err != nil {
			return err
		}
		return firstGroup(f, i, re, f.str(0, i), re.FindStringSubmatchIndex(f.str(0, i)))
	})
	t.fn("substring", "text,text,text:text", "part that an SQL regular expression marks", func(f *frame, i int) error {
		p, err := scalar.SimilarToRegex(nil, f.str(1, i), f.str(2, i))
		if err != nil {
			return err
		}
		re, err := f.regex(string(p), "", false)
		if err != nil {
			return err
		}
		return firstGroup(f, i, re, f.str(0, i), re.FindStringSubmatchIndex(f.str(0, i)))
	})
	regexSearches(t)
}

// search is a call of regexp_count, regexp_instr or regexp_substr: what is left
// out has a default.
type search struct {
	s        string
	re       *scalar.Regex
	start, n int
	end      bool
	group    int
}

// searchArgs are the optional parameters of the searches, in their order.
var searchArgs = map[string][]string{
	"regexp_count":  {"start", "flags"},
	"regexp_instr":  {"start", "n", "endoption", "flags", "subexpr"},
	"regexp_substr": {"start", "n", "flags", "subexpr"},
}

// search reads the arguments of row i.
func (f *frame) search(i int, params []string) (q search, err error) {
	q = search{s: f.str(0, i), start: 1, n: 1}
	flags := ""
	for k, name := range params[:len(f.args)-2] {
		k += 2
		switch name {
		case "flags":
			flags = f.str(k, i)
			continue
		case "start":
			q.start = int(f.i32(k, i))
		case "n":
			q.n = int(f.i32(k, i))
		case "subexpr":
			q.group = int(f.i32(k, i))
		case "endoption":
			q.end = f.i32(k, i) == 1
			if x := f.i32(k, i); x != 0 && x != 1 {
				return q, badArgument(name, int(x))
			}
		}
		if x := f.i32(k, i); name != "endoption" && (x < 0 || x == 0 && name != "subexpr") {
			return q, badArgument(name, int(x))
		}
	}
	q.re, err = f.noGlobal(f.str(1, i), flags, f.call.fn.Name)
	return q, err
}

// find returns the place of the match that a search asks for, or of its group.
func (q search) find() (lo, hi int, ok bool) {
	skip := scalar.Offset(q.s, q.start-1)
	if q.start > scalar.Len(q.s)+1 {
		return 0, 0, false
	}
	locs := q.re.FindFrom(q.s, skip, q.n)
	if len(locs) < q.n || 2*q.group+1 >= len(locs[q.n-1]) {
		return 0, 0, false
	}
	lo, hi = locs[q.n-1][2*q.group], locs[q.n-1][2*q.group+1]
	return lo, hi, lo >= 0
}

func regexSearches(t *table) {
	add := func(name, res, desc string, row func(f *frame, i int, q search) error) {
		params := searchArgs[name]
		sig := "text,text"
		for n := 0; n <= len(params); n++ {
			if n > 0 && params[n-1] == "flags" {
				sig += ",text"
			} else if n > 0 {
				sig += ",int4"
			}
			t.fn(name, sig+":"+res, desc, func(f *frame, i int) error {
				q, err := f.search(i, params)
				if err != nil {
					return err
				}
				return row(f, i, q)
			})
		}
	}
	add("regexp_count", "int4", "number of matches", func(f *frame, i int, q search) error {
		if q.start > scalar.Len(q.s)+1 {
			return f.setI32(i, 0)
		}
		return f.setI32(i, int32(len(q.re.FindFrom(q.s, scalar.Offset(q.s, q.start-1), -1))))
	})
	add("regexp_instr", "int4", "place of a match, 0: none", func(f *frame, i int, q search) error {
		lo, hi, ok := q.find()
		switch {
		case !ok:
			return f.setI32(i, 0)
		case q.end:
			lo = hi
		}
		return f.setI32(i, int32(scalar.Len(q.s[:lo]))+1)
	})
	add("regexp_substr", "text", "a match", func(f *frame, i int, q search) error {
		lo, hi, ok := q.find()
		if !ok {
			f.null(i)
			return nil
		}
		return f.setStr(q.s[lo:hi])
	})
}

// appendGroups appends the groups of a match, the whole where there are none.
func appendGroups(elems *arrowbatch.Vec, s string, loc []int) {
	if len(loc) == 2 {
		elems.AppendString(s[loc[0]:loc[1]])
		return
	}
	for k := 2; k < len(loc); k += 2 {
		if loc[k] < 0 {
			elems.AppendNull()
		} else {
			elems.AppendString(s[loc[k]:loc[k+1]])
		}
	}
}

func firstGroup(f *frame, i int, re *scalar.Regex, s string, loc []int) error {
	k := 0
	if re.NumSubexp() > 0 {
		k = 2
	}
	if loc == nil || loc[k] < 0 {
		f.null(i)
		return nil
	}
	return f.setStr(s[loc[k]:loc[k+1]])
}
