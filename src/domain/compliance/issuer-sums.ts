import type { Holdings } from './measure.js';

interface IssuerGroups {
  readonly by: readonly string[];
  readonly issuerOf: Int32Array;
  readonly sums: Float64Array;
  readonly sizes: Float64Array;
}

/**
 * Creates a function that sums weights, and their magnitudes, by issuer. It reuses memory: a result is valid until the
 * next call.
 * @param names number of securities
 */
export function sumByIssuer(names: number): (weights: Float64Array, issuers: readonly string[] | null) => Holdings {
  const namePositions = Int32Array.from({ length: names }, (_, name) => name);
  const sizes = new Float64Array(names);
  let grouped: IssuerGroups | undefined;
  return (weights, by) => {
    if (by === null)
      return { weights, nets: weights, issuers: selectMagnitudes(weights, sizes), issuerOf: namePositions };
    if (grouped?.by !== by) {
      const places = new Map<string, number>();
      const issuerOf = Int32Array.from(by, (issuer) => {
        const place = places.get(issuer) ?? places.size;
        places.set(issuer, place);
        return place;
      });
      grouped = { by, issuerOf, sums: new Float64Array(places.size), sizes: new Float64Array(places.size) };
    }
    const { issuerOf, sums } = grouped;
    sums.fill(0);
    for (let name = 0; name < names; name++) sums[issuerOf[name]!]! += weights[name]!;
    return { weights, nets: sums, issuers: selectMagnitudes(sums, grouped.sizes), issuerOf };
  };
}

function selectMagnitudes(nets: Float64Array, sizes: Float64Array): Float64Array {
  for (let position = 0; position < nets.length; position++) sizes[position] = Math.abs(nets[position]!);
  return sizes;
}
