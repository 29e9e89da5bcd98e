import type { Account } from './account-request.js';
import { DEVIATIONS_SHOWN } from './account-result.js';
import type { SolvedResult } from './solve-accounts.js';

/** Maximum relative difference of computed and stated numbers that is a rounding error. */
const TOLERANCE = 1e-9;
/** Tolerance of figures that are sensitive to rounding errors: roots, and prices from multipliers. */
const ROOT_TOLERANCE = 1e-7;
/** Tolerance of shares of the variance, and tracking error below which they are rounding errors. */
const SHARE_TOLERANCE = 1e-6;
/** Members that only the solver determines. */
const NOT_COMPUTED = new Set(['steps', 'nodes', 'conflicts', 'conflict_amounts', 'conflict_exclusions']);
/** Members whose numbers are fractions of the account value. */
const FRACTIONS = new Set(['certificate', 'weights']);

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Compares the computed members of a result with those that are stated.
 * @param value  value of the account
 * @returns a sentence for each difference, which names the member
 */
export function compareResults(computed: SolvedResult, stated: SolvedResult, value: number): string[] {
  const differences: string[] = [];
  const { deviations: _, ...members } = JSON.parse(JSON.stringify(computed)) as { readonly [key: string]: Json };
  const others = stated as unknown as { readonly [key: string]: Json };
  for (const [name, own] of Object.entries(members))
    if (!NOT_COMPUTED.has(name)) compare(name, own, others[name], createTolerance(name, value));
  compareDeviations(computed.deviations, stated.deviations);
  for (const name of ['steps', 'nodes'] as const)
    if (!(Number.isInteger(stated[name]) && stated[name] >= 0)) report(name, 'a number of at least 0', stated[name]);
  return differences;

  function report(path: string, own: unknown, other: unknown): void {
    differences.push(`${path}: ${format(other)} is stated, ${format(own)} is computed`);
  }

  function compare(path: string, own: Json | undefined, other: Json | undefined, isClose: CloseTest): void {
    if (typeof own === 'number') {
      if (typeof other !== 'number' || !isClose(path, own, other)) report(path, own, other);
    } else if (Array.isArray(own)) {
      if (!Array.isArray(other) || other.length !== own.length)
        return report(path, `${own.length} entries`, Array.isArray(other) ? `${other.length} entries` : other);
      own.forEach((entry, position) =>
        compare(`${path}[${position}]`, entry as Json, other[position] as Json, isClose),
      );
    } else if (typeof own === 'object' && own !== null) {
      if (typeof other !== 'object' || other === null || Array.isArray(other)) return report(path, 'an object', other);
      const [ownMembers, otherMembers] = [own, other] as readonly { readonly [key: string]: Json }[];
      for (const key of new Set([...Object.keys(ownMembers!), ...Object.keys(otherMembers!)])) {
        // Weights and prices that are rounding errors may be absent.
        const isNumber =
          typeof (ownMembers![key] ?? otherMembers![key]) === 'number' && /^(weights|shadow)/u.test(path);
        const [a, b] = [ownMembers![key], otherMembers![key]].map((x) => x ?? (isNumber ? 0 : x));
        compare(`${path}.${key}`, a, b, isClose);
      }
    } else if (own !== other) report(path, own, other);
  }

  function compareDeviations(own: SolvedResult['deviations'], other: SolvedResult['deviations'] | undefined): void {
    if (other === undefined) return report('deviations', 'a list', other);
    compare('deviations.tilts', own.tilts, other.tilts, (_, a, b) => a === b);
    // Without a tracking error, shares of its variance are rounding errors.
    const isFlat = computed.tracking_error <= SHARE_TOLERANCE;
    const isClose: CloseTest = (_path, a, b) => Math.abs(a - b) <= SHARE_TOLERANCE;
    const isShareClose: CloseTest = (path, a, b) => isFlat || isClose(path, a, b);
    for (const reason of new Set([...Object.keys(own.variance_by_reason), ...Object.keys(other.variance_by_reason)]))
      compare(
        `deviations.variance_by_reason.${reason}`,
        own.variance_by_reason[reason] ?? 0,
        other.variance_by_reason[reason] ?? 0,
        isShareClose,
      );
    const ownByName = new Map(own.largest.map((entry) => [entry.identifier, entry]));
    if (own.largest.length !== other.largest.length)
      report('deviations.largest', `${own.largest.length} entries`, `${other.largest.length} entries`);
    for (const [position, entry] of other.largest.entries()) {
      const path = `deviations.largest[${position}]`;
      const same = ownByName.get(entry.identifier);
      if (same === undefined) {
        const least = Math.min(...own.largest.map((deviation) => Math.abs(deviation.variance_share)));
        const isTie = Math.abs(least - Math.abs(entry.variance_share)) <= SHARE_TOLERANCE;
        if (own.largest.length < DEVIATIONS_SHOWN || !(isTie || isFlat)) report(path, 'a larger one', entry.identifier);
        continue;
      }
      compare(`${path}.active_weight`, same.active_weight, entry.active_weight, isClose);
      compare(`${path}.variance_share`, same.variance_share, entry.variance_share, isShareClose);
      if (!isFlat && Math.abs(same.variance_share) > SHARE_TOLERANCE)
        compare(`${path}.reason`, same.reason, entry.reason, isClose);
    }
  }
}

