package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	// requestTime bounds one request.
	requestTime = 10 * time.Second
	// maxAnswer bounds an answer's bytes, maxReferences the schemas that one needs.
	maxAnswer     = 16 << 20
	maxReferences = 1000
)

// Client asks one registry. It is safe for concurrent use.
type Client struct {
	cfg  *connector.SchemaRegistry
	http *http.Client

	mu    sync.Mutex
	known map[int32]*format.Schema
}

// New returns a client of the registry.
func New(cfg *connector.SchemaRegistry) *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 2
	return &Client{cfg: cfg, http: &http.Client{Transport: t, Timeout: requestTime}, known: map[int32]*format.Schema{}}
}

// Close ends the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// schemaBody is a schema as the registry writes it.
type schemaBody struct {
	Schema     string      `json:"schema"`
	SchemaType string      `json:"schemaType,omitempty"`
	References []reference `json:"references,omitempty"`
}

type reference struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

// Schema returns the schema of the id; 42704 if the registry does not have it.
func (c *Client) Schema(ctx context.Context, id int32) (*format.Schema, error) {
	c.mu.Lock()
	s := c.known[id]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	var body schemaBody
	err := c.do(ctx, http.MethodGet, "/schemas/ids/"+strconv.Itoa(int(id)), nil, &body,
		"schema "+strconv.Itoa(int(id)))
	if err != nil {
		return nil, err
	}
	if s, err = c.resolve(ctx, &body); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.known[id] = s
	c.mu.Unlock()
	return s, nil
}

// Latest returns the newest schema of the subject; 42704 if it has none.
func (c *Client) Latest(ctx context.Context, subject string) (*format.Schema, error) {
	var body schemaBody
	err := c.do(ctx, http.MethodGet, "/subjects/"+url.PathEscape(subject)+"/versions/latest", nil, &body,
		`subject "`+subject+`"`)
	if err != nil {
		return nil, err
	}
	return c.resolve(ctx, &body)
}

// Register makes the schema the newest of the subject, unless it is one of its
// schemas already, and returns its id. 22023 if it is not compatible with them.
func (c *Client) Register(ctx context.Context, subject string, s *format.Schema) (int32, error) {
	body := schemaBody{Schema: s.Text}
	if s.Type != "AVRO" {
		body.SchemaType = s.Type
	}
	var out struct {
		ID int32 `json:"id"`
	}
	err := c.do(ctx, http.MethodPost, "/subjects/"+url.PathEscape(subject)+"/versions", &body, &out,
		`subject "`+subject+`"`)
	return out.ID, err
}

// resolve reads the schemas that the body refers to.
func (c *Client) resolve(ctx context.Context, body *schemaBody) (*format.Schema, error) {
	s := &format.Schema{Type: body.SchemaType, Text: body.Schema}
	if s.Type == "" {
		s.Type = "AVRO"
	}
	seen := map[string]bool{}
	var visit func(refs []reference) error
	visit = func(refs []reference) error {
		for _, r := range refs {
			if seen[r.Name] {
				continue
			}
			seen[r.Name] = true
			if len(seen) > maxReferences {
				return sqlerr.New(sqlerr.ProgramLimitExceeded, "a schema refers to more than %d others",
					maxReferences).AsPermanent()
			}
			var b schemaBody
			path := "/subjects/" + url.PathEscape(r.Subject) + "/versions/" + strconv.Itoa(r.Version)
			if err := c.do(ctx, http.MethodGet, path, nil, &b, `subject "`+r.Subject+`"`); err != nil {
				return err
			}
			if err := visit(b.References); err != nil {
				return err
			}
			s.References = append(s.References, format.Reference{Name: r.Name, Text: b.Schema})
		}
		return nil
	}
	return s, visit(body.References)
}

// do asks the servers in turn; what is named in messages.
func (c *Client) do(ctx context.Context, method, path string, in, out any, what string) (err error) {
	for _, u := range c.cfg.URLs {
		if err = c.ask(ctx, method, u, path, in, out, what); err == nil || sqlerr.From(err).Permanent {
			return err
		}
	}
	return err
}

func (c *Client) ask(ctx context.Context, method, base, path string, in, out any, what string) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return sqlerr.Internal("registry: %v", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err != nil {
		return sqlerr.New(sqlerr.InvalidParameterValue, "bad address of a schema registry: %v", err).AsPermanent()
	}
	req.Header.Set("Accept", "application/vnd.schemaregistry.v1+json, application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	}
	if c.cfg.User != "" || c.cfg.Password != "" {
		req.SetBasicAuth(c.cfg.User, c.cfg.Password)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return away(base, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return away(base, err)
	case len(data) > maxAnswer:
		return sqlerr.New(sqlerr.ProgramLimitExceeded, "an answer of the schema registry is larger than %d bytes",
			maxAnswer).AsPermanent()
	case res.StatusCode != http.StatusOK:
		return refusal(base, res, data, what)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return sqlerr.New(sqlerr.ProtocolViolation, "the answer of the schema registry at %s is not its JSON: %v",
			base, err)
	}
	return nil
}

func away(base string, err error) error {
	if u, ok := err.(*url.Error); ok {
		err = u.Err // without the address again
	}
	return sqlerr.Wrap(err, sqlerr.ConnectionFailure, "the schema registry at %s does not answer", base)
}

// refusal turns an answer other than 200 into an error.
func refusal(base string, res *http.Response, data []byte, what string) error {
	var told struct {
		Message string `json:"message"`
	}
	detail := ""
	if json.Unmarshal(data, &told) == nil {
		detail = told.Message
	}
	e := sqlerr.New(sqlerr.ConnectionFailure, "the schema registry at %s answers %s", base, res.Status)
	switch res.StatusCode {
	case http.StatusNotFound:
		e = sqlerr.New(sqlerr.UndefinedObject, "%s is not in the schema registry at %s", what, base).AsPermanent()
	case http.StatusUnauthorized:
		e = sqlerr.New(sqlerr.InvalidPassword, "the schema registry at %s refuses the credentials", base).AsPermanent()
	case http.StatusForbidden:
		e = sqlerr.New(sqlerr.InsufficientPrivilege, "the schema registry at %s denies access to %s", base, what).
			AsPermanent()
	case http.StatusConflict:
		e = sqlerr.New(sqlerr.InvalidParameterValue, "the schema is not compatible with the others of %s", what).
			AsPermanent()
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		e = sqlerr.New(sqlerr.InvalidParameterValue, "the schema registry refuses the schema of %s", what).AsPermanent()
	}
	if detail != "" {
		e = e.WithDetail("%s", detail)
	}
	return e
}
