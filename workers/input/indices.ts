import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Refusal } from '#domain/base/refusals.js';
import type { Day } from '#domain/base/time.js';
import { createComposer, type DatedMarkets } from '#domain/books/composer.js';
import type { Composer } from '#domain/books/compositions.js';
import { listClosures } from '#domain/calendars/calendar.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import type { HashedFile, TaskControl } from '#jobs/tasks/messages.js';
import type { Engine } from '#kernels/engines/engine.js';
import { openCachedCalendars } from './markets.js';
import { openModels } from './risk-models.js';

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

/**
 * Parses a stored text.
 * @throws Refusal DOCUMENT_UNREADABLE if the text is missing or its content has changed
 */
export function readJson(file: HashedFile): unknown {
  return JSON.parse(new TextDecoder().decode(readStored(file)));
}

/** Reads the stored plan of a run. @throws Refusal DOCUMENT_UNREADABLE */
export function readPlan(file: HashedFile): BacktestPlan {
  return readJson(file) as BacktestPlan; // its hash matches the hash that the job wrote
}

/** Reads the bytes of a stored text. @throws Refusal DOCUMENT_UNREADABLE */
export function readStored({ path, sha256 }: HashedFile): Uint8Array<ArrayBuffer> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw refuseText(cause);
  }
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw refuseText();
  return bytes;
}

function refuseText(cause?: unknown): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    'The stored run cannot be read: its file is missing or its content has changed.',
    null,
    cause === undefined ? {} : { cause },
  );
}
