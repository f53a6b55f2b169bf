// A registry in memory by CUE's libraries, which can be told to lack what other registries lack: `ociserver -omit-link …`.
package main

import (
	"flag"
	"log"
	"net"
	"net/http"

	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelabs.dev/go/oci/ociregistry/ociserver"
)

func main() {
	var options ociserver.Options
	flag.BoolVar(&options.DisableReferrersAPI, "disable-referrers", false, "no API of referrers")
	flag.BoolVar(&options.OmitLinkHeaderFromResponses, "omit-link", false, "pages of lists name no next one")
	flag.BoolVar(&options.OmitDigestFromTagGetResponse, "omit-digest", false, "manifests of tags come without digest")
	flag.IntVar(&options.MaxListPageSize, "max-page", 0, "requests for larger pages are refused")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on %v", listener.Addr())
	log.Fatal(http.Serve(listener, ociserver.New(ocimem.New(), &options)))
}
