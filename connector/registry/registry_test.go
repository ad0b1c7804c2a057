package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, h http.HandlerFunc) (*Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	c := New(&connector.SchemaRegistry{URLs: []string{s.URL}, User: "u", Password: "p"})
	t.Cleanup(func() { c.Close(); s.Close() })
	return c, s.URL
}

func TestSchema(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.EscapedPath()]++
		mu.Unlock()
		if u, p, _ := r.BasicAuth(); u != "u" || p != "p" {
			t.Errorf("credentials %q %q", u, p)
		}
		switch r.URL.EscapedPath() {
		case "/schemas/ids/3":
			fmt.Fprint(w, `{"schema":"top","schemaType":"PROTOBUF","references":[{"name":"a","subject":"s/1","version":2},
				{"name":"b","subject":"sb","version":1}]}`)
		case "/subjects/s%2F1/versions/2":
			fmt.Fprint(w, `{"schema":"A","references":[{"name":"b","subject":"sb","version":1}]}`)
		case "/subjects/sb/versions/1":
			fmt.Fprint(w, `{"schema":"B"}`)
		case "/subjects/sb/versions/latest":
			fmt.Fprint(w, `{"schema":"latest","id":9}`)
		default:
			w.WriteHeader(404)
		}
	})
	for range 2 {
		s, err := c.Schema(t.Context(), 3)
		if err != nil || s.Type != "PROTOBUF" || s.Text != "top" ||
			fmt.Sprint(s.References) != fmt.Sprint([]format.Reference{{Name: "b", Text: "B"}, {Name: "a", Text: "A"}}) {
			t.Fatalf("%+v %v", s, err)
		}
	}
	if asked["/schemas/ids/3"] != 1 || asked["/subjects/sb/versions/1"] != 1 {
		t.Errorf("asked more than once: %v", asked)
	}
	if s, err := c.Latest(t.Context(), "sb"); err != nil || s.Text != "latest" || s.Type != "AVRO" {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := c.Latest(t.Context(), "none"); sqlerr.CodeOf(err) != sqlerr.UndefinedObject {
		t.Error(err)
	}
}

func TestRegister(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != http.MethodPost {
			t.Error(err)
		}
		if body["schemaType"] == "PROTOBUF" {
			w.WriteHeader(409)
			fmt.Fprint(w, `{"error_code":409,"message":"field x was lost"}`)
			return
		}
		fmt.Fprint(w, `{"id":12}`)
	})
	if id, err := c.Register(t.Context(), "s", &format.Schema{Type: "AVRO", Text: "x"}); err != nil || id != 12 {
		t.Error(id, err)
	}
	_, err := c.Register(t.Context(), "s", &format.Schema{Type: "PROTOBUF", Text: "x"})
	var e *sqlerr.Error
	if !errors.As(err, &e) || !e.Permanent || e.Detail != "field x was lost" || !strings.Contains(e.Message, "not compatible") {
		t.Error(err)
	}
}

func TestFaults(t *testing.T) {
	status, answer := 0, ""
	c, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	})
	for _, f := range []struct {
		status    int
		answer    string
		code      sqlerr.Code
		permanent bool
	}{{503, "", sqlerr.ConnectionFailure, false}, {401, "", sqlerr.InvalidPassword, true},
		{403, "", sqlerr.InsufficientPrivilege, true}, {404, "", sqlerr.UndefinedObject, true},
		{200, "<html>", sqlerr.ProtocolViolation, false}, {422, "", sqlerr.InvalidParameterValue, true}} {
		status, answer = f.status, f.answer
		_, err := c.Schema(t.Context(), 1)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Code != f.code || e.Permanent != f.permanent || !strings.Contains(e.Message, url) &&
			f.status != 422 {
			t.Errorf("%d: %v", f.status, err)
		}
	}
	// The second server answers for the first.
	status, answer = 200, `{"schema":"x"}`
	c.cfg.URLs = []string{"http://127.0.0.1:1", url}
	if _, err := c.Schema(t.Context(), 2); err != nil {
		t.Error(err)
	}
	c.cfg.URLs = c.cfg.URLs[:1]
	_, err := c.Schema(context.Background(), 4)
	if e := sqlerr.From(err); e.Code != sqlerr.ConnectionFailure || e.Permanent ||
		!strings.Contains(err.Error(), "http://127.0.0.1:1 does not answer") {
		t.Error(err)
	}
}
