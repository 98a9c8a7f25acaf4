//go:build ignore

// Writes quantities.json: what apimachinery reads and prints, to compare our parser with.
//
//	cd $(mktemp -d) && cp .../quantities.go main.go && go mod init quantities
//	go get k8s.io/apimachinery@v0.35.4 && go mod tidy && go run main.go > .../quantities.json
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
)

type answer struct {
	Bytes string `json:"bytes"`
}

var suffixes = []string{
	"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
	"e0", "e3", "E6", "e-3", "E-9", "e+2", "e18", "K", "g", "mi", "B", "MB", "GiB", "e", "E+", "i", "ki",
}

func main() {
	random := rand.New(rand.NewSource(1))
	texts := []string{
		"", " ", "1 Gi", " 1Gi", "1Gi ", "Gi", ".", "-", "+", "+1Gi", "-1Gi", "-0", "0", "00", "007Mi",
		"1.", ".5Gi", "1..5Gi", "1.5.5", "1_000", "1,5Gi", "0x10", "NaN", "Inf", "1e1e1", "１Gi",
		"9223372036854775807", "9223372036854775808", "8Ei", "7.99Ei", "1e30", "0.1", "0.0001n",
		"1e-30", "123456789012345678901234567890",
	}
	for range 1400 {
		number := fmt.Sprint(random.Intn(5000))
		switch random.Intn(4) {
		case 0:
			number += fmt.Sprintf(".%d", random.Intn(1000))
		case 1:
			number = fmt.Sprint(random.Int63n(1 << 40))
		}
		texts = append(texts, number+suffixes[random.Intn(len(suffixes))])
	}
	cases := map[string]*answer{}
	for _, text := range texts {
		quantity, err := resource.ParseQuantity(text)
		if err != nil || quantity.Sign() < 0 {
			cases[text] = nil
			continue
		}
		if quantity.CmpInt64(math.MaxInt64) > 0 {
			continue // Value() overflows there, to any number
		}
		cases[text] = &answer{Bytes: fmt.Sprint(quantity.Value())}
	}
	printed := map[string]string{}
	for range 300 {
		bytes := random.Int63n(1<<20) << random.Intn(40)
		printed[fmt.Sprint(bytes)] = resource.NewQuantity(bytes, resource.BinarySI).String()
	}
	if len(cases) < 1000 {
		panic("too few cases")
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	_ = encoder.Encode(map[string]any{"cases": cases, "printed": printed})
}
