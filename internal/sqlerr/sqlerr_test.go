package sqlerr

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"connector", "topic", "brokers", "format"}
	for _, c := range []struct{ in, want string }{
		{"conector", "connector"}, {"TOPIC", "topic"}, {"tpoic", "topic"}, {"xyz", ""}, {"", ""},
	} {
		if got := Nearest(c.in, known); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFromKeepsCodeThroughWrapping(t *testing.T) {
	e := New(DivisionByZero, "division by zero").At(4)
	got := From(fmt.Errorf("view v: %w", e))
	if got.Code != DivisionByZero || got.Pos != 5 {
		t.Errorf("From lost code or position: %+v", got)
	}
	if got.Where != "view v: division by zero" {
		t.Errorf("Where = %q", got.Where)
	}
	if e.Where != "" {
		t.Error("From changed its argument")
	}
	if From(nil) != nil {
		t.Error("From(nil) is not nil")
	}
	if c := CodeOf(context.Canceled); c != QueryCanceled {
		t.Errorf("canceled is %s", c)
	}
	if c := CodeOf(errors.New("x")); c != InternalError {
		t.Errorf("plain error is %s", c)
	}
}
