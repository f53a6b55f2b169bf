# shellcheck shell=sh
# AWS KMS beside moto's: its ciphertexts are AES-GCM, with the encryption context as authenticated data.
LOCAL_KMS=v0.0.0-20260228092603-2a5e92d09ab6 # has no releases as a Go module

optional local-kms "$LOCAL_KMS" github.com/nsmithuk/local-kms
