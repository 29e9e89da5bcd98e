import type { Run } from '#domain/backtest/run.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { createRunColumns, openColumns } from '#domain/backtest/run-file/columns.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { createRunFigures, type RunFigures } from '#views/report/figures.js';
import { buildMarket, createWeekdayCalendars } from '../../domain/backtest/market-builder.js';
import { createPlainDecider } from '../../domain/backtest/test-deciders.js';
import { runOverviewJson, runResultJson } from '../../domain/backtest/run-texts.js';

export interface SampleOptions {
  readonly names: number;
  readonly start?: string;
  readonly end: string;
  readonly cap?: number | null;
  readonly benchmark?: boolean;
  readonly costs?: number;
  readonly name?: string;
  /** Company names of the securities, used in turn. */
  readonly companies?: readonly (string | null)[];
  readonly sectors?: readonly string[];
  /** True if all prices are constant. */
  readonly isFlat?: boolean;
}

export interface SampleRun {
  readonly run: Run;
  readonly columns: Uint8Array;
  readonly overview: Uint8Array;
  readonly figures: RunFigures;
  /** BacktestRunResult in the form that the service returns. */
  readonly result: {
    readonly metrics: Record<string, number | null>;
    readonly annual_returns: Record<string, number>;
    readonly level: { readonly index: string[]; readonly data: number[] };
  };
}

/** Runs a backtest on a random market. @returns the run and its stored form */
export function sampleRun(options: SampleOptions): SampleRun {
  const { start = '2021-01-01', cap = null, costs = 0, name = 'Sample index' } = options;
  const calendars = createWeekdayCalendars({ XTST: { from: '1999-01-01', to: '2031-12-31' } });
  const dates: string[] = [];
  for (let day = parseValidDay(start); day <= parseValidDay(options.end); day++)
    if (calendars.get('XTST')!.isSession(day)) dates.push(formatDay(day));
  const document = sampleIndex({ start, cap, name });
  const run = runBacktest({
    market: sampleMarket(options, dates),
    calendars,
    createDecider: createPlainDecider,
    report: () => {},
    plan: {
      runId: document.id,
      name,
      indexId: document.id,
      documents: { [document.id]: document },
      request: {
        benchmark: options.benchmark ? { id: 'ZBENCH', kind: 'identifier', price_column: 'CLOSE' } : null,
        start: null,
        end: null,
        initial_capital: 1e6,
        transaction_cost_bps: costs,
      },
    },
  });
  const columns = createRunColumns(run, { contentHash: 'hash' });
  const overview = runOverviewJson(run);
  return {
    run,
    columns,
    overview,
    figures: createRunFigures({
      columns: openColumns((from, to) => columns.subarray(from, to)),
      overview,
      risk: { missing: 'No risk was estimated.' },
      terms: { transactionCostBps: costs, adjustment: 'none', overlay: null },
    }),
    result: JSON.parse(new TextDecoder().decode(runResultJson(run, STAMP))) as SampleRun['result'],
  };
}

const STAMP = {
  runAt: '2026-01-01T00:00:00.000000+00:00',
  runHash: 'hash',
  storeContentHash: 'hash',
  engineVersion: '0',
};

/** Returns a market whose prices are random walks. The first security is the largest. */
function sampleMarket({ names, benchmark, companies, sectors, isFlat }: SampleOptions, dates: readonly string[]) {
  const random = createCounterRandom({ seed: 11, stream: names });
  const ids = Array.from({ length: names }, (_, i) => `N${String(i).padStart(4, '0')}`);
  const listPath = (): number[] => {
    let price = 20 + 80 * random.uniform();
    return dates.map(() => (price *= isFlat ? 1 : 1 + 0.03 * (random.uniform() - 0.495)));
  };
  const createReference = (i: number) => ({
    NAME: companies?.[i % companies.length] ?? null,
    SECTOR: sectors?.[i % sectors.length] ?? null,
  });
  const hasReference = companies !== undefined || sectors !== undefined;
  return buildMarket({
    dates,
    close: Object.fromEntries([...ids, ...(benchmark ? ['ZBENCH'] : [])].map((id) => [id, listPath()])),
    fields: { SHARES_OUTSTANDING: Object.fromEntries(ids.map((id, i) => [id, dates.map(() => 1e6 / (i + 1))])) },
    reference: hasReference ? Object.fromEntries(ids.map((id, i) => [id, createReference(i)])) : {},
    universes: ids.map((identifier) => ({ universe: 'ALL', identifier, start: null, end: null })),
  });
}

function sampleIndex({
  start,
  cap,
  name,
}: {
  readonly start: string;
  readonly cap: number | null;
  readonly name: string;
}) {
  return IndexDocument.parse({
    id: 'SAMPLE',
    name,
    calendar: 'XTST',
    base_date: start,
    base_value: 100,
    currency: 'USD',
    universe: { kind: 'named', id: 'ALL' },
    rebalance: { frequency: 'monthly' },
    pipeline: {
      selection: [],
      treatment: { dividends: 'price' },
      weighting: { type: 'MarketCapWeight', params: { free_float: false }, cap },
    },
  });
}
