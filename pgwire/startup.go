package pgwire

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Start-up codes and limits.
const (
	maxStartupBytes = 10000 // PostgreSQL's MAX_STARTUP_PACKET_LENGTH

	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104

	protocol30 = 3 << 16
)

// startup is a decoded start-up packet.
type startup struct {
	version  uint32
	user     string
	database string
	settings []Setting
	unknown  []string // _pq_. options
}

// readStartup answers encryption requests until the start-up packet. nil
// without an error: the connection was for a cancel request, which is done.
func (c *conn) readStartup() (*startup, error) {
	ssl, gss := false, false
	for {
		body, err := c.readPacket()
		if err != nil {
			return nil, err
		}
		switch code := binary.BigEndian.Uint32(body); code {
		case codeSSL, codeGSS:
			again := &ssl
			if code == codeGSS {
				again = &gss
			}
			if *again || len(body) != 4 {
				return nil, protocolError("invalid encryption request")
			}
			*again = true
			if err := c.refuseEncryption(); err != nil {
				return nil, err
			}
		case codeCancel:
			if len(body) != 12 {
				return nil, protocolError("invalid length of cancel request")
			}
			c.srv.cancelRequest(binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:]))
			return nil, nil
		default:
			return parseStartup(body)
		}
	}
}

// refuseEncryption answers SSLRequest and GSSENCRequest: the client goes on in
// clear text or leaves.
func (c *conn) refuseEncryption() error {
	if _, err := c.nc.Write([]byte{'N'}); err != nil {
		return errGone
	}
	return nil
}

// readPacket reads a packet without a type byte.
func (c *conn) readPacket() ([]byte, error) {
	head, err := c.in.Next(4)
	if err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head)) - 4
	if n < 4 || n > maxStartupBytes {
		return nil, protocolError("invalid length of startup packet")
	}
	return c.in.Next(int(n))
}

// parseStartup decodes a start-up packet of protocol 3.x. A minor version above
// ours is no error, the answer tells what we speak.
func parseStartup(body []byte) (*startup, error) {
	s := &startup{version: binary.BigEndian.Uint32(body)}
	if s.version>>16 != 3 {
		return nil, sqlerr.Unsupported("unsupported frontend protocol %d.%d: server supports 3.0 to 3.0",
			s.version>>16, s.version&0xffff)
	}
	var options string
	for rest := body[4:]; ; {
		var key, val []byte
		var ok bool
		if key, rest, ok = bytes.Cut(rest, []byte{0}); ok && len(key) == 0 && len(rest) == 0 {
			break
		}
		if ok && len(key) > 0 {
			val, rest, ok = bytes.Cut(rest, []byte{0})
		}
		if !ok || len(key) == 0 {
			return nil, protocolError("invalid startup packet layout: expected terminator as last byte")
		}
		for _, b := range [][]byte{key, val} {
			if err := checkUTF8(b); err != nil {
				return nil, err
			}
		}
		if err := s.set(string(key), string(val), &options); err != nil {
			return nil, err
		}
	}
	if s.user == "" {
		return nil, sqlerr.New(sqlerr.InvalidAuthorization, "no PostgreSQL user name specified in startup packet")
	}
	if s.database == "" {
		s.database = s.user
	}
	fromOptions, err := parseOptions(options)
	if err != nil {
		return nil, err
	}
	s.settings = append(s.settings, fromOptions...)
	return s, s.normalise()
}

// set takes in one parameter.
func (s *startup) set(key, val string, options *string) error {
	switch {
	case key == "user":
		s.user = val
	case key == "database":
		s.database = val
	case key == "options":
		*options = val
	case key == "replication":
		switch strings.ToLower(val) {
		case "", "0", "f", "false", "n", "no", "off":
		default:
			return sqlerr.Unsupported("replication connections are not supported")
		}
	case strings.HasPrefix(key, "_pq_."):
		s.unknown = append(s.unknown, key)
	default:
		s.settings = append(s.settings, Setting{key, val})
	}
	return nil
}

