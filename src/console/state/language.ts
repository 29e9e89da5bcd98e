/** uPlot asks for the language of the browser as it is loaded, and fails on one that is no tag: `en-US@posix`. */
export function mendLanguage(): void {
  if (!isTag(navigator.language)) Object.defineProperty(navigator, 'language', { value: 'en-GB' });
}

function isTag(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length === 1;
  } catch {
    return false;
  }
}
