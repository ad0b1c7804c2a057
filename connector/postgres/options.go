package postgres

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const owner = `connector "postgres"`

// The formats of a sink.
const (
	formatPlain  = "plain"  // inserts
	formatUpsert = "upsert" // the newest row of each key
)

// The values of option delivery.
const (
	exactlyOnce = "exactly_once"
	atLeastOnce = "at_least_once"
)

// config is what a sink's options say.
type config struct {
	server  *pgconn.Config
	address string // for messages: host:port of all servers
	schema  string
	table   string
	key     []string
	upsert  bool
	exactly bool
	create  bool
	outbox  int64 // bytes of an epoch's output kept, at most
	piece   int   // pieceBytes, but for tests
}

// full is the table's name for messages.
func (c *config) full() string { return c.schema + "." + c.table }

// read reads the options. Files of TLS are read, too; nothing is connected.
func read(s *connector.Spec) (*config, error) {
	o := connector.NewOptions(owner, s.Options)
	c := &config{piece: pieceBytes}
	c.readServer(s, o)
	c.schema = o.String("schema", "public")
	if c.schema == "" {
		o.Fault(`option "schema" is empty`)
	}
	c.table = o.Required("table")
	c.key = o.List("key")
	c.create = o.Bool("create_table", false)
	c.exactly = o.Enum("delivery", exactlyOnce, exactlyOnce, atLeastOnce) == exactlyOnce
	if o.Has("outbox_max_bytes") && !c.exactly {
		o.Fault(`option "outbox_max_bytes" needs delivery = 'exactly_once'`)
	}
	if c.outbox = o.Size("outbox_max_bytes", 4<<30); c.outbox < 1<<20 || c.outbox > 1<<40 {
		o.Fault(`%d is outside the valid range for option "outbox_max_bytes" (%d .. %d)`, c.outbox, 1<<20, 1<<40)
	}
	switch s.Format {
	case "", formatPlain:
	case formatUpsert:
		c.upsert = true
	default:
		o.Fault("%s does not support FORMAT %s; it supports: PLAIN, UPSERT", owner, strings.ToUpper(s.Format))
	}
	if s.Encode != "" || len(s.FormatOptions) > 0 {
		o.Fault("%s takes no ENCODE: the columns of the table say how values are written", owner)
	}
	if len(c.key) > 0 && !c.upsert {
		o.Fault(`option "key" needs FORMAT UPSERT`)
	}
	return c, o.Err()
}

// tlsOptions are those with libpq's names.
var tlsOptions = []string{"sslmode", "sslrootcert", "sslcert", "sslkey"}

// urlParameters are what may stand behind the question mark of a URL.
var urlParameters = append([]string{"application_name", "channel_binding", "connect_timeout", "options", "passfile",
	"target_session_attrs"}, tlsOptions...)

// readServer reads how the server is reached. The environment of the process has no
// say but for the file of passwords: everything is written out for the driver.
func (c *config) readServer(s *connector.Spec, o *connector.Options) {
	set := map[string]string{}
	if o.Has("url") {
		for _, name := range []string{"host", "port", "user", "database"} {
			if o.Has(name) {
				o.Fault(`options "url" and "%s" exclude each other`, name)
			}
		}
		if msg := parseURL(o.String("url", ""), set); msg != "" {
			o.Fault(`invalid value for option "url": %s`, msg)
			return
		}
	} else {
		set["host"], set["user"] = o.Required("host"), o.Required("user")
		set["port"] = o.String("port", "5432")
		set["dbname"] = o.String("database", "")
	}
	for _, name := range append([]string{"password"}, tlsOptions...) {
		if !o.Has(name) {
			continue
		}
		if _, twice := set[name]; twice {
			o.Fault(`option "%s" is given twice: by itself and in "url"`, name)
		}
		set[name] = o.String(name, "")
	}
	timeout := o.Duration("connect_timeout", 10*time.Second)
	if timeout < time.Second || timeout > time.Hour {
		o.Fault(`option "connect_timeout" must be between 1 second and 1 hour`)
	}
	if set["user"] == "" && o.Has("url") {
		o.Fault(`option "url" names no user`)
	}
	switch set["target_session_attrs"] {
	case "", "read-write", "primary":
		delete(set, "target_session_attrs")
	default:
		o.Fault(`a sink needs a server that takes writes: "target_session_attrs" can be read-write or primary only`)
	}
	for name, def := range map[string]string{"dbname": set["user"], "password": "", "sslmode": "prefer",
		"application_name": "streamsql sink " + s.Name, "target_session_attrs": "any"} {
		if set[name] == "" {
			set[name] = def
		}
	}
	c.configure(o, set, timeout)
}

