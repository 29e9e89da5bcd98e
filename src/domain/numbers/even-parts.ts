/** Division of items into parts of equal size; the last part may be smaller. */
export interface EvenParts {
  readonly count: number;
  /** Returns the indices of the items in a part. */
  positions(part: number): readonly number[];
}

/** Number of items per part: about a second of work, after which another job may run. */
const ITEMS_PER_PART = 8;
/** Maximum number of parts of a job, which limits rows in the database and files in the folder of the job. */
const PARTS_MAX = 5000;

/** Divides the items of a job into parts. */
export function divideEvenly(items: number): EvenParts {
  const size = Math.max(ITEMS_PER_PART, Math.ceil(items / PARTS_MAX));
  return {
    count: Math.ceil(items / size),
    positions: (part) => Array.from({ length: Math.min(size, items - part * size) }, (_, i) => part * size + i),
  };
}

/** Part contained in an output. */
export interface LocatedPart {
  readonly part: number;
  /** Index of the output, and position of the part within it. */
  readonly output: number;
  readonly at: number;
}

/**
 * Locations of parts in outputs. `first` has the first location of each part, in the order of the parts; `others` has
 * all further locations.
 */
export interface PartLocations {
  readonly first: readonly LocatedPart[];
  readonly others: readonly LocatedPart[];
}

/** Locates the parts in outputs. Several outputs may contain the same part. */
export function locateParts(outputs: readonly { readonly parts: readonly number[] }[]): PartLocations {
  const first = new Map<number, LocatedPart>();
  const locatedParts: LocatedPart[] = [];
  for (const [output, { parts }] of outputs.entries())
    for (const [position, part] of parts.entries()) {
      const locatedPart = { part, output, at: position };
      if (first.has(part)) locatedParts.push(locatedPart);
      else first.set(part, locatedPart);
    }
  return { first: [...first.values()].toSorted((a, b) => a.part - b.part), others: locatedParts };
}
