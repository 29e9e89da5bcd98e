import type { CalendarOption, Calendars } from '../calendars/calendar.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import type { IndexDocument } from '../documents/index-document.js';

/** Context of a document's checks. */
export interface IndexContext {
  readonly calendars: readonly CalendarOption[];
  /** Returns a calendar, on whose sessions review dates are checked. */
  readonly calendarOf?: Calendars['get'] | undefined;
  /** Returns a stored document; undefined if none can be read. */
  readonly indexOf: (id: string) => IndexDocument | undefined;
  /** Document that the checked one replaces. */
  readonly replaces?: IndexDocument | undefined;
  /** Current market: missing data in it gives a warning. */
  readonly market?: MarketData | undefined;
}

/** JSON object of unknown content. */
export type UncheckedBody = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is UncheckedBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function createError(
  code: Finding['code'],
  path: string,
  message: string,
  rest: Partial<Finding> = {},
): Finding {
  return { severity: 'error', code, path, message, ...rest };
}
