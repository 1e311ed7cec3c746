// Says of each file that it is given whether the library trusts it as a bundle, or why not.
#include "../src/bundle/bundle.h"

#include <fcntl.h>
#include <stdio.h>

int main(int, char **files) {
  while (*++files) {
    Why why = {};
    u64 bytes = 0;
    puts(trusted(open(*files, O_RDONLY), *files, &bytes, &why) ? "trusted" : why.text);
  }
}
