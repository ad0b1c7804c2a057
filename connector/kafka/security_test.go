package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

func TestSASL(t *testing.T) {
	t.Parallel()
	_, addr := cluster(t, 1, kfake.EnableSASL(), kfake.Superuser("PLAIN", "pu", "pp"),
		kfake.Superuser("SCRAM-SHA-256", "a=b,c", "s256"), kfake.Superuser("SCRAM-SHA-512", "u", "s512"))
	for _, c := range []struct {
		mechanism, user, password string
		ok                        bool
	}{
		{"PLAIN", "pu", "pp", true}, {"plain", "pu", "no", false},
		{"scram-sha-256", "a=b,c", "s256", true}, {"scram-sha-256", "a=b,c", "", false},
		{"SCRAM-SHA-512", "u", "s512", true}, {"scram-sha-512", "u", "s256", false},
	} {
		opts := []string{"sasl_mechanism", c.mechanism, "sasl_username", c.user, "sasl_password", c.password}
		s := open(t, idSpec(addr, opts...))
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		if c.ok {
			ctx = testContext(t)
		}
		// This broker hangs up on a wrong password, which cannot be told from its end.
		sp, err := s.Splits(ctx)
		cancel()
		if c.ok != (err == nil && len(sp) == 1) {
			t.Errorf("%v: %v %v", c, sp, err)
		}
	}
}

// Apache Kafka answers a wrong password with an error: waiting does not heal it.
func TestWrongPasswordIsPermanent(t *testing.T) {
	c, addr := cluster(t, 1, kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "p"))
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		res := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		res.ErrorCode = 58
		return res, nil, true
	})
	s := open(t, idSpec(addr, "sasl_mechanism", "plain", "sasl_username", "u", "sasl_password", "no"))
	_, err := s.Splits(testContext(t))
	wantError(t, err, sqlerr.InvalidPassword)
}

// selfSigned writes a certificate for 127.0.0.1 to files.
func selfSigned(t *testing.T) (pair tls.Certificate, certFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certFile = filepath.Join(t.TempDir(), "cert.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(certFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, certFile
}

func TestTLS(t *testing.T) {
	t.Parallel()
	pair, file := selfSigned(t)
	_, addr := cluster(t, 1, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	for _, opts := range [][]string{{"tls", "on", "tls_ca_file", file}, {"tls", "on", "tls_skip_verify", "true"}} {
		if sp, err := open(t, idSpec(addr, opts...)).Splits(testContext(t)); err != nil || len(sp) != 1 {
			t.Fatal(opts, err)
		}
	}
	_, err := open(t, idSpec(addr, "tls", "on")).Splits(testContext(t))
	wantError(t, err, sqlerr.ConnectionFailure, "certificate")
	_, err = Factory().Source(testContext(t), idSpec(addr, "tls", "on", "tls_ca_file", "/nowhere"))
	wantError(t, err, sqlerr.InvalidParameterValue, "/nowhere")
	// Without TLS the broker hangs up: that may heal, so it is waited for.
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := open(t, idSpec(addr)).Splits(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}
