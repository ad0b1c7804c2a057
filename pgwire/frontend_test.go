package pgwire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// frontend is a bare client: it writes messages from text and prints what
// comes, byte by byte its own reading of the protocol.
type frontend struct {
	nc          net.Conn
	pid, secret uint32
	lastRow     []bool // binary columns of the last RowDescription
}

func dial(t testing.TB, addr string) *frontend {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &frontend{nc: nc}
}

// connect dials and finishes start-up as user u.
func connect(t testing.TB, addr string) *frontend {
	t.Helper()
	f := dial(t, addr)
	f.send(t, "Startup user=u")
	f.untilReady(t, 1)
	return f
}

func (f *frontend) send(t testing.TB, lines ...string) {
	t.Helper()
	var b []byte
	for _, l := range lines {
		m, err := f.encode(l)
		if err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		b = append(b, m...)
	}
	if _, err := f.nc.Write(b); err != nil {
		t.Fatal(err)
	}
}

// untilReady reads through n ReadyForQuery and returns what came, printed.
func (f *frontend) untilReady(t testing.TB, n int) []string {
	t.Helper()
	want := make([]string, n)
	for i := range want {
		want[i] = "ReadyForQuery"
	}
	return f.until(t, want...)
}

// until reads until messages of these names have come, in this order.
func (f *frontend) until(t testing.TB, names ...string) []string {
	t.Helper()
	var out []string
	for len(names) > 0 {
		m, err := f.receive()
		if err != nil {
			t.Fatalf("waiting for %s after %v: %v", names[0], out, err)
		}
		out = append(out, m)
		if name, _, _ := strings.Cut(m, " "); name == names[0] {
			names = names[1:]
		}
	}
	return out
}

// rest reads until the server closes.
func (f *frontend) rest() (out []string, err error) {
	for {
		m, err := f.receive()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
}

func frame(typ byte, body []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(body)+4))
	return append(b, body...)
}

func cstr(parts ...string) (b []byte) {
	for _, p := range parts {
		b = append(append(b, p...), 0)
	}
	return b
}

func packet(code uint32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)+8))
	return append(binary.BigEndian.AppendUint32(b, code), body...)
}

// options takes key=value words from the front of a line.
func options(s string, known string) (map[string]string, string) {
	m := map[string]string{}
	for {
		s = strings.TrimLeft(s, " ")
		word, rest, _ := strings.Cut(s, " ")
		k, v, ok := strings.Cut(word, "=")
		if !ok || !strings.Contains(known, k+" ") {
			return m, s
		}
		m[k], s = v, rest
	}
}

