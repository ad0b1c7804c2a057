package expr

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"strings"

	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// addBinary adds digests, encodings and the functions on bytes.
func addBinary(t *table) {
	sum := func(f *frame, i int) error {
		h := md5.Sum(f.bytes(0, i))
		f.out.Data = hex.AppendEncode(f.out.Data, h[:])
		return nil
	}
	t.fn("md5", "text:text", "MD5 digest in hexadecimal", sum)
	t.fn("md5", "bytea:text", "MD5 digest in hexadecimal", sum)
	t.fn("sha224", "bytea:bytea", "SHA-224 digest", func(f *frame, i int) error {
		h := sha256.Sum224(f.bytes(0, i))
		return f.setBytes(h[:])
	})
	t.fn("sha256", "bytea:bytea", "SHA-256 digest", func(f *frame, i int) error {
		h := sha256.Sum256(f.bytes(0, i))
		return f.setBytes(h[:])
	})
	t.fn("sha384", "bytea:bytea", "SHA-384 digest", func(f *frame, i int) error {
		h := sha512.Sum384(f.bytes(0, i))
		return f.setBytes(h[:])
	})
	t.fn("sha512", "bytea:bytea", "SHA-512 digest", func(f *frame, i int) error {
		h := sha512.Sum512(f.bytes(0, i))
		return f.setBytes(h[:])
	})
	t.fn("encode", "bytea,text:text", "bytes as base64, hex or escaped text", func(f *frame, i int) (err error) {
		f.out.Data, err = scalar.AppendEncode(f.out.Data, f.bytes(0, i), f.str(1, i))
		return err
	})
	t.fn("decode", "text,text:bytea", "bytes of base64, hex or escaped text", func(f *frame, i int) (err error) {
		f.out.Data, err = scalar.AppendDecode(f.out.Data, f.str(0, i), f.str(1, i))
		return err
	})
	byteAccess(t)
	t.fn("convert_from", "bytea,name:text", "text of bytes in an encoding", func(f *frame, i int) error {
		if err := utf8Only(f.str(1, i)); err != nil {
			return err
		}
		if err := scalar.CheckUTF8(f.bytes(0, i)); err != nil {
			return err
		}
		return f.setBytes(f.bytes(0, i))
	})
	t.fn("convert_to", "text,name:bytea", "bytes of text in an encoding", func(f *frame, i int) error {
		if err := utf8Only(f.str(1, i)); err != nil {
			return err
		}
		return f.setBytes(f.bytes(0, i))
	})
}

func utf8Only(name string) error {
	switch strings.ToLower(strings.ReplaceAll(name, "-", "")) {
	case "utf8", "unicode", "sql_ascii":
		return nil
	}
	return sqlerr.Unsupported("encoding \"%s\" is not supported", name).WithHint("The only encoding is UTF8.")
}

func byteAccess(t *table) {
	check := func(f *frame, i, per int) ([]byte, int, error) {
		b, n := f.bytes(0, i), int64(f.i32(1, i))
		if n < 0 || n >= int64(len(b)*per) {
			return nil, 0, sqlerr.New(sqlerr.ArraySubscriptError, "index %d out of valid range, 0..%d", n, len(b)*per-1)
		}
		return b, int(n), nil
	}
	t.fn("get_byte", "bytea,int4:int4", "byte at a place", func(f *frame, i int) error {
		b, n, err := check(f, i, 1)
		if err != nil {
			return err
		}
		return f.setI32(i, int32(b[n]))
	})
	t.fn("set_byte", "bytea,int4,int4:bytea", "bytes with one changed", func(f *frame, i int) error {
		b, n, err := check(f, i, 1)
		if err != nil {
			return err
		}
		start := len(f.out.Data)
		f.out.Data = append(f.out.Data, b...)
		f.out.Data[start+n] = byte(f.i32(2, i))
		return nil
	})
	t.fn("bit_count", "bytea:int8", "number of set bits", func(f *frame, i int) error {
		n := 0
		for _, c := range f.bytes(0, i) {
			for ; c != 0; c &= c - 1 {
				n++
			}
		}
		return f.setI64(i, int64(n))
	})
}
