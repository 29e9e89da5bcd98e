import { canonicalJson } from '../json/canonical-json.js';
import { compareText } from '../refusals/findings.js';
import { variantCount, type Variation } from './variants.js';

/** Variants of a sweep in parts, each of which is computed by one thread. */
export interface SweepParts {
  readonly count: number;
  /** Variants of a part, in the order in which it runs them. */
  variants(part: number): readonly number[];
}

/** Variants of one part: a second or so of work, after which another job may have its turn. */
const VARIANTS_PER_PART = 8;
/** Parts of a sweep: what its database has in rows, and its folder in files. */
const PARTS_MAX = 5000;

/** Variants in parts: those of the same definition are neighbours, so that it is decided once. */
export function sweepParts(variation: Variation): SweepParts {
  const count = variantCount(variation);
  const size = Math.max(VARIANTS_PER_PART, Math.ceil(count / PARTS_MAX));
  const at = variation.patches === null ? gridOrder(variation.grid ?? {}) : listOrder(variation.patches);
  return {
    count: Math.ceil(count / size),
    variants: (part) => Array.from({ length: Math.min(size, count - part * size) }, (_, i) => at(part * size + i)),
  };
}

const isOfDocument = (pointer: string): boolean => pointer.startsWith('/document/');

/** Variants of a grid in an order in which what is of the document varies slowest. */
function gridOrder(grid: NonNullable<Variation['grid']>): (position: number) => number {
  let stride = 1;
  const axes = Object.entries(grid)
    .reverse()
    .map(([pointer, { length }]) => {
      const axis = { pointer, length, stride };
      stride *= length;
      return axis;
    });
  // From the one that varies fastest on.
  const ordered = [
    ...axes.filter(({ pointer }) => !isOfDocument(pointer)),
    ...axes.filter(({ pointer }) => isOfDocument(pointer)),
  ];
  return (position) => {
    let rest = position;
    let variant = 0;
    for (const axis of ordered) {
      variant += (rest % axis.length) * axis.stride;
      rest = Math.floor(rest / axis.length);
    }
    return variant;
  };
}

function listOrder(patches: NonNullable<Variation['patches']>): (position: number) => number {
  const definitions = patches.map((patch) =>
    canonicalJson(Object.fromEntries(Object.entries(patch).filter(([pointer]) => isOfDocument(pointer)))),
  );
  const order = [...patches.keys()].toSorted((a, b) => compareText(definitions[a]!, definitions[b]!) || a - b);
  return (position) => order[position]!;
}
