import type { CalendarOption, Calendars } from '../calendars/calendar.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import type { IndexDocument } from '../documents/index-document.js';

/** Context of the checks of a document. */
export interface IndexContext {
  readonly calendars: readonly CalendarOption[];
  /** Returns a calendar. Review dates are checked against its sessions. */
  readonly calendarOf?: Calendars['get'] | undefined;
  /** Returns a stored document. Returns undefined if it does not exist or cannot be read. */
  readonly indexOf: (id: string) => IndexDocument | undefined;
  /** Document that the checked one replaces. */
  readonly replaces?: IndexDocument | undefined;
  /** Current market: missing data give a warning. */
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
