/**
 * Replaces an invalid language of the browser, such as `en-US@posix`. Otherwise uPlot would fail while it is loaded.
 */
export function replaceInvalidLanguage(): void {
  if (!isTag(navigator.language)) Object.defineProperty(navigator, 'language', { value: 'en-GB' });
}

function isTag(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length === 1;
  } catch {
    return false;
  }
}
