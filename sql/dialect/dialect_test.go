package dialect

import (
	"fmt"
	"strings"
	"testing"
)

// noTypes stands for the type parser where no types are read.
type noTypes struct{ c *Cursor }

func (n noTypes) ParseType() int        { n.c.Label(); return 0 }
func (n noTypes) ParseLiteralType() int { n.c.Label(); return 0 }
func (n noTypes) ParseInterval() (int, int) {
	n.c.I += 2
	return 0, n.c.I - 1
}

func translate(src string) (b *Bridge, f *Fragment, err error) {
	defer Catch(&err)
	c := NewCursor(src)
	b = NewBridge(c, noTypes{c})
	f = b.Query()
	return b, f, nil
}

func TestLex(t *testing.T) {
	kinds := map[Kind]string{
		Ident: "ident", Quoted: "quoted", Str: "str", Bits: "bits", Num: "num", Param: "param", Op: "op",
		Punct: "punct", Hint: "hint", Bad: "bad",
	}
	for src, want := range map[string]string{
		`SELECT /*+ A(b) */ 1`:   "ident select, hint  A(b) , num 1",
		`"A""b" 'it''s' E'\n'`:   "quoted A\"b, str it's, str \n",
		`$1 $$x$$ $a$y$$$a$`:     "param 1, str x, str y$$",
		`b'01' X'fF' 1.5e-3 .5`:  "bits b01, bits xfF, num 1.5e-3, num .5",
		`a::b:=c=>d..e`:          "ident a, punct ::, ident b, punct :=, ident c, punct =>, ident d, punct .., ident e",
		`a<-1 @-1 != <> ->>`:     "ident a, op <, op -, num 1, op @-, num 1, op <>, op <>, op ->>",
		`1e 2`:                   "bad ",
		"a\x00":                  "ident a, bad ",
		"'a'\n'b' -- c\n 'd'":    "str abd",
		`U&"d\0061" UESCAPE '\'`: "quoted da",
	} {
		var got []string
		for _, tok := range Lex(src) {
			if tok.Kind != EOF {
				got = append(got, kinds[tok.Kind]+" "+tok.Text)
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q\n got %s\nwant %s", src, s, want)
		}
	}
}

// TestFragment holds the package's first invariant on a text whose every name,
// literal and comment would be harmful to the parser behind.
func TestFragment(t *testing.T) {
	src := "SELECT \"`x`\", 'a`b\\', \"é\x01\", /*! , evil */ 1e400 -- `\n" +
		"FROM \"@@t\" AS \"sélect\" WHERE a #> '{x}' AND b ? '$1'"
	b, f, err := translate(src)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(f.Text) {
		if c := f.Text[i]; c < ' ' || c > '~' || c == '\'' || c == '"' || c == '@' || c == '#' || c == '\\' {
			t.Fatalf("byte %q at %d of %s", c, i, f.Text)
		}
	}
	if _, _, err := b.Parse(f); err != nil {
		t.Fatalf("%v\n%s", err, f.Text)
	}
	if n := len(b.Facts.Items); n != 1 || b.Toks[b.Facts.Items[0].Alias].Text != "sélect" {
		t.Errorf("facts %+v", b.Facts.Items)
	}
}

// TestTokenAt maps every reference in the output to the token it names.
func TestTokenAt(t *testing.T) {
	_, f, err := translate("SELECT a + b * f(c) FROM t WHERE d LIKE e")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i := range len(f.Text) {
		var n int
		if _, err := fmt.Sscanf(f.Text[i:], "`%d`", &n); err == nil && (i == 0 || f.Text[i-1] != '(') {
			seen++
			if got := f.TokenAt(i); got != n {
				t.Errorf("offset %d names token %d, mapped to %d in %s", i, n, got, f.Text)
			}
		}
	}
	if seen < 6 {
		t.Errorf("only %d references in %s", seen, f.Text)
	}
}

// TestRefused checks that what only the parser behind refuses is reported as a
// syntax error about a token of the source, also far into a long text.
func TestRefused(t *testing.T) {
	c := NewCursor("SELECT a FROM t")
	b := NewBridge(c, noTypes{c})
	f := b.Query()
	f.Text += strings.Repeat(" ", 5000) + ") x"
	_, _, err := b.Parse(f)
	if err == nil || err.Pos < 1 || err.Pos > len(c.Src)+1 {
		t.Errorf("%v", err)
	}
	broken := &Fragment{Text: strings.Replace(f.Text, "FROM", "FORM", 1), marks: f.marks}
	if _, _, err := b.Parse(broken); err == nil || !strings.HasPrefix(err.Message, "syntax error") {
		t.Errorf("%v", err)
	}
}

func TestRef(t *testing.T) {
	for name, want := range map[string]string{"12": "\x00 12", "a3": "a 3", "cast": "m 0", "": "m 0", "q": "m 0"} {
		letter, n := Ref(name)
		if got := fmt.Sprintf("%c %d", letter, n); got != want {
			t.Errorf("Ref(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add("SELECT a, b::x FROM t WHERE c LIKE d ORDER BY 1")
	f.Add("WITH a AS (VALUES (1)) SELECT f(x) OVER (w ROWS 1 PRECEDING) FROM a JOIN b USING (c)")
	f.Fuzz(func(t *testing.T, src string) {
		b, frag, err := translate(src)
		if err != nil {
			return
		}
		if len(frag.Text) > 0 && frag.TokenAt(len(frag.Text)-1) >= len(b.Toks) {
			t.Fatal("a mark points past the tokens")
		}
		if _, _, err := b.Parse(frag); err != nil && (err.Pos < 1 || err.Pos > len(src)+1) {
			t.Fatalf("%v at %d", err, err.Pos)
		}
	})
}
