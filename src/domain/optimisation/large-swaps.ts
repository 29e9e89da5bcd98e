import { listPositions, type Choice } from './restriction.js';
import type { ConvexSolution } from './solve-convex.js';

/**
 * Returns choices in which one large security is exchanged for another one: each of the `most` smallest large ones for
 * each of the `most` largest others.
 */
export function listLargeSwaps({ held, short, large }: Choice, { weights }: ConvexSolution, most: number): Choice[] {
  const order = Array.from(listPositions(held)).toSorted((a, b) => weights[b]! - weights[a]! || a - b);
  return large.flatMap((set, position) => {
    const insideMembers = order
      .filter((i) => set[i] === 1)
      .toReversed()
      .slice(0, most);
    const outsideMembers = order.filter((i) => set[i] === 0).slice(0, most);
    return insideMembers.flatMap((a) =>
      outsideMembers.map((b) => ({
        held,
        short,
        large: large.map((other, q) => (q === position ? swapMember(other, a, b) : other)),
        isFinal: true,
      })),
    );
  });
}

/** Exchanges one member of a set for another security, if the set contains the member. */
export function swapMember(set: Uint8Array, out: number, coming: number): Uint8Array {
  const nextSet = set.slice();
  if (nextSet[out] === 1) {
    nextSet[out] = 0;
    nextSet[coming] = 1;
  }
  return nextSet;
}
