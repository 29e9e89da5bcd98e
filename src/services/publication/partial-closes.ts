import { Refusal } from '#domain/refusals/refusal.js';
import { isPartial } from '#market/content/partial-dates.js';
import type { Closes } from './disagreements.js';

/** Close for which some securities of the index have no bar. Its level uses earlier prices of these securities. */
export interface PartialClose {
  readonly date: string;
  /** Number of securities that are held, and how many of them have no bar. */
  readonly held: number;
  readonly without_bar: number;
}

/** Maximum number of closes in the details of a refusal, and in its message. */
const LISTED_MAX = 100;
const NAMED_MAX = 5;

/**
 * Returns the partial closes of a run by date. On the last session, one security without a bar is enough, because its
 * bar may still arrive. On earlier dates the rule for partial dates of a store applies, because a single security may
 * be halted.
 */
export function findPartialCloses({
  dates,
  held,
  without_bar: missingPositions,
}: Pick<Closes, 'dates' | 'held' | 'without_bar'>): ReadonlyMap<string, PartialClose> {
  const results = new Map<string, PartialClose>();
  for (const [i, date] of dates.entries()) {
    const isLast = i === dates.length - 1;
    if (isPartial(missingPositions[i]!, held[i]!) || (isLast && missingPositions[i]! > 0))
      results.set(date, { date, held: held[i]!, without_bar: missingPositions[i]! });
  }
  return results;
}

/** Refuses to publish partial closes unless the request permits them. @throws Refusal PARTIAL_CLOSES */
export function assertWhole(
  statements: readonly { readonly date: string }[],
  partialCloses: ReadonlyMap<string, PartialClose>,
  { allow_partial: isAllowed }: { readonly allow_partial: boolean },
): void {
  const refusals = statements.flatMap(({ date }) => partialCloses.get(date) ?? []);
  if (isAllowed || refusals.length === 0) return;
  const listedCloses = refusals.slice(0, NAMED_MAX).map((close) => `${close.date} (${formatCoverage(close)})`);
  const omissionNote =
    refusals.length > listedCloses.length ? ` and ${refusals.length - listedCloses.length} more` : '';
  throw new Refusal(
    'PARTIAL_CLOSES',
    `Constituents have no price on a date to publish: ${listedCloses.join(', ')}${omissionNote}. \`allow_partial\` (--allow-partial) publishes them anyway, and the log records it.`,
    { closes: refusals.slice(0, LISTED_MAX), total: refusals.length },
  );
}

/** Returns the reason of an entry with a partial close. @param reason reason in the request */
export function formatPartialReason(close: PartialClose, reason: string | undefined): string {
  const message = `Published with ${formatCoverage(close)} of that date.`;
  return reason === undefined || reason.trim() === '' ? message : `${reason} (${message})`;
}

const formatCoverage = ({ held, without_bar: missingCount }: PartialClose): string =>
  `${missingCount} of ${held} names without a bar`;
