/**
 * Replaces an invalid browser language. uPlot reads it when it is loaded, and fails if it is not a language tag, such
 * as `en-US@posix`.
 */
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
