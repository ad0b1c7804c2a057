package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// manyRows reads rows REL[/SPLIT] N VALUES: N rows, numbered i from 0, whose values
// have terms of i in braces.
func (p *parser) manyRows(f []string) error {
	if len(f) < 2 {
		return fmt.Errorf("write rows REL N VALUES")
	}
	n, err := strconv.Atoi(f[1])
	if err != nil {
		return err
	}
	for i := range n {
		row := []string{f[0]}
		for _, v := range f[2:] {
			text, err := numbered(v, i)
			if err != nil {
				return err
			}
			row = append(row, text)
		}
		if err := p.change(false, row); err != nil {
			return err
		}
	}
	return nil
}

// numbered replaces terms like {i*7%10+3} by their values, computed from the left to
// the right.
func numbered(v string, i int) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(v, "{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		term, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("a brace is not closed in %q", v)
		}
		n, err := term1(term, i)
		if err != nil {
			return "", err
		}
		fmt.Fprint(&out, n)
		v = after
	}
}

func term1(term string, i int) (int, error) {
	n, sign := 0, byte('+')
	for term != "" {
		end := strings.IndexAny(term, "+-*/%")
		if end < 0 {
			end = len(term)
		}
		x := i
		if term[:end] != "i" {
			var err error
			if x, err = strconv.Atoi(term[:end]); err != nil {
				return 0, err
			}
		}
		if x == 0 && (sign == '/' || sign == '%') {
			return 0, fmt.Errorf("division by zero")
		}
		switch sign {
		case '+':
			n += x
		case '-':
			n -= x
		case '*':
			n *= x
		case '/':
			n /= x
		case '%':
			n %= x
		}
		if end == len(term) {
			return n, nil
		}
		sign, term = term[end], term[end+1:]
	}
	return 0, fmt.Errorf("a term ends with %q", sign)
}

// statements are a step's changes of tables as SQL, and its rows of sources.
func (c *testCase) statements(changes []change) (text string, rows []change, err error) {
	var b strings.Builder
	end := "" // what ends the statement that is begun
	for i, ch := range changes {
		rel := c.relation(ch.rel)
		if !rel.table {
			rows = append(rows, ch)
			continue
		}
		conds, values, err := ch.text(rel)
		if err != nil {
			return "", nil, err
		}
		switch before := changes[max(i-1, 0)]; {
		case ch.del:
			fmt.Fprintf(&b, "%sDELETE FROM %s WHERE %s", end, rel.name, conds)
		case end != "" && before.rel == ch.rel && !before.del:
			fmt.Fprintf(&b, ", (%s)", values)
		default:
			fmt.Fprintf(&b, "%sINSERT INTO %s VALUES (%s)", end, rel.name, values)
		}
		end = "; "
	}
	b.WriteString(end)
	return b.String(), rows, nil
}

// text is a change's row as conditions, by its key if it has one, and as values.
func (ch change) text(rel *relation) (conds, values string, err error) {
	var is, all []string
	for i, f := range ch.values {
		v, err := sqlValue(rel.cols[i], f)
		if err != nil {
			return "", "", err
		}
		all = append(all, v)
		if rel.key == "" || rel.key == rel.cols[i].name {
			is = append(is, rel.cols[i].name+" IS NOT DISTINCT FROM "+v)
		}
	}
	return strings.Join(is, " AND "), strings.Join(all, ", "), nil
}
