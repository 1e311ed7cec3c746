// This program prints by which card the socket goes that it gets as descriptor 3, as the library finds it.
#include "../../../transport/cards.h"

#include <stdio.h>

int main() {
  char name[CARD_NAME];
  int within;
  card_of(3, name, &within);
  printf("\"%s\" %s", name, within ? "true" : "false");
}
