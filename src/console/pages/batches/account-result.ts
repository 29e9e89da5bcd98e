import type { BatchAccount } from '#clients/typescript/divisor.js';
import { bps } from '../../words/numbers.js';

/** Members of a result that the contract leaves open. */
export interface Account extends BatchAccount {
  readonly short_gain?: number;
  readonly long_gain?: number;
  readonly tracking_error_before?: number;
  readonly one_more_bp_saves?: number;
  readonly weights?: Readonly<Record<string, number>>;
  readonly shadow_prices?: { readonly tracking_error_bp: number; readonly rows: Readonly<Record<string, number>> };
  readonly deviations?: {
    readonly variance_by_reason: Readonly<Record<string, number>>;
    readonly largest: readonly Deviation[];
  };
}

export interface Deviation {
  readonly identifier: string;
  readonly active_weight: number;
  readonly variance_share: number;
  readonly reason: string;
}

/** Returns true if the trades of an account satisfy its limits. */
export const hasSolution = ({ status }: Account): boolean => status !== 'infeasible' && status !== 'refused';

/** Gap up to which an account is called optimal: a hundredth of a basis point of its value. */
export const GAP_MIN = 1e-6;

/** Returns the status of an account in words: an account with a gap is as near to its optimum as proved. */
export function statusText({ status, certificate }: Account): string {
  if (status !== 'feasible' || certificate === undefined) return status;
  return certificate.gap <= GAP_MIN ? 'optimal' : `within ${bps(certificate.gap)}`;
}
