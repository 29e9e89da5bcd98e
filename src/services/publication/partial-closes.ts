import { Refusal } from '#domain/refusals/refusal.js';
import { isPartial } from '#market/content/partial-dates.js';
import type { Closes } from './disagreements.js';

/** A close on which names that the index holds have no bar: its level carries their earlier prices. */
export interface PartialClose {
  readonly date: string;
  /** Names held, and those of them without a bar. */
  readonly held: number;
  readonly without_bar: number;
}

/** Closes that a refusal lists, and that its sentence names. */
const LISTED_MAX = 100;
const NAMED_MAX = 5;

/**
 * Partial closes of a run, by date. On its last session one name without a bar is enough, for the bar may still come;
 * before it, what makes a date of a store partial: a single name is a halt.
 */
export function partialCloses({
  dates,
  held,
  without_bar: absent,
}: Pick<Closes, 'dates' | 'held' | 'without_bar'>): ReadonlyMap<string, PartialClose> {
  const results = new Map<string, PartialClose>();
  for (const [i, date] of dates.entries()) {
    const isLast = i === dates.length - 1;
    if (isPartial(absent[i]!, held[i]!) || (isLast && absent[i]! > 0))
      results.set(date, { date, held: held[i]!, without_bar: absent[i]! });
  }
  return results;
}

/** @throws Refusal PARTIAL_CLOSES for dates to be published that are partial, unless these are allowed */
export function assertWhole(
  statements: readonly { readonly date: string }[],
  partial: ReadonlyMap<string, PartialClose>,
  { allow_partial: isAllowed }: { readonly allow_partial: boolean },
): void {
  const refusals = statements.flatMap(({ date }) => partial.get(date) ?? []);
  if (isAllowed || refusals.length === 0) return;
  const named = refusals.slice(0, NAMED_MAX).map((close) => `${close.date} (${countOf(close)})`);
  const others = refusals.length > named.length ? ` and ${refusals.length - named.length} more` : '';
  throw new Refusal(
    'PARTIAL_CLOSES',
    `Constituents have no price on a date to publish: ${named.join(', ')}${others}. \`allow_partial\` (--allow-partial) publishes them anyway, and the log records it.`,
    { closes: refusals.slice(0, LISTED_MAX), total: refusals.length },
  );
}

/** The reason of an entry whose close is partial. @param given that of the request */
export function partialReason(close: PartialClose, given: string | undefined): string {
  const message = `Published with ${countOf(close)} of that date.`;
  return given === undefined || given.trim() === '' ? message : `${given} (${message})`;
}

const countOf = ({ held, without_bar: absent }: PartialClose): string => `${absent} of ${held} names without a bar`;
