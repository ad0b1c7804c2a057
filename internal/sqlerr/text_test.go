package sqlerr

import "testing"

func TestText(t *testing.T) {
	for in, want := range map[string]string{"": "", "päß": "päß", "a\x00b": "a b", "a\xff\xfeb": "a?b", "\x00\xc3": " ?"} {
		if got := Text(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
