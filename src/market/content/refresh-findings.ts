import { formatDay, type Day } from '#domain/time/days.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { LateBars } from './changed-histories.js';
import type { Correction, Rejection } from './judged-securities.js';
import type { Restatement, RowCounts } from './restatements.js';

/** Accepted restatement of a history for a split. */
export interface AcceptedSplit {
  readonly identifier: string;
  /** Number of shares after the split per share before it. */
  readonly ratio: number;
  /** First date whose prices are not divided. It is null if there is no such date yet. */
  readonly date: string | null;
}

/** Maximum number of securities with an individual finding. A single finding counts the others. */
const FINDINGS_MAX = 20;

/** Maximum number of securities that the finding about late bars names. */
const LATE_NAMES_MAX = 3;

const countText = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** Returns one finding for each security whose history was converted for a split and accepted. */
export function splitFindings(splits: readonly AcceptedSplit[]): Finding[] {
  return limitItems(splits, 'SPLIT_RESTATED', ({ identifier, ratio, date }) => {
    const [one, other] = ratio >= 1 ? [ratio, 1] : [1, 1 / ratio];
    const dateText = date === null ? '' : ` before ${date}`;
    return {
      severity: 'info',
      code: 'SPLIT_RESTATED',
      path: `market.${identifier}`,
      message: `The source restated ${identifier} for a ${roundNumber(one)}:${roundNumber(other)} split. Prices${dateText} are divided by ${roundNumber(ratio)}. Its bars and corporate actions are now those of the source.`,
      value: ratio,
    };
  });
}

const roundNumber = (number: number): number => Number(number.toPrecision(6));

/** Returns one finding for each rejected security. */
export function createRejectionFindings(rejections: readonly Rejection[]): Finding[] {
  return limitItems(rejections, 'HISTORY_CHANGED', ({ identifier, bars, actions, heldBack, first }) => {
    const laterText =
      heldBack === 0 ? '' : `, and ${countText(heldBack, 'later bar')} ${heldBack === 1 ? 'was' : 'were'} not added`;
    return {
      severity: 'warning',
      code: 'HISTORY_CHANGED',
      path: `market.${identifier}`,
      message: `The history of ${identifier} differs in the source: ${describeDifferences(bars, actions)}${formatExamples(first)}. Its bars and corporate actions in the store are unchanged${laterText}. To use the history of the source, refresh with full: true (--full).`,
    };
  });
}

/** Returns one finding for each security with accepted corrections of bars that were never published. */
export function createCorrectionFindings(corrections: readonly Correction[]): Finding[] {
  return limitItems(corrections, 'BAR_CORRECTED', ({ identifier, bars, actions, first }) => ({
    severity: 'warning',
    code: 'BAR_CORRECTED',
    path: `market.${identifier}`,
    message: `The source corrected ${identifier} on dates that were never published: ${describeDifferences(bars, actions)}${formatExamples(first)}. The store now has the values of the source. Results of those dates change.`,
  }));
}

function describeDifferences(bars: RowCounts, actions: RowCounts): string {
  const describeKind = (counts: RowCounts, one: string) =>
    (['changed', 'removed', 'added'] as const).flatMap((kind) =>
      counts[kind] === 0 ? [] : [countText(counts[kind], `${kind} ${one}`)],
    );
  return [...describeKind(bars, 'bar'), ...describeKind(actions, 'corporate action')].join(', ');
}

function formatExamples(first: readonly Restatement[]): string {
  const texts = first.map(
    ({ column, date, before, after }) =>
      `${column}${date === null ? '' : ` on ${date}`} ${before ?? 'none'} in the store, ${after ?? 'none'} in the source`,
  );
  return texts.length === 0 ? '' : ` (${texts.join('; ')})`;
}

/** Reports columns that the store lacks and that have values on stored days. */
export function createColumnFindings(columns: readonly string[], lastDay: Day): Finding[] {
  if (columns.length === 0) return [];
  const message = `The source has values up to ${formatDay(lastDay)} in ${countText(columns.length, 'column')} that the store does not have (${columns.join(', ')}). They were not added. To add them, refresh with full: true (--full).`;
  return [{ severity: 'warning', code: 'HISTORY_CHANGED', path: 'market', message }];
}

/** Reports bars that arrived later than those of other securities. */
export function reportLateBars(lateBars: ReadonlyMap<string, LateBars>): Finding[] {
  if (lateBars.size === 0) return [];
  const late = [...lateBars.values()].reduce((sum, { count }) => sum + count, 0);
  const names = [...lateBars.keys()].slice(0, LATE_NAMES_MAX);
  const nameText = `${names.join(', ')}${lateBars.size > names.length ? ' and others' : ''}`;
  const message = `${countText(late, 'late bar')} of ${nameText} ${late === 1 ? 'was' : 'were'} added on dates that the store already had. Results of those dates change.`;
  return [{ severity: 'info', code: 'LATE_BARS', path: 'market', message, count: late }];
}

/** Returns individual findings of the first items. A further finding counts the remaining items. */
function limitItems<T extends { readonly identifier: string }>(
  items: readonly T[],
  code: 'SPLIT_RESTATED' | 'HISTORY_CHANGED' | 'BAR_CORRECTED',
  findingOf: (item: T) => Finding,
): Finding[] {
  const findings = items.slice(0, FINDINGS_MAX).map(findingOf);
  const otherCount = items.length - findings.length;
  if (otherCount <= 0) return findings;
  const names = items.slice(FINDINGS_MAX, 2 * FINDINGS_MAX).map(({ identifier }) => identifier);
  const message = `The same applies to ${countText(otherCount, 'more security', 'more securities')}: ${names.join(', ')}${otherCount > names.length ? ' and others' : ''}.`;
  return [...findings, { severity: findings[0]!.severity, code, path: 'market', message, count: otherCount }];
}
