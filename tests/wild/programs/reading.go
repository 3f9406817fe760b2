// Reads files with Go's standard library, which makes its system calls itself.
package main

import (
	"fmt"
	"hash/fnv"
	"os"
)

func main() {
	for _, path := range os.Args[1:] {
		bytes, err := os.ReadFile(path)
		sum := fnv.New64a()
		sum.Write(bytes)
		fmt.Println(path, len(bytes), sum.Sum64(), err)
		if found, err := os.Stat(path); err == nil {
			fmt.Println(found.Size(), found.Mode(), found.ModTime().UnixNano())
		}
	}
}
