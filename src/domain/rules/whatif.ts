import type { ResolvedPreview } from './preview.js';

/** Differences between two compositions of a day. */
export interface WeightChange {
  readonly added: readonly WeightDifference[];
  readonly removed: readonly WeightDifference[];
  /** Securities in both compositions whose weights differ by more than rounding errors. */
  readonly changed: readonly WeightDifference[];
  /** One-way turnover: half the sum of the absolute changes. */
  readonly turnover: number;
}

export interface WeightDifference {
  readonly identifier: string;
  readonly before: number;
  readonly after: number;
}

const NO_WEIGHTS: ReadonlyMap<string, number> = new Map();

/** Maximum difference of weights that count as equal. */
const DIFFERENCE_MIN = 1e-15;

/**
 * Compares two previews of one market by identifier. Each list is ordered by identifier. A preview before the first
 * date of the store has no securities.
 */
export function compareCompositions(before: ResolvedPreview | null, after: ResolvedPreview | null): WeightChange {
  const from = before === null ? NO_WEIGHTS : listWeights(before);
  const to = after === null ? NO_WEIGHTS : listWeights(after);
  const names = [...new Set([...from.keys(), ...to.keys()])].sort();
  const changes = names.map((identifier): WeightDifference => ({
    identifier,
    before: from.get(identifier) ?? 0,
    after: to.get(identifier) ?? 0,
  }));
  return {
    added: changes.filter(({ identifier }) => !from.has(identifier)),
    removed: changes.filter(({ identifier }) => !to.has(identifier)),
    changed: changes.filter(
      ({ identifier, before: was, after: is }) =>
        from.has(identifier) && to.has(identifier) && Math.abs(is - was) > DIFFERENCE_MIN,
    ),
    turnover: changes.reduce((total, { before: was, after: is }) => total + Math.abs(is - was), 0) / 2,
  };
}

/** Returns applied weights by identifier; empty if nothing is selected. */
function listWeights({ sm, decision }: ResolvedPreview): ReadonlyMap<string, number> {
  if (decision.kind !== 'decided') return new Map();
  return new Map(
    Array.from(decision.columns, (column, i): [string, number] => [sm.identifiers[column]!, decision.weights[i]!]),
  );
}
