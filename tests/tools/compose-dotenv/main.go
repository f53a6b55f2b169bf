// Reads .env files as Docker Compose does: each line of the input is a text in JSON, each of the output its variables or an error.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/compose-spec/compose-go/v2/dotenv"
)

func main() {
	texts := json.NewDecoder(bufio.NewReader(os.Stdin))
	read := json.NewEncoder(os.Stdout)
	for {
		var text string
		if texts.Decode(&text) != nil {
			return
		}
		values, err := dotenv.UnmarshalWithLookup(text, func(string) (string, bool) { return "", true })
		if err != nil {
			err = read.Encode(map[string]string{"error": err.Error()})
		} else {
			err = read.Encode(map[string]any{"values": values})
		}
		if err != nil {
			os.Exit(1)
		}
	}
}
