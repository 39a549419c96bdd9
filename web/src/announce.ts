// One polite live region for the whole page, so that messages never talk over each other.

export function announce(text: string): void {
  const region = document.getElementById("announcer");
  if (!region) return;
  region.textContent = "";
  // A region that is filled in a later frame is read out even when the sentence repeats.
  requestAnimationFrame(() => {
    region.textContent = text;
  });
}
