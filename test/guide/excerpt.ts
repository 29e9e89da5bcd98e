/**
 * Returns the paths at which an excerpt differs from the actual response; empty if the response contains the excerpt.
 */
export function listMissing(actual: unknown, shown: unknown, path = ''): string[] {
  if (shown === '...') return actual === undefined ? [`${path} is not there`] : [];
  if (typeof shown === 'number')
    return isShownAs(actual, shown) ? [] : [`${path} is ${JSON.stringify(actual)}, shown as ${shown}`];
  if (Array.isArray(shown)) {
    if (!Array.isArray(actual)) return [`${path} is no list`];
    return shown.flatMap((item, i) => listMissing(actual[i], item, `${path}[${i}]`));
  }
  if (typeof shown === 'object' && shown !== null) {
    if (typeof actual !== 'object' || actual === null) return [`${path} is ${JSON.stringify(actual)}`];
    return Object.entries(shown).flatMap(([key, member]) =>
      listMissing((actual as Record<string, unknown>)[key], member, `${path}.${key}`),
    );
  }
  return actual === shown ? [] : [`${path} is ${JSON.stringify(actual)}, shown as ${JSON.stringify(shown)}`];
}

/** Returns true if a number, rounded to the decimals of the guide, equals the number in the guide. */
function isShownAs(actual: unknown, shown: number): boolean {
  if (typeof actual !== 'number') return false;
  const [mantissa = '', exponent = '0'] = String(shown).split('e');
  const decimals = (mantissa.split('.')[1] ?? '').length - Number(exponent);
  return Math.abs(actual - shown) <= 0.5000001 * 10 ** -decimals;
}
