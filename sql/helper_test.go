package sql

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// clearPositions sets every position and span below v to zero.
func clearPositions(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			clearPositions(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			clearPositions(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Span]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Pos" {
				v.Field(i).SetZero()
				continue
			}
			clearPositions(v.Field(i))
		}
	}
}

// sameButPositions tells whether two statements are equal but for positions; it
// clears the positions of both.
func sameButPositions(a, b Statement) bool {
	clearPositions(reflect.ValueOf(a))
	clearPositions(reflect.ValueOf(b))
	return reflect.DeepEqual(a, b)
}

// checkIdentity writes a statement and parses it back; "" means the same tree.
func checkIdentity(s Statement) string {
	text := FormatStatement(s)
	again, err := Parse(text)
	switch {
	case err != nil:
		return fmt.Sprintf("the formatted text does not parse: %v\n%s", err, text)
	case len(again) != 1:
		return fmt.Sprintf("the formatted text is %d statements\n%s", len(again), text)
	}
	if second := FormatStatement(again[0]); second != text {
		return fmt.Sprintf("formatting is not stable\n%s\n%s", text, second)
	}
	if !sameButPositions(s, again[0]) {
		return "the formatted text gives another tree\n" + text
	}
	return ""
}

// describeError writes an error with the line it points into and a marker.
func describeError(text string, err error) string {
	e := sqlerr.From(err)
	var b strings.Builder
	fmt.Fprintf(&b, "ERROR %s: %s\n", e.Code, e.Message)
	if e.Pos > 0 {
		off := min(e.Pos-1, len(text))
		start := strings.LastIndexByte(text[:off], '\n') + 1
		line, _, _ := strings.Cut(text[start:], "\n")
		fmt.Fprintf(&b, "  %s\n  %s^\n", line, strings.Repeat(" ", len([]rune(text[start:off]))))
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "HINT: %s\n", e.Hint)
	}
	return b.String()
}

// positions lists the nodes below v that have a position, with the text there.
func positions(text string, v reflect.Value, out *[]string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			positions(text, v.Elem(), out)
		}
	case reflect.Slice:
		for i := range v.Len() {
			positions(text, v.Index(i), out)
		}
	case reflect.Struct:
		if f := v.FieldByName("Pos"); f.IsValid() && f.Kind() == reflect.Int {
			if name := v.FieldByName("Text"); v.Type() != reflect.TypeFor[Name]() || name.String() != "" {
				word := text[f.Int():]
				if n := strings.IndexAny(word, " ,()\n;"); n > 0 {
					word = word[:n]
				} else if n == 0 {
					word = word[:1]
				}
				*out = append(*out, fmt.Sprintf("%d %s: %s", f.Int(), v.Type().Name(), word))
			}
		}
		for i := range v.NumField() {
			positions(text, v.Field(i), out)
		}
	}
}
