# shellcheck shell=sh
# S3 over a folder, with IAM and STS of its own.
VERSITYGW=v1.8.0

optional versitygw "$VERSITYGW" github.com/versity/versitygw/cmd/versitygw
