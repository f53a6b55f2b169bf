# shellcheck shell=sh
# HashiCorp Vault, without its pages and without what its own tag `minimal` leaves out, but with the login of Kubernetes.
VAULT=v1.21.4

# A copy, since its go.mod looks for its libraries in folders that its module does not have. The library that it asks for otherwise is
# an older one: three calls are made to fit.
vault_module() {
    copy=$(module_copy "github.com/hashicorp/vault@$VAULT")
    cp -R "$copy/." . && chmod -R u+w . || return 1
    for library in api api/auth/approle api/auth/kubernetes api/auth/userpass sdk; do
        go mod edit -dropreplace="github.com/hashicorp/vault/$library" || return 1
    done
    sed -i 's/restoredKeyName, err := b.lm/restoredKeyName, err := keyName, b.lm/' builtin/logical/transit/path_restore.go
    sed -i 's/activateDeduplication(ctx context.Context, req \*logical.Request)/activateDeduplication(ctx context.Context, req *logical.Request, _ string)/' \
        vault/identity_store_util.go
    sed -i 's/ActivationFunc(ctx, nil)/ActivationFunc(ctx, nil, "")/' vault/logical_system_activation_flags.go
    cat >helper/builtinplugins/registry_min.go <<'END'
//go:build minimal

package builtinplugins

import kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"

func extendAddonPlugins(known *registry) {
	known.credentialBackends["kubernetes"] = credentialBackend{Factory: kubernetes.Factory}
}
END
}
tags=minimal
built vault "$VAULT" vault_module . ""
tags=
