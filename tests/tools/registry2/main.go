// The registry of distribution 2: its handlers with the storage and the logins that the tests use, without its clouds and its ACME
// client, whose libraries of then are not served any more. As its own command: `registry2 serve CONFIG`.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/docker/distribution/configuration"
	_ "github.com/docker/distribution/registry/auth/htpasswd"
	_ "github.com/docker/distribution/registry/auth/token"
	"github.com/docker/distribution/registry/handlers"
	_ "github.com/docker/distribution/registry/storage/driver/filesystem"
	gorilla "github.com/gorilla/handlers"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] != "serve" {
		log.Fatal("usage: registry2 serve CONFIG")
	}
	file, err := os.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	config, err := configuration.Parse(file)
	if err != nil {
		log.Fatal(err)
	}
	app := gorilla.CombinedLoggingHandler(os.Stdout, handlers.NewApp(context.Background(), config))
	listener, err := net.Listen("tcp", config.HTTP.Addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on %v", listener.Addr())
	if tls := config.HTTP.TLS; tls.Certificate != "" {
		log.Fatal(http.ServeTLS(listener, app, tls.Certificate, tls.Key))
	}
	log.Fatal(http.Serve(listener, app))
}
