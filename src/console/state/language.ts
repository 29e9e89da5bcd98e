/** Replaces an invalid browser language such as `en-US@posix`, because uPlot fails on it when it is loaded. */
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