// configure makes the driver's configuration.
func (c *config) configure(o *connector.Options, set map[string]string, timeout time.Duration) {
	var dsn strings.Builder
	for name, v := range set {
		dsn.WriteString(name + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "' ")
	}
	cfg, err := pgconn.ParseConfig(dsn.String())
	if err != nil {
		// The driver's own text has the connection string in it.
		reason := "host, port or TLS settings are not valid"
		if u, ok := err.(interface{ Unwrap() error }); ok && u.Unwrap() != nil {
			reason = u.Unwrap().Error()
		}
		o.Fault("the options of the connection cannot be used: %s", reason)
		return
	}
	if set["connect_timeout"] == "" || o.Has("connect_timeout") {
		cfg.ConnectTimeout = timeout
	}
	for name := range cfg.RuntimeParams {
		if _, ours := set[name]; !ours {
			delete(cfg.RuntimeParams, name) // of the process's environment
		}
	}
	dialer := &net.Dialer{KeepAlive: keepAlive}
	cfg.DialFunc = dialer.DialContext
	cfg.ValidateConnect = writable
	c.server = cfg
	hosts, ports := strings.Split(set["host"], ","), strings.Split(set["port"], ",")
	for i, h := range hosts {
		hosts[i] = net.JoinHostPort(strings.Trim(h, "[]"), ports[min(i, len(ports)-1)])
	}
	c.address = strings.Join(hosts, ", ")
}

// parseURL takes apart postgres://user:password@host:port,host:port/database?name=value.
// It returns what is wrong, never with a part of the URL, which may be a password.
func parseURL(raw string, set map[string]string) (fault string) {
	const form = "an address such as postgres://user@host:5432/database is expected"
	rest, ok := strings.CutPrefix(raw, "postgres://")
	if !ok {
		if rest, ok = strings.CutPrefix(raw, "postgresql://"); !ok {
			return form
		}
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest, database, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, has := strings.Cut(rest[:at], ":")
		set["user"] = user
		if has {
			set["password"] = password
		}
		rest = rest[at+1:]
	}
	set["dbname"] = database
	for _, name := range []string{"user", "password", "dbname"} {
		v, err := url.PathUnescape(set[name])
		if err != nil {
			return "a % is not followed by two hexadecimal digits"
		}
		if _, has := set[name]; has {
			set[name] = v
		}
	}
	var hosts, ports []string
	for _, h := range strings.Split(rest, ",") {
		host, port := h, "5432"
		if i := strings.LastIndexByte(h, ':'); i >= 0 && !strings.HasSuffix(h, "]") {
			host, port = h[:i], h[i+1:]
		}
		if host, ok = unescaped(host); !ok || host == "" || strings.Trim(port, "0123456789") != "" {
			return form
		}
		hosts, ports = append(hosts, strings.Trim(host, "[]")), append(ports, port)
	}
	set["host"], set["port"] = strings.Join(hosts, ","), strings.Join(ports, ",")
	return parseParameters(query, set)
}

func unescaped(s string) (string, bool) {
	v, err := url.PathUnescape(s)
	return v, err == nil
}

func parseParameters(query string, set map[string]string) (fault string) {
	if query == "" {
		return ""
	}
	for _, p := range strings.Split(query, "&") {
		name, v, _ := strings.Cut(p, "=")
		if !slices.Contains(urlParameters, name) {
			if connector.IsSecret(name) {
				return `a password stands before the host, or in option "password"`
			}
			hint := sqlerr.Suggest(name, urlParameters)
			if hint == "" {
				hint = "Known are: " + strings.Join(urlParameters, ", ") + "."
			}
			return `unrecognized parameter "` + name + `". ` + hint
		}
		v, err := url.QueryUnescape(v)
		if err != nil {
			return `the value of parameter "` + name + `" is not well-formed`
		}
		set[name] = v
	}
	return ""
}
