import { createHash } from 'node:crypto';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { openRecordParts } from '#domain/backtest/run-file/record.js';
import { createRunFiles, type RunFiles } from '#domain/backtest/run-file/write.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { assertMeasured } from '#domain/backtest/run-summary.js';
import { allocateRetainedMemory } from '#base/memory/retained-memory.js';
import type { DatedMarkets } from '#domain/books/decision-seats.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { MarketData } from '#domain/market/market-data.js';
import { formatDay } from '#domain/time/days.js';
import type { StoredModels } from '#domain/risk/stored-model.js';
import type { Engine } from '#kernels/engines/engine.js';
import { createClosesView } from '#views/closes-view.js';
import { createIndexLevels } from '#views/levels-view.js';
import { readPositiveWeights, createWeightsView } from '#views/weights-view.js';
import type * as Api from './api.js';

export interface PlanInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly plan: BacktestPlan;
  readonly engine: Engine;
  readonly models: StoredModels;
  readonly known: DatedMarkets | undefined;
}

/** Returns the files of a plan's run, as the service stores them. @throws Refusal for the same reasons as a backtest */
function computePlanFiles({ engine, ...input }: PlanInput): RunFiles {
  const run = runBacktest({
    ...input,
    createDecider: createIndexDeciders(engine),
    engine,
    memory: allocateRetainedMemory,
    pricesApart: true,
    report: () => {},
  });
  assertMeasured({ ...run, relative: run.benchmark && run.benchmark.relative });
  return createRunFiles(run, { contentHash: input.market.contentHash, inPlace: true });
}

/** Returns a digest of all bytes of a run. If the file contains the prices, the digest equals that of the file. */
function computeDigest({ columns, prices }: RunFiles): string {
  const hash = createHash('sha256').update(columns);
  for (const part of prices?.parts() ?? []) hash.update(part);
  return hash.digest('hex');
}

/** Runs a plan. */
export function runPlan(input: PlanInput): Api.Backtest {
  const files = computePlanFiles(input);
  const columns = openColumns((start, end) => files.columns.subarray(start, end));
  const { header } = columns;
  const recordParts = openRecordParts(columns);
  return {
    index_id: header.run_id,
    dates: [...columns.i32('days')].map(formatDay),
    level: columns.f64('level'),
    metrics: recordParts.metrics(),
    total_costs: columns.f64('costs').reduce((sum, cost) => sum + cost, 0),
    findings: recordParts.findings() as Api.Backtest['findings'], // the contract declares the same findings
    rebalances: header.rebalances.map(({ date }) => date),
    hash: computeDigest(files),
    levels(variant) {
      const { days, levels, divisor, ...found } = createIndexLevels(columns, {
        variant: variant ?? null,
        start: null,
        end: null,
      });
      return { variant: found.variant, dates: [...days].map(formatDay), levels, divisor };
    },
    weights(asOf) {
      const {
        index_id: _,
        requested_as_of: _asked,
        risk: _risk,
        active_risk: _active,
        ...weightsView
      } = createWeightsView({
        runId: header.run_id,
        requestedAsOf: asOf ?? null,
        weights: readPositiveWeights(columns, asOf ?? null),
        benchmark: null,
        findShares: () => null,
        risk: null,
        activeRisk: null,
      });
      return weightsView as Api.HeldWeights; // the rows have the form of the contract
    },
    closes() {
      const { held: _held, without_bar: _absent, ...closes } = createClosesView(columns);
      return closes;
    },
  };
}
