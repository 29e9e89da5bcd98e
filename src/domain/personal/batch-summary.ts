import type { Finding } from '../base/findings.js';
import { computeQuantile } from '../base/numbers.js';
import type { AccountOutcome } from './account-result.js';

/** Maximum number of refused accounts whose findings the summary lists. */
const REFUSED_SHOWN = 100;
const PERCENTILES = [0, 5, 25, 50, 75, 95, 100] as const;

/** Summary of a batch, whose size does not depend on its number of accounts. */
export interface BatchSummary {
  readonly accounts: number;
  readonly by_status: Readonly<Record<string, number>>;
  /** Percentiles of the annual tracking error of solved accounts, interpolated linearly (type 7). */
  readonly tracking_error: Readonly<Record<string, number>> | null;
  /** Percentiles of the tracking error of the same accounts before their trades. */
  readonly tracking_error_before: Readonly<Record<string, number>> | null;
  readonly largest_gap: number | null;
  readonly value: number;
  readonly tax: number;
  readonly tax_saved: number;
  readonly costs: number;
  readonly avoided_wash_sales: number;
  /** Number of accounts by conflicting row. */
  readonly conflicts: Readonly<Record<string, number>>;
  readonly refused: readonly {
    readonly account_id: string | null;
    readonly position: number;
    readonly findings: readonly Finding[];
  }[];
}

/** Gap of a result below which a sentence calls it optimal: a hundredth of a basis point of the account value. */
const GAP_STATED = 1e-6;

/** Returns a sentence about the optimality of the accounts. */
export function describeOptimality({
  accounts,
  by_status: byStatus,
  largest_gap: gap,
}: Pick<BatchSummary, 'accounts' | 'by_status' | 'largest_gap'>): string {
  const { infeasible = 0, refused = 0 } = byStatus;
  const solvedCount = accounts - infeasible - refused;
  const noun = `account${accounts === 1 ? '' : 's'}`;
  const count = solvedCount === accounts ? `${accounts} ${noun}` : `${solvedCount} of ${accounts} ${noun}`;
  const nearness =
    gap === null ? 'solved' : gap <= GAP_STATED ? 'optimal' : `within ${(gap * 10_000).toFixed(2)} bp of the optimum`;
  const otherOutcomes = [
    ...(infeasible > 0 ? [`${infeasible} infeasible`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
  ];
  return `${[`${count} ${solvedCount === 1 ? 'is' : 'are'} ${nearness}`, ...otherOutcomes].join(', ')}.`;
}

/** Creates a summary that collects the outcomes of accounts, which must arrive in order. */
export function createBatchSummary(): { add(outcome: AccountOutcome): void; end(): BatchSummary } {
  const byStatus: Record<string, number> = {};
  const conflicts: Record<string, number> = {};
  const errors: number[] = [];
  const errorsBefore: number[] = [];
  const refusals: BatchSummary['refused'][number][] = [];
  const sums = { value: 0, tax: 0, tax_saved: 0, costs: 0, avoided_wash_sales: 0 };
  let [accounts, gap] = [0, -Infinity];
  return {
    add(outcome) {
      byStatus[outcome.status] = (byStatus[outcome.status] ?? 0) + 1;
      const position = accounts++;
      if (outcome.status === 'refused') {
        const { account_id, findings } = outcome;
        if (refusals.length < REFUSED_SHOWN) refusals.push({ account_id, position, findings });
        return;
      }
      for (const row of outcome.conflicts) conflicts[row] = (conflicts[row] ?? 0) + 1;
      if (outcome.status === 'infeasible') return;
      errors.push(outcome.tracking_error);
      errorsBefore.push(outcome.tracking_error_before);
      gap = Math.max(gap, outcome.certificate.gap);
      sums.value += outcome.value;
      sums.tax += outcome.tax;
      sums.tax_saved += outcome.tax_saved;
      sums.costs += outcome.costs;
      sums.avoided_wash_sales += outcome.avoided_wash_sales.length;
    },
    end() {
      return {
        accounts,
        by_status: byStatus,
        tracking_error: computePercentiles(errors),
        tracking_error_before: computePercentiles(errorsBefore),
        largest_gap: errors.length === 0 ? null : gap,
        ...sums,
        conflicts,
        refused: refusals,
      };
    },
  };
}

function computePercentiles(values: readonly number[]): Readonly<Record<string, number>> | null {
  if (values.length === 0) return null;
  const sortedValues = values.toSorted((a, b) => a - b);
  return Object.fromEntries(PERCENTILES.map((p) => [`p${p}`, computeQuantile(sortedValues, p / 100)]));
}
