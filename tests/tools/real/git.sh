# The oldest and the newest Git that this Debian's archive has: `git-oldest`, `git-newest`. Debian's sources, without what servers do not
# need; its programs would want the C library of their own release.
OLDEST_GIT=bullseye
NEWEST_GIT=sid

debian_source() { # suite, package: its upstream archive, into this folder
    site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null | head -n 1)
    [ -n "$site" ] || { echo "there is no apt-get with Debian's archive"; return 1; }
    mkdir -p apt/lists/partial apt/cache
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $1 main" >apt/sources.list
    for action in update "source --download-only $2"; do
        # shellcheck disable=SC2086
        apt-get -qq -o Dir::Etc::sourcelist="$PWD/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/apt/lists" \
            -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User="$(id -un)" $action || return 1
    done
}
git_made() { # folder for it, Debian's suite
    debian_source "$2" git && mkdir source && tar -xf git_*.orig.tar.* -C source --strip-components=1 || return 1
    nice make -C source -j "$jobs" -s prefix="$1" NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_OPENSSL=1 NO_PERL=1 NO_PYTHON=1 NO_TCLTK=1 \
        NO_RUST=1 NO_INSTALL_HARDLINKS=1 CFLAGS="-O1" all install
}
git_of() { # name, Debian's suite
    [ ! -x "$tools/$1-$2/bin/git" ] || return 0
    [ -f /usr/include/zlib.h ] || { can_install && install zlib1g-dev; } || return 1
    echo "prepare: building $1 from the sources of Debian $2, once; this takes two minutes"
    mkdir -p "$tools"
    made=$(mktemp -d "$tools/.making.XXXXXX")
    if (cd "$made" && git_made "$tools/$1-$2" "$2") >"$made/log" 2>&1; then
        rm -rf "$made"
    else
        tail -n 20 "$made/log" >&2
        rm -rf "$made" "$tools/${1:?}-$2"
        echo "prepare: $1 could not be built" >&2
        return 1
    fi
}
for git in "git-oldest $OLDEST_GIT" "git-newest $NEWEST_GIT"; do
    there=0
    # shellcheck disable=SC2086
    git_of $git || there=1
    settle "${git% *}" "${git#* }" "$there"
done
