/**
 * Instructions for building one list from another. An instruction is a run of positions, [from, count], or items that
 * the other list does not have. Lists and instructions can be serialised as JSON.
 */
export type ListChange<T> = readonly (readonly [number, number] | { readonly own: readonly T[] })[];

/** Returns the instructions for building one list from another. @cost one lookup per item */
export function listChange<T extends string | number>(target: readonly T[], from: readonly T[]): ListChange<T> {
  const positions = new Map<T, number>();
  for (let i = from.length - 1; i >= 0; i--) positions.set(from[i]!, i);
  const steps: ([number, number] | { readonly own: T[] })[] = [];
  for (const item of target) {
    const last = steps.at(-1);
    const position = positions.get(item);
    if (Array.isArray(last) && from[last[0] + last[1]] === item) last[1]++;
    else if (position !== undefined) steps.push([position, 1]);
    else if (last !== undefined && 'own' in last) last.own.push(item);
    else steps.push({ own: [item] });
  }
  return steps;
}

/**
 * Returns the list that results from a change. @param ownOf returns the result for an item that the other list lacks
 */
export function applyListChange<T, R>(change: ListChange<T>, from: readonly R[], ownOf: (item: T) => R): R[] {
  const results: R[] = [];
  for (const step of change) {
    if ('own' in step) for (const item of step.own) results.push(ownOf(item));
    else for (let i = 0; i < step[1]; i++) results.push(from[step[0] + i]!);
  }
  return results;
}

/** Returns the position of each item in the other list. It is -1 if the item is missing there. */
export function findPositions<T>(change: ListChange<T>): Int32Array {
  const count = change.reduce((sum, step) => sum + ('own' in step ? step.own.length : step[1]), 0);
  const positions = new Int32Array(count).fill(-1);
  let offset = 0;
  for (const step of change) {
    if ('own' in step) offset += step.own.length;
    else for (let i = 0; i < step[1]; i++) positions[offset++] = step[0] + i;
  }
  return positions;
}
