import { divideEvenly } from '../numbers/even-parts.js';
import { toCanonicalJson } from '../json/canonical-json.js';
import { compareText } from '../refusals/findings.js';
import { countVariants, type Variation } from './variants.js';

/** Variants of a sweep divided into parts, each computed by one thread. */
export interface SweepParts {
  readonly count: number;
  /** Returns the variants of a part, in the order of computation. */
  variants(part: number): readonly number[];
}

/**
 * Divides variants into parts. Variants with equal definitions are adjacent, so each definition is decided only once.
 */
export function orderSweepParts(variation: Variation): SweepParts {
  const { count, positions } = divideEvenly(countVariants(variation));
  const createVariant =
    variation.patches === null ? createGridOrder(variation.grid ?? {}) : createListOrder(variation.patches);
  return { count, variants: (part) => positions(part).map(createVariant) };
}

const isOfDocument = (pointer: string): boolean => pointer.startsWith('/document/');

/**
 * Returns a function that maps a position to the variant of a grid. In this order, document parameters vary slowest.
 */
function createGridOrder(grid: NonNullable<Variation['grid']>): (position: number) => number {
  let stride = 1;
  const axes = Object.entries(grid)
    .reverse()
    .map(([pointer, { length }]) => {
      const axis = { pointer, length, stride };
      stride *= length;
      return axis;
    });
  // Fastest-varying first.
  const orderedAxes = [
    ...axes.filter(({ pointer }) => !isOfDocument(pointer)),
    ...axes.filter(({ pointer }) => isOfDocument(pointer)),
  ];
  return (position) => {
    let remainder = position;
    let variant = 0;
    for (const axis of orderedAxes) {
      variant += (remainder % axis.length) * axis.stride;
      remainder = Math.floor(remainder / axis.length);
    }
    return variant;
  };
}

function createListOrder(patches: NonNullable<Variation['patches']>): (position: number) => number {
  const definitions = patches.map((patch) =>
    toCanonicalJson(Object.fromEntries(Object.entries(patch).filter(([pointer]) => isOfDocument(pointer)))),
  );
  const order = [...patches.keys()].toSorted((a, b) => compareText(definitions[a]!, definitions[b]!) || a - b);
  return (position) => order[position]!;
}
