// Signs artifacts as Notation does, whose command is not served as a module. `notation-sign authority DIR` makes an authority and a
// signer with its certificate; `notation-sign sign -key KEY -chain CHAIN HOST/NAME@DIGEST` pushes a signature to the registry.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/notaryproject/notation-core-go/signature/cose"
	"github.com/notaryproject/notation-core-go/signature/jws"
	"github.com/notaryproject/notation-go"
	"github.com/notaryproject/notation-go/registry"
	"github.com/notaryproject/notation-go/signer"
	"oras.land/oras-go/v2/registry/remote"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "notation-sign:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 2 && arguments[0] == "authority":
		return authority(arguments[1])
	case len(arguments) > 1 && arguments[0] == "sign":
		return sign(arguments[1:])
	}
	return errors.New("usage: notation-sign authority DIR | sign -key KEY -chain CHAIN HOST/NAME@DIGEST")
}

func sign(arguments []string) error {
	flags := flag.NewFlagSet("sign", flag.ContinueOnError)
	key := flags.String("key", "", "the signer's private key, in PEM")
	chain := flags.String("chain", "", "the signer's certificate and those of its authorities, in PEM")
	inCose := flags.Bool("cose", false, "an envelope of COSE instead of JWS")
	plain := flags.Bool("plain-http", false, "the registry has no TLS")
	expiry := flags.Duration("expiry", 0, "how long the signature counts; by default for ever")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	by, err := signer.NewGenericSignerFromFiles(*key, *chain)
	if err != nil {
		return err
	}
	repository, err := remote.NewRepository(flags.Arg(0))
	if err != nil {
		return err
	}
	repository.PlainHTTP = *plain
	options := notation.SignOptions{ArtifactReference: flags.Arg(0)}
	options.ExpiryDuration = *expiry
	options.SignatureMediaType = jws.MediaTypeEnvelope
	if *inCose {
		options.SignatureMediaType = cose.MediaTypeEnvelope
	}
	signed, err := notation.Sign(context.Background(), by, registry.NewRepository(repository), options)
	if err == nil {
		fmt.Println(signed.Digest)
	}
	return err
}

// authority writes ca.crt, and chain.crt with signer.key of a signer "acme".
func authority(folder string) error {
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: subject("authority"), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: subject("acme"), NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, BasicConstraintsValid: true,
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	rootBytes, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	if err != nil {
		return err
	}
	leafBytes, err := x509.CreateCertificate(rand.Reader, leaf, root, &leafKey.PublicKey, rootKey)
	if err != nil {
		return err
	}
	keyBytes, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return err
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootBytes})
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafBytes})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyBytes})
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "ca.crt"), ca, 0o600),
		os.WriteFile(filepath.Join(folder, "chain.crt"), append(certificate, ca...), 0o600),
		os.WriteFile(filepath.Join(folder, "signer.key"), private, 0o600),
	)
}

func subject(name string) pkix.Name {
	return pkix.Name{CommonName: name, Organization: []string{"Acme"}, Country: []string{"DE"}, Province: []string{"BE"}}
}
