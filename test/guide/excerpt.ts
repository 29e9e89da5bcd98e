/**
 * Returns the paths at which an excerpt differs from the actual response. The list is empty if the response contains
 * the excerpt.
 */
export function listMissing(actual: unknown, expected: unknown, path = ''): string[] {
  if (expected === '...') return actual === undefined ? [`${path} is not there`] : [];
  if (typeof expected === 'number')
    return isShownAs(actual, expected) ? [] : [`${path} is ${JSON.stringify(actual)}, shown as ${expected}`];
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [`${path} is no list`];
    return expected.flatMap((item, i) => listMissing(actual[i], item, `${path}[${i}]`));
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return [`${path} is ${JSON.stringify(actual)}`];
    return Object.entries(expected).flatMap(([key, member]) =>
      listMissing((actual as Record<string, unknown>)[key], member, `${path}.${key}`),
    );
  }
  return actual === expected ? [] : [`${path} is ${JSON.stringify(actual)}, shown as ${JSON.stringify(expected)}`];
}

/** Returns true if a number equals the number in the guide. It is rounded to the decimals of the guide first. */
function isShownAs(actual: unknown, expected: number): boolean {
  if (typeof actual !== 'number') return false;
  const [mantissa = '', exponent = '0'] = String(expected).split('e');
  const decimals = (mantissa.split('.')[1] ?? '').length - Number(exponent);
  return Math.abs(actual - expected) <= 0.5000001 * 10 ** -decimals;
}
