package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// pgFunctions are what the translated queries call: windows as PostgreSQL computes
// them, with whole microseconds as numeric, and now() as the epoch's.
const pgFunctions = `
CREATE TYPE win AS (start timestamptz, "end" timestamptz);
CREATE FUNCTION us(t timestamptz) RETURNS numeric LANGUAGE sql IMMUTABLE AS
  $$SELECT extract(epoch FROM t) * 1000000$$;
CREATE FUNCTION us(i interval) RETURNS numeric LANGUAGE sql IMMUTABLE AS
  $$SELECT extract(epoch FROM i) * 1000000$$;
CREATE FUNCTION at(us numeric) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
  $$SELECT 'epoch'::timestamptz + us::float8 * interval '1 microsecond'$$;
CREATE FUNCTION span(us numeric, size numeric) RETURNS win LANGUAGE sql IMMUTABLE AS
  $$SELECT row(at(us), at(us + size))::win$$;
CREATE FUNCTION hop_windows(t timestamptz, slide interval, size interval, off interval DEFAULT '0')
  RETURNS SETOF win LANGUAGE sql IMMUTABLE AS
  $$SELECT span(s, us(size)) FROM generate_series(
    (floor((us(t) - us(size) - us(off)) / us(slide)) + 1) * us(slide) + us(off), us(t), us(slide)) AS s$$;
CREATE FUNCTION tumble_windows(t timestamptz, size interval, off interval DEFAULT '0')
  RETURNS SETOF win LANGUAGE sql IMMUTABLE AS
  $$SELECT hop_windows(t, size, size, off)$$;
CREATE FUNCTION cumulate_windows(t timestamptz, step interval, size interval, off interval DEFAULT '0')
  RETURNS SETOF win LANGUAGE sql IMMUTABLE AS
  $$SELECT span(b, n * us(step)) FROM (SELECT floor((us(t) - us(off)) / us(size)) * us(size) + us(off)) AS x(b),
    generate_series(floor((us(t) - b) / us(step)) + 1, us(size) / us(step)) AS n$$;
CREATE FUNCTION "window"(t timestamptz, size interval) RETURNS SETOF win LANGUAGE sql IMMUTABLE AS
  $$SELECT tumble_windows(t, size)$$;
CREATE FUNCTION "window"(t timestamptz, size interval, slide interval, off interval DEFAULT '0')
  RETURNS SETOF win LANGUAGE sql IMMUTABLE AS $$SELECT hop_windows(t, slide, size, off)$$;
CREATE FUNCTION window_time(w win) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
  $$SELECT (w)."end" - interval '1 microsecond'$$;
CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE AS
  $$SELECT 'epoch'::timestamptz + current_setting('stream.clock')::interval$$;
CREATE FUNCTION first_of(a anyelement, b anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE STRICT AS $$SELECT a$$;
CREATE AGGREGATE any_value(anyelement) (sfunc = first_of, stype = anyelement);
`

// pgWords splits SQL into words, quoted strings and signs.
func pgWords(text string) []string {
	var out []string
	isWord := func(b byte) bool {
		return b == '_' || b == '.' || b == '$' || b >= '0' && b <= '9' || b|32 >= 'a' && b|32 <= 'z' || b >= 0x80
	}
	for i := 0; i < len(text); {
		j := i + 1
		switch b := text[i]; {
		case b == ' ' || b == '\n' || b == '\t':
			i++
			continue
		case b == '\'' || b == '"':
			for j < len(text) && text[j] != b {
				j++
			}
			j++
		case isWord(b):
			for j < len(text) && isWord(text[j]) {
				j++
			}
		case j < len(text) && slices.Contains([]string{"::", "=>", "<=", ">=", "<>", "!=", "||", "->"}, text[i:j+1]):
			j++
		}
		j = min(j, len(text))
		out = append(out, text[i:j])
		i = j
	}
	return out
}

// toPostgres translates a query over streams into one over PostgreSQL tables of the
// same names that hold the rows taken in so far.
func toPostgres(text string) string { return strings.Join(pgQuery(pgWords(text)), " ") }

func is(w []string, i int, word string) bool {
	return i >= 0 && i < len(w) && strings.EqualFold(w[i], word)
}

