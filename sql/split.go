package sql

import (
	"sort"
	"strings"

	"github.com/streamsql/streamsql/sql/dialect"
)

// Split cuts a text into statements at its semicolons, without parsing them.
// The spans hold no semicolon, leading or trailing white space or comments;
// empty statements are left out. The error is that of an unterminated string,
// identifier or comment.
func Split(text string) ([]Span, error) {
	toks := dialect.Lex(text)
	if err := dialect.Err(toks); err != nil {
		return nil, err
	}
	var out []Span
	first := -1
	for i := range toks {
		t := &toks[i]
		end := t.Kind == dialect.EOF || t.Kind == dialect.Punct && t.Text == ";"
		switch {
		case end && first >= 0:
			out = append(out, Span{toks[first].Pos, toks[i-1].End})
			first = -1
		case !end && first < 0:
			first = i
		}
	}
	return out, nil
}

// Substitution is a text whose variables were replaced.
type Substitution struct {
	Text string
	// pieces are the starts of replaced and kept parts, ascending.
	pieces []piece
}

// piece says that the output from out on came from src; a replaced part is a
// point of the source.
type piece struct {
	out, src int
	replaced bool
}

// SourcePos returns the offset in the original text of an offset in Text; inside
// a replaced variable it is the variable's.
func (s *Substitution) SourcePos(off int) int {
	k := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].out > off }) - 1
	if k < 0 {
		return off
	}
	p := s.pieces[k]
	if p.replaced {
		return p.src
	}
	return p.src + off - p.out
}

// Substitute replaces variables as psql does: :name by the value as it stands,
// :'name' by it as a string constant, :"name" by it as an identifier. Strings,
// comments, casts (::) and names without a value stay.
func Substitute(text string, vars map[string]string) *Substitution {
	toks := dialect.Lex(text)
	var b strings.Builder
	s := &Substitution{}
	done := 0
	for i := 0; i+1 < len(toks); i++ {
		colon := &toks[i]
		if colon.Kind != dialect.Punct || colon.Text != ":" || colon.End >= len(text) {
			continue
		}
		value, end, ok := variable(text, colon.End, vars)
		if !ok {
			continue
		}
		s.pieces = append(s.pieces, piece{b.Len(), done, false})
		b.WriteString(text[done:colon.Pos])
		s.pieces = append(s.pieces, piece{b.Len(), colon.Pos, true})
		b.WriteString(value)
		done = end
	}
	s.pieces = append(s.pieces, piece{b.Len(), done, false})
	b.WriteString(text[done:])
	s.Text = b.String()
	return s
}

// variable reads the name after a colon at off and returns its value and where
// the name ends.
func variable(text string, off int, vars map[string]string) (value string, end int, ok bool) {
	quote := byte(0)
	if text[off] == '\'' || text[off] == '"' {
		quote = text[off]
		off++
	}
	end = off
	for end < len(text) && variableChar(text[end]) {
		end++
	}
	value, ok = vars[text[off:end]]
	switch {
	case !ok || end == off:
		return "", 0, false
	case quote == 0:
		return value, end, true
	case end >= len(text) || text[end] != quote:
		return "", 0, false
	case quote == '\'':
		return QuoteLiteral(value), end + 1, true
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`, end + 1, true
}

func variableChar(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
