/** A semantic version. */
export interface Version {
  readonly numbers: readonly [number, number, number];
  /** Identifiers of a pre-release; empty for a release. */
  readonly preRelease: readonly string[];
}

const PATTERN = /^v?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/** Parses a version; returns undefined for other text. @source Semantic Versioning 2.0.0 */
export function parseVersion(text: string): Version | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const preRelease = match[4]?.split('.') ?? [];
  if (preRelease.includes('')) return undefined;
  return { numbers: [Number(match[1]), Number(match[2]), Number(match[3])], preRelease };
}

/** Compares versions; negative if `a` precedes `b`. @source Semantic Versioning 2.0.0, section 11 */
export function compareVersions(a: Version, b: Version): number {
  for (let i = 0; i < 3; i++) {
    const difference = a.numbers[i]! - b.numbers[i]!;
    if (difference !== 0) return difference;
  }
  if (a.preRelease.length === 0 || b.preRelease.length === 0) return b.preRelease.length - a.preRelease.length;
  for (let i = 0; i < Math.min(a.preRelease.length, b.preRelease.length); i++) {
    const difference = compareIdentifiers(a.preRelease[i]!, b.preRelease[i]!);
    if (difference !== 0) return difference;
  }
  return a.preRelease.length - b.preRelease.length;
}

const NUMERIC = /^\d+$/;

/** Compares pre-release identifiers. Numeric identifiers compare as numbers and precede text identifiers. */
function compareIdentifiers(a: string, b: string): number {
  const isANumeric = NUMERIC.test(a);
  const isBNumeric = NUMERIC.test(b);
  if (isANumeric && isBNumeric) return Number(a) - Number(b);
  if (isANumeric !== isBNumeric) return isANumeric ? -1 : 1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