func ints(s string) (out []int) {
	for _, w := range strings.Split(s, ",") {
		if n, err := strconv.Atoi(w); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// encode makes a message of a line: a name and arguments.
func (f *frontend) encode(line string) ([]byte, error) {
	name, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	be := binary.BigEndian
	switch name {
	case "Startup":
		return encodeStartup(arg)
	case "SSLRequest":
		return packet(80877103, nil), nil
	case "GSSENCRequest":
		return packet(80877104, nil), nil
	case "CancelRequest":
		p := strings.Fields(arg)
		pid, _ := strconv.ParseUint(p[0], 10, 32)
		secret, _ := strconv.ParseUint(p[1], 10, 32)
		return packet(80877102, be.AppendUint32(be.AppendUint32(nil, uint32(pid)), uint32(secret))), nil
	case "Raw":
		return hex.DecodeString(strings.ReplaceAll(arg, " ", ""))
	case "Query":
		return frame('Q', cstr(unquote(arg))), nil
	case "Parse":
		o, text := options(arg, "name oids ")
		b := cstr(o["name"], unquote(text))
		oids := ints(o["oids"])
		b = be.AppendUint16(b, uint16(len(oids)))
		for _, oid := range oids {
			b = be.AppendUint32(b, uint32(oid))
		}
		return frame('P', b), nil
	case "Bind":
		return encodeBind(arg)
	case "Describe", "Close":
		o, n := options(arg, "")
		_ = o
		kind, n, _ := strings.Cut(n, " ")
		return frame(name[0], append([]byte(kind), cstr(n)...)), nil
	case "Execute":
		o, portal := options(arg, "max ")
		limit, _ := strconv.Atoi(o["max"])
		return frame('E', be.AppendUint32(cstr(portal), uint32(limit))), nil
	case "Sync":
		return frame('S', nil), nil
	case "Flush":
		return frame('H', nil), nil
	case "Terminate":
		return frame('X', nil), nil
	case "CopyData":
		return frame('d', []byte(unquote(arg))), nil
	case "CopyDone":
		return frame('c', nil), nil
	case "CopyFail":
		return frame('f', cstr(arg)), nil
	case "FunctionCall":
		return frame('F', []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0}), nil
	}
	return nil, fmt.Errorf("unknown message %q", name)
}

func encodeStartup(arg string) ([]byte, error) {
	version := uint32(3 << 16)
	var b []byte
	for _, kv := range strings.Fields(arg) {
		k, v, _ := strings.Cut(kv, "=")
		if k == "version" {
			major, minor, _ := strings.Cut(v, ".")
			ma, err := strconv.Atoi(major)
			if err != nil {
				return nil, err
			}
			mi, err := strconv.Atoi(minor)
			if err != nil {
				return nil, err
			}
			version = uint32(ma<<16 | mi)
			continue
		}
		b = append(b, cstr(k, unquote(v))...)
	}
	return packet(version, append(b, 0)), nil
}

// encodeBind reads: portal=, stmt=, pf=, rf=, then parameters 'text', x'00', null.
func encodeBind(arg string) ([]byte, error) {
	be := binary.BigEndian
	o, rest := options(arg, "portal stmt pf rf ")
	b := cstr(o["portal"], o["stmt"])
	codes := func(s string) {
		c := ints(s)
		b = be.AppendUint16(b, uint16(len(c)))
		for _, x := range c {
			b = be.AppendUint16(b, uint16(x))
		}
	}
	codes(o["pf"])
	var params [][]byte
	for _, w := range splitWords(rest) {
		switch {
		case w == "null":
			params = append(params, nil)
		case strings.HasPrefix(w, "x'"):
			p, err := hex.DecodeString(strings.Trim(w[1:], "'"))
			if err != nil {
				return nil, err
			}
			params = append(params, p)
		default:
			params = append(params, []byte(unquote(`"`+strings.Trim(w, "'")+`"`)))
		}
	}
	b = be.AppendUint16(b, uint16(len(params)))
	for _, p := range params {
		if p == nil {
			b = be.AppendUint32(b, 0xffffffff)
			continue
		}
		b = append(be.AppendUint32(b, uint32(len(p))), p...)
	}
	codes(o["rf"])
	return frame('B', b), nil
}

// splitWords splits at blanks outside quotes.
func splitWords(s string) (out []string) {
	quoted, start := false, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ' ' && !quoted {
			if w := strings.TrimSpace(s[start:i]); w != "" {
				out = append(out, w)
			}
			start = i + 1
			continue
		}
		if s[i] == '\'' {
			quoted = !quoted
		}
	}
	return out
}

