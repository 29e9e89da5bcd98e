import type { Holdings } from './measure.js';

/**
 * Sums weights by issuer into memory of its own: what it answered is valid until it is asked again.
 * @param names number of names
 */
export function issuerSums(names: number): (weights: Float64Array, issuers: readonly string[] | null) => Holdings {
  const own = Int32Array.from({ length: names }, (_, name) => name);
  let grouped:
    | { readonly by: readonly string[]; readonly issuerOf: Int32Array; readonly sums: Float64Array }
    | undefined;
  return (weights, by) => {
    if (by === null) return { weights, issuers: weights, issuerOf: own };
    if (grouped?.by !== by) {
      const places = new Map<string, number>();
      const issuerOf = Int32Array.from(by, (issuer) => {
        const place = places.get(issuer) ?? places.size;
        places.set(issuer, place);
        return place;
      });
      grouped = { by, issuerOf, sums: new Float64Array(places.size) };
    }
    const { issuerOf, sums } = grouped;
    sums.fill(0);
    for (let name = 0; name < names; name++) sums[issuerOf[name]!]! += weights[name]!;
    return { weights, issuers: sums, issuerOf };
  };
}
