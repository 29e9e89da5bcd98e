import type { CalendarOption, Calendars } from '../calendars/calendar.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import type { IndexDocument } from '../documents/index-document.js';

/** Context of a document's checks. */
export interface IndexContext {
  readonly calendars: readonly CalendarOption[];
  /** Sessions of a calendar: dates of reviews are checked on them. */
  readonly calendarOf?: Calendars['get'] | undefined;
  /** A stored document, undefined when there is none that can be read. */
  readonly indexOf: (id: string) => IndexDocument | undefined;
  /** The document that the checked one replaces. */
  readonly replaces?: IndexDocument | undefined;
  /** The market being served: what it lacks is a warning. */
  readonly market?: MarketData | undefined;
}

/** A JSON object of unknown content. */
export type Raw = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function error(code: Finding['code'], path: string, message: string, rest: Partial<Finding> = {}): Finding {
  return { severity: 'error', code, path, message, ...rest };
}
