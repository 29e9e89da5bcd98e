import type { Holdings } from './measure.js';

interface IssuerGroups {
  readonly by: readonly string[];
  readonly issuerOf: Int32Array;
  readonly sums: Float64Array;
  readonly sizes: Float64Array;
}

/**
 * Creates a function that sums weights by issuer, and takes the magnitude of each sum. A result is valid until the next
 * call, because the function reuses memory.
 * @param securityCount number of securities
 */
export function sumByIssuer(
  securityCount: number,
): (weights: Float64Array, issuers: readonly string[] | null) => Holdings {
  const namePositions = Int32Array.from({ length: securityCount }, (_, name) => name);
  const sizes = new Float64Array(securityCount);
  let issuerGroups: IssuerGroups | undefined;
  return (weights, by) => {
    if (by === null)
      return { weights, nets: weights, issuers: selectMagnitudes(weights, sizes), issuerOf: namePositions };
    if (issuerGroups?.by !== by) {
      const positionByIssuer = new Map<string, number>();
      const issuerPositions = Int32Array.from(by, (issuer) => {
        const position = positionByIssuer.get(issuer) ?? positionByIssuer.size;
        positionByIssuer.set(issuer, position);
        return position;
      });
      issuerGroups = {
        by,
        issuerOf: issuerPositions,
        sums: new Float64Array(positionByIssuer.size),
        sizes: new Float64Array(positionByIssuer.size),
      };
    }
    const { issuerOf, sums } = issuerGroups;
    sums.fill(0);
    for (let name = 0; name < securityCount; name++) sums[issuerOf[name]!]! += weights[name]!;
    return { weights, nets: sums, issuers: selectMagnitudes(sums, issuerGroups.sizes), issuerOf };
  };
}

function selectMagnitudes(nets: Float64Array, sizes: Float64Array): Float64Array {
  for (let position = 0; position < nets.length; position++) sizes[position] = Math.abs(nets[position]!);
  return sizes;
}
