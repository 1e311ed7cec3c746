// Light or dark: as the system says, until the reader switches.

type Theme = "light" | "dark";

const KEY = "mscclc-theme";

function stored(): Theme | undefined {
  try {
    const said = localStorage.getItem(KEY);
    return said === "light" || said === "dark" ? said : undefined;
  } catch {
    return undefined; // a page of a file, or a browser that keeps nothing
  }
}

function dark(): boolean {
  const said = stored() ?? document.documentElement.dataset.theme;
  return said ? said === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** switchBy lets a button switch between light and dark. */
export function switchBy(button: HTMLButtonElement): void {
  const said = stored();
  if (said) {
    document.documentElement.dataset.theme = said;
  }
  const label = (): void => {
    button.textContent = dark() ? "Light" : "Dark";
  };
  button.addEventListener("click", () => {
    const next: Theme = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // it lasts until the page is left
    }
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
}
