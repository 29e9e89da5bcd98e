import { listClosures } from '#domain/calendars/closures.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { Composer } from '#domain/books/compositions.js';
import type { DatedMarkets } from '#domain/books/decision-seats.js';
import { createComposer } from '#domain/books/create-composer.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import type { Day } from '#domain/time/days.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { openCachedCalendars } from './opened-calendars.js';
import { openModels } from './opened-models.js';

export interface ComposeQuestion {
  readonly market: MarketData;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles | undefined;
  /** Last day of known data. */
  readonly until: Day;
  readonly engine: Engine;
  /** Earlier contents of the market, which decisions use. Default: the market itself. */
  readonly known?: DatedMarkets;
}

/** Creates a composer for an interactive question. The thread caches the calendars of the composer. */
export function createQuestionComposer(
  { market, documents, models, until, engine, known }: ComposeQuestion,
  control: TaskControl,
): Composer {
  return createComposer({
    market,
    calendars: openCachedCalendars(listClosures(documents)),
    documents,
    models: openModels(models),
    until,
    known,
    createDecider: createIndexDeciders(engine),
    tick: (fraction) => control.report(fraction),
  });
}
