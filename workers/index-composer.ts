import { createComposer, type Composer } from '#domain/backtest/compositions.js';
import { indexDecider } from '#domain/backtest/index-decider.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { Day } from '#domain/days.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { TaskControl } from '#jobs/tasks.js';
import { openCalendars } from '#market/calendar-files.js';

let calendars: Calendars | undefined;

export interface ComposeQuestion {
  readonly market: MarketData;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  /** Last day of which anything is known. */
  readonly until: Day;
}

/** A composer for an interactive question; the thread keeps its calendars. */
export function composerFor({ market, documents, until }: ComposeQuestion, control: TaskControl): Composer {
  calendars ??= openCalendars();
  return createComposer({ market, calendars, documents, until, createDecider: indexDecider, tick: (fraction) => control.report(fraction) });
}
