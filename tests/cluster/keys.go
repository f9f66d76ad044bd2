package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// keys writes an authority (ca.crt), the API server's certificate (server.crt, server.key), by which the metrics server
// knows it, too, and the key that signs tokens (accounts.key).
func keys(folder string) error {
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	server, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	from, until := time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	root := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	leaf := x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: []string{"localhost", "kubernetes.default.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(nodes(1)[0].address())},
	}
	rootBytes, err := x509.CreateCertificate(rand.Reader, &root, &root, &authority.PublicKey, authority)
	if err != nil {
		return err
	}
	leafBytes, err := x509.CreateCertificate(rand.Reader, &leaf, &root, &server.PublicKey, authority)
	if err != nil {
		return err
	}
	write := func(name, kind string, bytes []byte) error {
		return os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600)
	}
	if err := write("ca.crt", "CERTIFICATE", rootBytes); err != nil {
		return err
	}
	if err := write("server.crt", "CERTIFICATE", leafBytes); err != nil {
		return err
	}
	for name, key := range map[string]*ecdsa.PrivateKey{"server.key": server, "accounts.key": accounts} {
		bytes, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return err
		}
		if err := write(name, "EC PRIVATE KEY", bytes); err != nil {
			return err
		}
	}
	return nil
}
