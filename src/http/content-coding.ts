/** Content codings of stored bytes, best first. */
export const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/**
 * Returns the best compression that a client accepts; null if the bytes are sent unchanged.
 * @source RFC 9110, section 12.5.3
 */
export function selectCoding(acceptEncoding: string | undefined): Coding | null {
  if (acceptEncoding === undefined) return null;
  const weights = new Map(acceptEncoding.toLowerCase().split(',').map(parseWeight));
  const findWeight = (coding: string): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const [best] = CODINGS.filter((coding) => findWeight(coding) > 0).toSorted((a, b) => findWeight(b) - findWeight(a));
  // The client accepts unchanged bytes unless it refuses them by name.
  return best === undefined || findWeight(best) < (weights.get('identity') ?? 0) ? null : best;
}

function parseWeight(word: string): [string, number] {
  const [coding = '', ...parameters] = word.split(';').map((part) => part.trim());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = quality === undefined ? 1 : Number(quality.slice(2));
  return [coding, Number.isFinite(weight) ? weight : 0];
}
