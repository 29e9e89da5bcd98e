import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import { formatDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { type MarketHandle, shareMarket } from '#domain/market/market-data.js';
import type { RunViewInput } from '#jobs/tasks/views.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createHashCells } from '#jobs/tasks/messages.js';
import { viewRun } from '#workers/views/view-run.js';
import { CancelledError } from '#workers/tasks.js';
import { runOn } from '../domain/backtest/random-run.js';

import { createMarket } from './bits-market.js';

const folder = mkdtempSync(join(tmpdir(), 'give-way-'));
afterAll(() => rmSync(folder, { recursive: true }));

const data = createMarket(8, 300);
const findDocument = (id: string, weighting: string): IndexDocument =>
  IndexDocument.parse({
    id,
    name: id,
    calendar: 'XNYS',
    base_date: formatDay(data.dates[10]!),
    rebalance: { frequency: 'quarterly' },
    pipeline: { weighting: { type: weighting } },
  });
const ownDocument = findDocument('OWN', 'EqualWeight');
const storedColumns = createRunColumns(runOn(openCalendars(), data, ownDocument), { contentHash: 'bits' });
const benchmark = { indexId: 'OTHER', documents: { OTHER: findDocument('OTHER', 'PriceWeight') } };

interface ViewsRequest {
  /** Column file of the run. */
  readonly columns: string;
  readonly market: MarketHandle;
}

const STATISTICAL = { model: 'statistical', factors: 2, estimator: null, findings: [] } as const;

/** Views that idle threads compute in advance, by name. */
const QUESTIONS: Readonly<Record<string, (of: ViewsRequest) => RunViewInput>> = {
  'weights with their risk': (of) => ({
    ...of,
    view: 'weights',
    risk: true,
    isMarketOfRun: true,
    benchmark,
  }),
  'risk by factors': (of) => ({ ...of, view: 'factor-risk', measure: STATISTICAL, benchmark }),
  limits: (of) => ({
    ...of,
    view: 'limits',
    limits: { rule: null },
    by: 'IDENTIFIER',
    findings: [],
  }),
  reconciliation: (of) => ({ ...of, view: 'reconcile', files: [], cells: createHashCells(0), benchmark: null }),
};

/** Returns a run and a market. No thread has computed anything for them. */
function writeColumnsFile(name: string): ViewsRequest {
  const columns = join(folder, name);
  writeFileSync(columns, storedColumns);
  return { columns, market: shareMarket({ ...data, contentHash: name }) };
}

/** Requests a view. Its control stops the computation at the given check. */
async function requestView(
  input: RunViewInput,
  stopAt = Infinity,
): Promise<{ looks: number; text: string | undefined }> {
  let looks = 0;
  const report = (): void => {
    if (++looks > stopAt) throw new CancelledError('The task was cancelled.');
  };
  try {
    return { text: new TextDecoder().decode((await viewRun(input, { report })).bytes), looks };
  } catch (thrown) {
    if (thrown instanceof CancelledError) return { text: undefined, looks };
    throw thrown;
  }
}

test.each(Object.keys(QUESTIONS))(
  '%s stop at each of their checks, and give the same result afterwards',
  async (name) => {
    const createInput = QUESTIONS[name]!;
    const wholeAnswer = await requestView(createInput(writeColumnsFile(`${name} whole`)));
    expect(wholeAnswer.looks).toBeGreaterThan(2);
    for (const stopAt of [0, 1, 2, wholeAnswer.looks - 1]) {
      const input = createInput(writeColumnsFile(`${name} ${stopAt}`));
      expect((await requestView(input, stopAt)).text).toBeUndefined();
      expect((await requestView(input)).text).toBe(wholeAnswer.text);
    }
  },
);