// closing is the index of the parenthesis that closes the one at i.
func closing(w []string, i int) int {
	depth := 0
	for ; i < len(w); i++ {
		switch w[i] {
		case "(", "[":
			depth++
		case ")", "]":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(w) - 1
}

// parts splits words at commas outside parentheses.
func parts(w []string) [][]string {
	var out [][]string
	from := 0
	for i := 0; i < len(w); i++ {
		switch w[i] {
		case "(", "[":
			i = closing(w, i)
		case ",":
			out = append(out, w[from:i])
			from = i + 1
		}
	}
	return append(out, w[from:])
}

// top is the index of a word outside parentheses from i on, or len(w).
func top(w []string, i int, words ...string) int {
	for ; i < len(w); i++ {
		if w[i] == "(" || w[i] == "[" {
			i = closing(w, i)
			continue
		}
		for _, word := range words {
			if is(w, i, word) && !(i > 0 && is(w, i-1, "DISTINCT") && word == "FROM") {
				return i
			}
		}
	}
	return len(w)
}

// pgQuery translates the words of a query: its parts between set operations.
func pgQuery(w []string) []string {
	var out []string
	for i := 0; i <= len(w); {
		j := top(w, i, "UNION", "EXCEPT", "INTERSECT")
		out = append(out, pgSelect(w[i:j])...)
		if j < len(w) {
			out = append(out, w[j])
		}
		i = j + 1
	}
	return out
}

// pgSelect translates one SELECT; sessions among the keys of its GROUP BY become
// values of its FROM.
func pgSelect(w []string) []string {
	from := top(w, 0, "FROM")
	by := top(w, from, "GROUP")
	if by == len(w) || top(w[by:], 0, "session_window") == len(w[by:]) {
		return pgPlain(w)
	}
	end := top(w, by, "HAVING", "ORDER")
	where := min(top(w, from, "WHERE"), by)
	var keys [][]string
	var call []string
	for _, k := range parts(w[by+2 : end]) {
		if is(k, 0, "session_window") {
			call = k
		} else {
			keys = append(keys, pgPlain(k))
		}
	}
	args := parts(call[2 : len(call)-1])
	source := pgPlain(w[from+1 : where])
	alias := source[len(source)-1]
	inner := append(append([]string{"SELECT * FROM"}, source...), pgPlain(w[where:by])...)
	sessions := islands(strings.Join(inner, " "), joinAll(keys), join(pgPlain(args[0])), join(pgPlain(args[1])),
		"row(%s, %s)::win AS session_of")
	out := replaced(w[:from], call, "session_of")
	out = append(pgPlain(out), "FROM", "(", sessions, ")", "AS", alias)
	return append(out, pgPlain(replaced(w[by:], call, "session_of"))...)
}

func join(w []string) string { return strings.Join(w, " ") }

func joinAll(w [][]string) string {
	var out []string
	for _, k := range w {
		out = append(out, join(k))
	}
	return strings.Join(out, ", ")
}

// replaced is w with each occurrence of some words replaced by one.
func replaced(w, old []string, by string) []string {
	var out []string
	for i := 0; i < len(w); {
		if len(w)-i >= len(old) && slices.Equal(w[i:i+len(old)], old) {
			out = append(out, by)
			i += len(old)
			continue
		}
		out = append(out, w[i])
		i++
	}
	return out
}

// islands gives the rows of a query with the start and the end of their sessions: a
// row begins a session when it is after the end of all rows before it. What the
// sessions are called is in the two verbs of as.
func islands(query, keys, t, gap, as string) string {
	over := "ORDER BY " + t
	island := "session_no"
	if keys != "" {
		over = "PARTITION BY " + keys + " " + over
		island += ", " + keys
	}
	ends := fmt.Sprintf("((%s) + (%s))", t, gap)
	before := over + " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
	begins := fmt.Sprintf("SELECT *, coalesce(%s > max(%s) OVER (%s), true)"+
		" AS session_begins FROM (%s) AS q1 WHERE %s IS NOT NULL AND (%s) > INTERVAL '0'", t, ends, before, query, t, gap)
	numbered := fmt.Sprintf("SELECT *, count(*) FILTER (WHERE session_begins) OVER (%s) AS session_no FROM (%s) AS q2",
		over, begins)
	is := func(f, x string) string { return fmt.Sprintf("%s(%s) OVER (PARTITION BY %s)", f, x, island) }
	return fmt.Sprintf("SELECT *, "+as+" FROM (%s) AS q3", is("min", t), is("max", ends), numbered)
}

// pgClocks are the words for the present time that no function can stand in for.
var pgClocks = map[string]string{"current_timestamp": "now()", "localtimestamp": "now()::timestamp",
	"current_date": "now()::date"}

// pgPlain translates words in which no session stands on the top level.
func pgPlain(w []string) []string {
	var out []string
	for i := 0; i < len(w); i++ {
		switch {
		case is(w, i, "STREAM") && i+1 < len(w) && (is(w, i-1, "FROM") || is(w, i-1, "JOIN") || i == 0 || w[i-1] == ","):
		case is(w, i, "WATERMARK") && top(w, i, "DELAY") < len(w):
			delay := top(w, i, "DELAY")
			if is(w, delay-2, "AS") { // it is a column of its own
				rel := out[len(out)-1]
				out = append(append(append(out[:len(out)-1], "(", "SELECT", "*", ","), w[i+1:delay]...), "FROM", rel, ")")
			}
			if i = delay + 3; is(w, delay-2, "AS") && !named(w, i+1) {
				out = append(out, "AS", fmt.Sprintf("timed%d", i))
			}
		case pgClocks[strings.ToLower(w[i])] != "":
			out = append(out, pgClocks[strings.ToLower(w[i])])
		case is(w, i, "window") && is(w, i+1, "("):
			out = append(out, `"window"`)
		case is(w, i+1, "(") && slices.Contains([]string{"TUMBLE", "HOP", "CUMULATE", "SESSION"}, strings.ToUpper(w[i])):
			end := closing(w, i+1)
			out = append(out, pgWindows(strings.ToLower(w[i]), w[i+2:end])...)
			if i = end; !named(w, i+1) {
				out = append(out, "AS", fmt.Sprintf("windows%d", i))
			}
		case w[i] == "(":
			end := closing(w, i)
			out = append(append(append(out, "("), pgQuery(w[i+1:end])...), ")")
			if (is(w, i-1, "FROM") || is(w, i-1, "JOIN")) && !named(w, end+1) {
				out = append(out, "AS", fmt.Sprintf("query%d", i))
			}
			i = end
		default:
			out = append(out, w[i])
		}
	}
	return out
}

// named tells whether an alias stands at i.
func named(w []string, i int) bool {
	return i < len(w) && w[i] != "," && !slices.Contains([]string{"WHERE", "GROUP", "HAVING", "ORDER", "JOIN", "LEFT",
		"RIGHT", "FULL", "INNER", "CROSS", "UNION", "EXCEPT", "INTERSECT"}, strings.ToUpper(w[i]))
}

// pgWindows translates a window function in FROM.
func pgWindows(kind string, w []string) []string {
	args := parts(w)
	for i, a := range args {
		if is(a, 1, "=>") {
			args[i] = a[2:]
		}
	}
	by := top(args[0], 0, "PARTITION")
	rel := join(pgPlain(args[0][:by]))
	if strings.HasSuffix(rel, ")") {
		rel += " AS given"
	}
	if kind == "session" {
		var keys [][]string
		if by < len(args[0]) {
			keys = append([][]string{args[0][by+2:]}, args[1:len(args)-2]...)
		}
		n := len(args)
		return []string{"(", islands("SELECT * FROM "+rel, joinAll(keys), join(args[n-2]), join(args[n-1]),
			"%s AS window_start, %s AS window_end"), ")"}
	}
	t := join(pgPlain(args[1]))
	return []string{"(SELECT r.*, windows.start AS window_start, windows.end AS window_end FROM (SELECT * FROM", rel,
		") AS r CROSS JOIN LATERAL", kind + "_windows(", t, ",", joinAll(args[2:]), ") AS windows )"}
}

// TestToPostgres: the translation of what cases are written in.
func TestToPostgres(t *testing.T) {
	for _, c := range [][2]string{
		{"SELECT k, v::text AS x FROM STREAM s WATERMARK ts DELAY OF INTERVAL '5 seconds' AS s WHERE v >= 2",
			"SELECT k , v :: text AS x FROM s AS s WHERE v >= 2"},
		{"SELECT (window(ts, '5 s')).start FROM STREAM s GROUP BY window(ts, '5 s')",
			`SELECT ( "window" ( ts , '5 s' ) ) .start FROM s GROUP BY "window" ( ts , '5 s' )`},
		{"SELECT 1 FROM HOP(c, ts, size => INTERVAL '9 s', INTERVAL '3 s') GROUP BY 1",
			"SELECT 1 FROM (SELECT r.*, windows.start AS window_start, windows.end AS window_end FROM (SELECT * FROM c " +
				") AS r CROSS JOIN LATERAL hop_windows( ts , INTERVAL '9 s', INTERVAL '3 s' ) AS windows ) AS windows16 " +
				"GROUP BY 1"},
		{"SELECT 1 FROM a WHERE d = current_date", "SELECT 1 FROM a WHERE d = now()::date"},
		{"SELECT 1 FROM a UNION ALL (SELECT 2 FROM STREAM b)", "SELECT 1 FROM a UNION ALL ( SELECT 2 FROM b )"},
	} {
		if got := toPostgres(c[0]); got != c[1] {
			t.Errorf("%s\nbecomes    %s\ninstead of %s", c[0], got, c[1])
		}
	}
}
