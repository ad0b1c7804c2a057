package kafka

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
)

// scramMechanism is SCRAM of RFC 5802 without channel binding. Names and
// passwords are used as they are written: those outside ASCII must be normalised
// by the user as they were on the broker.
type scramMechanism struct {
	name           string
	hash           func() hash.Hash
	user, password string
}

func newSCRAM(mechanism, user, password string) sasl.Mechanism {
	m := &scramMechanism{name: strings.ToUpper(mechanism), hash: sha256.New, user: user, password: password}
	if mechanism == "scram-sha-512" {
		m.hash = sha512.New
	}
	return m
}

// Name returns the mechanism's name for the handshake.
func (m *scramMechanism) Name() string { return m.name }

// maxIterations bounds the work that a server can ask for.
const maxIterations = 1 << 20

// Start returns the client's first message.
func (m *scramMechanism) Start(context.Context) (sasl.StateMachine, []byte, error) {
	var nonce [18]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, nil, err
	}
	user := strings.NewReplacer("=", "=3D", ",", "=2C").Replace(m.user)
	s := &scramSession{m: m, nonce: base64.StdEncoding.EncodeToString(nonce[:])}
	s.first = "n=" + user + ",r=" + s.nonce
	return s, []byte("n,," + s.first), nil
}

type scramSession struct {
	m      *scramMechanism
	nonce  string
	first  string // the client's first message without its header
	server []byte // what the server must prove; set by the second message
}

// Next answers the server's challenge; done once the server has proved that it
// knows the password as well.
func (s *scramSession) Next(_ context.Context, challenge []byte) (done bool, response []byte, err error) {
	fields := map[byte]string{}
	for f := range strings.SplitSeq(string(challenge), ",") {
		if len(f) >= 2 && f[1] == '=' {
			fields[f[0]] = f[2:]
		}
	}
	if e, failed := fields['e']; failed {
		return false, nil, fmt.Errorf("SCRAM authentication failed: %s", e)
	}
	if s.server != nil {
		proof, err := base64.StdEncoding.DecodeString(fields['v'])
		if err != nil || !hmac.Equal(proof, s.server) {
			return false, nil, errors.New("SCRAM: the broker could not prove that it knows the password")
		}
		return true, nil, nil
	}
	response, err = s.prove(challenge, fields)
	return false, response, err
}

func (s *scramSession) prove(challenge []byte, fields map[byte]string) ([]byte, error) {
	salt, err := base64.StdEncoding.DecodeString(fields['s'])
	n, nerr := strconv.Atoi(fields['i'])
	nonce := fields['r']
	if err != nil || nerr != nil || n < 1 || n > maxIterations || len(salt) == 0 ||
		!strings.HasPrefix(nonce, s.nonce) || len(nonce) == len(s.nonce) {
		return nil, errors.New("SCRAM: the broker's challenge is malformed")
	}
	h := s.m.hash
	salted, err := pbkdf2.Key(h, s.m.password, salt, n, h().Size())
	if err != nil {
		return nil, err
	}
	final := "c=biws,r=" + nonce
	auth := []byte(s.first + "," + string(challenge) + "," + final)
	client := sum(h, salted, []byte("Client Key"))
	stored := h()
	stored.Write(client)
	proof := sum(h, stored.Sum(nil), auth)
	for i := range proof {
		proof[i] ^= client[i]
	}
	s.server = sum(h, sum(h, salted, []byte("Server Key")), auth)
	return append(bytes.Clone([]byte(final+",p=")), base64.StdEncoding.EncodeToString(proof)...), nil
}

func sum(h func() hash.Hash, key, message []byte) []byte {
	m := hmac.New(h, key)
	m.Write(message)
	return m.Sum(nil)
}
