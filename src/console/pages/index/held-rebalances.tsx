import type { Finding, RebalanceRow } from '#clients/typescript/divisor.js';
import { addQuery } from '../../state/location.js';
import { countValues } from '../../words/numbers.js';

/** Returns the warnings about rebalances that were not executed. Their first date is that of the rebalance. */
export const listHeldRebalances = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ code }) => code === 'REBALANCE_HELD');

/** Returns the date of the last rebalance of the run, executed or not. */
export const findLastScheduled = (
  rebalances: readonly RebalanceRow[],
  findings: readonly Finding[],
): string | undefined =>
  [...rebalances.map(({ date }) => date), ...listHeldRebalances(findings).flatMap(({ last_date: date }) => date ?? [])]
    .toSorted()
    .at(-1);

/** Renders how many rebalances were not executed, and their dates. Renders nothing if all were executed. */
export function HeldRebalances({ findings }: { readonly findings: readonly Finding[] }) {
  const held = listHeldRebalances(findings);
  if (held.length === 0) return null;
  const dates = held.flatMap(({ first_date: date }) => date ?? []);
  return (
    <p class="quiet">
      {countValues(held.length, 'rebalance')} {held.length === 1 ? 'was' : 'were'} not executed, and the previous
      weights stayed: {dates.slice(0, DATES_MAX).join(', ')}
      {dates.length > DATES_MAX && ` and ${countValues(dates.length - DATES_MAX, 'more date')}`}.{' '}
      <a href={addQuery({ tab: 'rebalances' })}>Reasons</a>
    </p>
  );
}

/** Maximum number of dates in the sentence. */
const DATES_MAX = 6;
