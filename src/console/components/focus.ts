/** Returns true if the focused element was removed or disabled. */
export function isFocusLost(): boolean {
  const active = document.activeElement;
  return active === null || active === document.body || active.matches(':disabled');
}

/** If the focus is lost, moves it to the heading of the page. */
export function rescueFocus(): void {
  if (!isFocusLost()) return;
  const heading = document.querySelector<HTMLElement>('#main h1') ?? document.getElementById('main');
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus();
}
