package runtime_test

import (
	"math/rand"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mscclc/ir/epilogue"
)

// TestLists has the library and package epilogue read the same texts: lists, with the spaces, parentheses and commas
// that a list may have, and texts that lack a token or have one too many.
func TestLists(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	var pairs strings.Builder
	var texts, want []string
	count := map[string]int{}
	for range 20000 {
		list := randomList(random)
		text, says := writing(random, list.String()), "other"
		if read, err := epilogue.Parse(text); err == nil && read.String() == list.String() {
			says = "same"
		}
		pairs.WriteString(text + "\n" + list.String() + "\n")
		texts, want = append(texts, text), append(want, says)
		count[says]++
	}
	cmd := exec.Command(program(t, "lists", engineObjects))
	cmd.Stdin = strings.NewReader(pairs.String())
	out, err := cmd.CombinedOutput()
	got := strings.Fields(string(out))
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, and %d answers to %d texts: %.300s", err, len(got), len(want), out)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("the library says %s, and package epilogue %s, of %q", got[i], want[i], texts[i])
		}
	}
	if count["same"] < 5000 || count["other"] < 5000 {
		t.Errorf("the texts are not of both kinds: %v", count)
	}
}

// randomList returns a list that has each stage at most once.
func randomList(random *rand.Rand) (list epilogue.List) {
	for _, k := range random.Perm(int(epilogue.Quantise))[:random.Intn(4)] {
		list = append(list, epilogue.Stage{Kind: epilogue.Kind(k)})
		if epilogue.Kind(k) == epilogue.Activation {
			list[len(list)-1].Fn = epilogue.Function(random.Intn(int(epilogue.NumFunctions)))
		}
	}
	if t := epilogue.Types[random.Intn(len(epilogue.Types))]; len(list) == 0 || random.Intn(2) == 0 {
		list = append(list, epilogue.Stage{Kind: t.For, Type: t.Name})
		if t.For == epilogue.Quantise {
			list[len(list)-1].Block = random.Intn(3) * 64
		}
	}
	return list
}

var tokenRx = regexp.MustCompile(`\w+|[^ ]`)

// writing returns a list with other spaces and, at times, tokens that it may have, or that make it wrong.
func writing(random *rand.Rand, list string) string {
	tokens := tokenRx.FindAllString(list, -1)
	var text strings.Builder
	for i, token := range tokens {
		for range random.Intn(3) {
			text.WriteByte(" \t\r"[random.Intn(3)])
		}
		odd := random.Intn(8 * len(tokens))
		if odd == 0 {
			continue
		}
		if i > 0 && text.Len() > 0 && strings.HasSuffix(text.String(), tokens[i-1]) && token != "(" {
			text.WriteByte(' ')
		}
		text.WriteString(token)
		switch odd {
		case 1:
			text.WriteString(token)
		case 2:
			text.WriteString([]string{",", "()", "(", ")", "0", "é"}[random.Intn(6)])
		}
		last := i == len(tokens)-1
		if bare := last || tokens[i+1] == ","; bare && token != ")" && random.Intn(4) == 0 {
			text.WriteString([]string{"()", " ( )"}[random.Intn(2)])
		}
		if (last || tokens[i+1] == ")") && random.Intn(4) == 0 {
			text.WriteString([]string{",", " ,", ", "}[random.Intn(3)])
		}
	}
	return text.String()
}
