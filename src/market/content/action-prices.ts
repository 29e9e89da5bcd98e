import { formatDay, type Day } from '#domain/time/days.js';
import type { FindingCode } from '#domain/refusals/findings.js';
import type { Adjustment, CorporateAction } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import type { MarketContent } from './market-content.js';

/** An implausible statement of an action. */
export interface ActionWarning {
  readonly action: CorporateAction;
  readonly code: Extract<FindingCode, 'ACTION_CONFLICT' | 'ACTION_DATES' | 'ACTION_SIZE' | 'ACTION_WITHOUT_PRICE'>;
  readonly message: string;
  /** Figures or dates that support the warning. */
  readonly evidence: Readonly<Record<string, number | string>>;
}

/** Prices and actions by security. */
export interface Prices {
  readonly content: MarketContent;
  readonly adjustment: Adjustment;
  readonly position: ReadonlyMap<string, number>;
  /** Splits by security, if earlier prices do not include them. */
  readonly splits: ReadonlyMap<string, readonly CorporateAction[]>;
  /** Actions that end a security, by security. */
  readonly endings: ReadonlyMap<string, readonly CorporateAction[]>;
}

export interface Close {
  readonly day: Day;
  readonly price: number;
}

export const describeAction = ({ type, identifier, exDay }: CorporateAction) =>
  `The ${type} of ${identifier} on ${formatDay(exDay)}`;

/** Returns the day of the first bar of a security on or after a day. Returns undefined if there is none. */
export function findBarFrom(identifier: string, day: Day, { content, position }: Prices): Day | undefined {
  const { identifiers, dates, fields } = content;
  const n = position.get(identifier)!; // callers have checked that the store has the security
  const close = fields.get('CLOSE')!;
  let t = findFirstAtLeast(dates, day);
  while (t < dates.length && Number.isNaN(close[t * identifiers.length + n]!)) t++;
  return dates[t];
}

/**
 * Returns the last close of a security before a day, on the share basis of that day. Returns undefined if there is
 * none.
 */
export function findCloseBefore(
  identifier: string,
  day: Day,
  { content, position, splits }: Prices,
): Close | undefined {
  const { identifiers, dates, fields } = content;
  const n = position.get(identifier);
  if (n === undefined) return undefined;
  const close = fields.get('CLOSE')!;
  let t = findFirstAtLeast(dates, day) - 1;
  while (t >= 0 && Number.isNaN(close[t * identifiers.length + n]!)) t--;
  if (t < 0) return undefined;
  const bar = dates[t]!;
  const laterSplits = splits.get(identifier)?.filter(({ exDay }) => exDay > bar && exDay <= day) ?? [];
  return {
    day: bar,
    price: laterSplits.reduce((price, { value }) => price / value, close[t * identifiers.length + n]!),
  };
}