func (s *startup) normalise() error {
	for i, kv := range s.settings {
		if strings.EqualFold(kv.Name, "client_encoding") {
			enc, err := ClientEncoding(kv.Value)
			if err != nil {
				return err
			}
			s.settings[i].Value = enc
		}
	}
	return nil
}

// parseOptions reads the options parameter: words split at blanks, where a
// backslash takes the next character as it is; "-c a=b", "-ca=b" and "--a=b".
func parseOptions(options string) ([]Setting, error) {
	var out []Setting
	words := splitOptions(options)
	for i := 0; i < len(words); i++ {
		w := words[i]
		var kv string
		switch {
		case w == "-c" && i+1 < len(words):
			i++
			kv = words[i]
		case strings.HasPrefix(w, "-c"):
			kv = w[2:]
		case strings.HasPrefix(w, "--"):
			kv = w[2:]
		default:
			return nil, sqlerr.New(sqlerr.SyntaxError, "invalid command-line argument for server process: %s", w)
		}
		name, val, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			return nil, sqlerr.New(sqlerr.SyntaxError, "-c %s requires a value", kv)
		}
		out = append(out, Setting{strings.ReplaceAll(name, "-", "_"), val})
	}
	return out, nil
}

func splitOptions(s string) []string {
	var words []string
	var w strings.Builder
	in := false
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case strings.IndexByte(" \t\n\r\v\f", ch) >= 0:
			if in {
				words = append(words, w.String())
				w.Reset()
			}
			in = false
			continue
		case ch == '\\' && i+1 < len(s):
			i++
			w.WriteByte(s[i])
		default:
			w.WriteByte(ch)
		}
		in = true
	}
	if in {
		words = append(words, w.String())
	}
	return words
}

// ClientEncoding returns the canonical name of a client_encoding as PostgreSQL
// reads it, letter case and punctuation ignored: UTF8, in which the engine
// speaks, or SQL_ASCII, which asks for no conversion. Others are refused.
func ClientEncoding(name string) (string, error) {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	switch b.String() {
	case "utf8", "unicode":
		return "UTF8", nil
	case "sqlascii":
		return "SQL_ASCII", nil
	}
	return "", sqlerr.New(sqlerr.InvalidParameterValue, "invalid value for parameter \"client_encoding\": %q", name).
		WithHint("Only UTF8 is supported.")
}

// negotiate tells a client of a newer minor version, or with protocol options
// that we do not know, what we speak. pgproto3 has no such message.
func (c *conn) negotiate(s *startup) {
	if s.version == protocol30 && len(s.unknown) == 0 {
		return
	}
	c.out.room()
	b := c.out.buf
	at := len(b) + 1
	b = append(b, 'v', 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, protocol30)
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.unknown)))
	for _, o := range s.unknown {
		b = append(append(b, o...), 0)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	c.out.buf = b
}

// start brings the connection from its first byte to the first ReadyForQuery.
// False without an error: there is nothing to serve.
func (c *conn) start() (bool, error) {
	s, err := c.readStartup()
	if s == nil || err != nil {
		return false, err
	}
	c.negotiate(s)
	p := StartupParams{User: s.user, Database: s.database, Settings: s.settings, Remote: c.nc.RemoteAddr()}
	if err := c.srv.opts.Auth.Authenticate(c.ctx, &p, exchange{c}); err != nil {
		return false, err
	}
	if err := c.srv.admit(c); err != nil {
		return false, err
	}
	p.PID = c.pid
	c.started()
	c.out.send(&pgproto3.AuthenticationOk{})
	if c.sess, err = c.srv.backend.NewSession(c.ctx, p, c); err != nil {
		return false, err
	}
	c.out.send(&pgproto3.BackendKeyData{ProcessID: c.entry.pid, SecretKey: c.entry.secret})
	c.ready()
	return true, nil
}
