package session

import (
	"testing"

	"github.com/streamsql/streamsql/sql"
)

// The words of SHOW that list something are the same to the parser and here.
func TestShowWords(t *testing.T) {
	for _, w := range showWords() {
		for _, tail := range []string{"", " LIKE 'x'"} {
			tree, err := sql.ParseOne("SHOW " + w + tail)
			if s, ok := tree.(*sql.ShowObjects); err != nil || !ok || s.What != w {
				t.Errorf("SHOW %s%s: %T, %v", w, tail, tree, err)
			}
		}
	}
}
