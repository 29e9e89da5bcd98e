import { assertScheduled } from '#domain/backtest/simulate/known-seats.js';
import { dayFrom, formatDay } from '#domain/days.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusal.js';
import type { KnownReferences } from '#jobs/tasks/references.js';

export interface DecidedSpan {
  readonly market: MarketData;
  /** Last date of the decisions; null for that of the market. */
  readonly end: string | null;
  readonly documents: Readonly<Record<string, IndexDocument>>;
}

/**
 * Refuses decisions on what was known where none of them can have been made on any: the first version is later than all.
 * Those before it are refused when the schedule is known.
 * @throws Refusal NO_DATA_KNOWN, LOOK_AHEAD
 */
export function assertAnyKnown({ knownOn, earlier }: KnownReferences, { market, end, documents }: DecidedSpan): void {
  assertScheduled(documents);
  const first = earlier.at(-1)?.knownOn ?? knownOn;
  const last = Math.min(market.dates.at(-1)!, end === null ? Infinity : dayFrom(end));
  if (first <= last) return;
  throw new Refusal(
    'NO_DATA_KNOWN',
    `No decision up to ${formatDay(last)} can be made on what was known: the first version of the data store ${market.datasetId} that can be had was known on ${formatDay(first)}.`,
    { store_id: market.datasetId, decision_date: formatDay(last), first_known_on: formatDay(first) },
  );
}