type CloseTest = (path: string, own: number, other: number) => boolean;

const format = (value: unknown): string =>
  value === undefined ? 'nothing' : typeof value === 'object' ? JSON.stringify(value) : String(value);

/** Returns the test of equality of the numbers of a member. */
function createTolerance(name: string, value: number): CloseTest {
  const isRoot = name.startsWith('tracking_error');
  const isPrice = name === 'shadow_prices' || name === 'one_more_bp_saves';
  return (path, own, other) => {
    const isUnit = FRACTIONS.has(name) || /\.(shares|price|cost|lot|short_gain|long_gain)$/u.test(path);
    const scale =
      isUnit || isRoot ? Math.max(1, FRACTIONS.has(name) ? 1 : Math.abs(own)) : Math.max(value, Math.abs(own));
    return Math.abs(own - other) <= (isRoot || isPrice ? ROOT_TOLERANCE : TOLERANCE) * scale;
  };
}

/** Reports conflicts that contradict each other or the account. Whether they are complete depends on the solver. */
export function reportConflictFaults({ exclusions }: Account, stated: SolvedResult): string[] {
  const { status, conflicts, conflict_amounts: amounts, conflict_exclusions: kept } = stated;
  if (status !== 'infeasible') {
    return Object.entries({ conflicts, conflict_amounts: amounts, conflict_exclusions: kept }).flatMap(([name, own]) =>
      typeof own === 'object' && own !== null && Object.keys(own).length === 0
        ? []
        : [`${name}: a result with trades has no conflicts, and ${format(own)} is stated`],
    );
  }
  const faults: string[] = [];
  const names = Object.keys(amounts ?? {});
  if (!Array.isArray(conflicts) || conflicts.length === 0)
    faults.push('conflicts: an infeasible account has no conflict');
  else if (names.length !== conflicts.length || !names.every((name) => conflicts.includes(name)))
    faults.push('conflict_amounts: the rules are not those of conflicts');
  for (const [rule, amount] of Object.entries(amounts ?? {}))
    if (amount !== null && !(amount > 0)) faults.push(`conflict_amounts.${rule}: ${amount} is not positive`);
  const weights = Object.entries(kept ?? {});
  for (const [name, weight] of weights)
    if (!exclusions.includes(name) || !(weight > 0)) faults.push(`conflict_exclusions.${name}: ${weight} is not kept`);
  const sum = weights.reduce((total, [, weight]) => total + weight, 0);
  if (kept === undefined || Math.abs(sum - (amounts?.['exclusions'] ?? 0)) > SHARE_TOLERANCE)
    faults.push(`conflict_exclusions: ${sum} is stated, conflict_amounts states ${amounts?.['exclusions'] ?? 0}`);
  return faults;
}