func (f *frontend) receive() (string, error) {
	var head [5]byte
	if _, err := io.ReadFull(f.nc, head[:]); err != nil {
		return "", err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	if _, err := io.ReadFull(f.nc, body); err != nil {
		return "", err
	}
	return f.print(head[0], &cursor{b: body}), nil
}

// cursor takes a message apart.
type cursor struct{ b []byte }

func (c *cursor) take(n int) []byte { b := c.b[:n]; c.b = c.b[n:]; return b }
func (c *cursor) u16() int          { return int(int16(binary.BigEndian.Uint16(c.take(2)))) }
func (c *cursor) u32() uint32       { return binary.BigEndian.Uint32(c.take(4)) }

func (c *cursor) str() string {
	s, _, _ := strings.Cut(string(c.b), "\x00")
	c.b = c.b[len(s)+1:]
	return s
}

var simpleNames = map[byte]string{'1': "ParseComplete", '2': "BindComplete", '3': "CloseComplete", 'n': "NoData",
	's': "PortalSuspended", 'I': "EmptyQueryResponse", 'c': "CopyDone"}

func (f *frontend) print(typ byte, c *cursor) string {
	if name := simpleNames[typ]; name != "" {
		return name
	}
	switch typ {
	case 'R':
		return fmt.Sprintf("Authentication %d", c.u32())
	case 'S':
		return fmt.Sprintf("ParameterStatus %s=%q", c.str(), c.str())
	case 'K':
		f.pid, f.secret = c.u32(), c.u32()
		return "BackendKeyData"
	case 'Z':
		return "ReadyForQuery " + string(c.b)
	case 'C':
		return fmt.Sprintf("CommandComplete %q", c.str())
	case 'v':
		out := fmt.Sprintf("NegotiateProtocolVersion %d", c.u32())
		for n := c.u32(); n > 0; n-- {
			out += " " + c.str()
		}
		return out
	case 'A':
		c.u32()
		return fmt.Sprintf("NotificationResponse %q %q", c.str(), c.str())
	case 't':
		out := "ParameterDescription"
		for n := c.u16(); n > 0; n-- {
			out += fmt.Sprint(" ", c.u32())
		}
		return out
	case 'E', 'N':
		return printError(typ, c)
	case 'T':
		return f.printRowDescription(c)
	case 'D':
		return f.printRow(c)
	case 'G', 'H':
		out := fmt.Sprintf("%s %d [", map[byte]string{'G': "CopyInResponse", 'H': "CopyOutResponse"}[typ], c.take(1)[0])
		for n := c.u16(); n > 0; n-- {
			out += fmt.Sprint(" ", c.u16())
		}
		return out + " ]"
	case 'd':
		return fmt.Sprintf("CopyData %q", c.b)
	}
	return fmt.Sprintf("unknown message %c %x", typ, c.b)
}

func printError(typ byte, c *cursor) string {
	out := map[byte]string{'E': "ErrorResponse", 'N': "NoticeResponse"}[typ]
	for c.b[0] != 0 {
		k := c.take(1)[0]
		switch v := c.str(); k {
		case 'S', 'C', 'P':
			out += " " + map[byte]string{'P': "at="}[k] + v
		case 'M':
			out += fmt.Sprintf(" %q", v)
		case 'D', 'H', 'W':
			out += fmt.Sprintf(" %c=%q", k, v)
		}
	}
	return out
}

func (f *frontend) printRowDescription(c *cursor) string {
	out := "RowDescription"
	f.lastRow = f.lastRow[:0]
	for n := c.u16(); n > 0; n-- {
		name, table, att, oid := c.str(), c.u32(), c.u16(), c.u32()
		size, mod, code := c.u16(), int32(c.u32()), c.u16()
		f.lastRow = append(f.lastRow, code == 1)
		out += fmt.Sprintf(" %s:%d(%d,%d,%d)", name, oid, size, mod, code)
		if table != 0 {
			out += fmt.Sprintf("=%d.%d", table, att)
		}
	}
	return out
}

func (f *frontend) printRow(c *cursor) string {
	out := "DataRow"
	for i, n := 0, c.u16(); i < n; i++ {
		size := int32(c.u32())
		if size < 0 {
			out += " null"
			continue
		}
		if v := c.take(int(size)); i < len(f.lastRow) && f.lastRow[i] || !utf8.Valid(v) {
			out += fmt.Sprintf(" x'%x'", v)
		} else {
			out += fmt.Sprintf(" %q", v)
		}
	}
	return out
}

func utoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
