/** Most names in one sentence; a longer one is not read to its end. */
const NAMED_MAX = 5;

/** A sentence about names without an estimate and the reason of each; empty without any. */
export function leftOutSentence(excluded: ReadonlyMap<string, string>): string {
  if (excluded.size === 0) return '';
  const named = [...excluded].slice(0, NAMED_MAX).map(([name, why]) => `${name} (${why})`);
  const more = excluded.size > NAMED_MAX ? [`${excluded.size - NAMED_MAX} more`] : [];
  return `Left out: ${[...named, ...more].join(', ')}.`;
}
