/** Maximum number of securities listed in a sentence. */
const NAMED_MAX = 5;

/** Describes the securities without an estimate, each with its reason; empty if there are none. */
export function describeExclusion(excluded: ReadonlyMap<string, string>): string {
  if (excluded.size === 0) return '';
  const namedExclusions = [...excluded].slice(0, NAMED_MAX).map(([name, why]) => `${name} (${why})`);
  const moreTexts = excluded.size > NAMED_MAX ? [`${excluded.size - NAMED_MAX} more`] : [];
  return `Excluded: ${[...namedExclusions, ...moreTexts].join(', ')}.`;
}
