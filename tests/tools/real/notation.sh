# shellcheck shell=sh
# Signatures of Notation, whose command is not served as a module: a program of ours around its library.

NOTATION=v1.3.2

notation_module() {
    cp "$here/notation-sign/main.go" . && asking_for github.com/notaryproject/notation-go "$NOTATION"
}
built notation-sign "$NOTATION" notation_module . ""
