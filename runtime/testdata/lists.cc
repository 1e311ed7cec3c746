// Reads pairs of lines, a text and a list as then_text writes it, and says of each whether they are the same list.
#include "../src/bundle/bundle.h"

#include <stdio.h>
#include <string.h>

int main() {
  static char text[4096], list[4096];
  while (fgets(text, sizeof text, stdin) && fgets(list, sizeof list, stdin)) {
    text[strcspn(text, "\n")] = 0, list[strcspn(list, "\n")] = 0;
    puts(same_list(text, list) ? "same" : "other");
  }
}
