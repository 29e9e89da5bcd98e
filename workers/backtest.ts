import { createHash } from 'node:crypto';
import type { Engine } from '#kernels/engines/engine.js';
import type { BacktestPlan } from '#domain/backtest/plan.js';
import { indexDeciders } from '#domain/backtest/index-decider.js';
import { runBacktest } from '#domain/backtest/run.js';
import { runToColumns } from '#domain/backtest/run-to-columns.js';
import { canonicalJson } from '#domain/canonical-json.js';
import { formatDay } from '#domain/days.js';
import type { Task, TaskControl, TaskInput, TaskOutput } from '#jobs/tasks.js';
import { runOverviewJson, runRecordJson, runResultJson } from '#views/run-json.js';
import { outputBytes } from './hand-over.js';
import { onEngine } from './numerics.js';
import { openedMarket } from './open-markets.js';
import { openedCalendars } from './opened-calendars.js';

/** A whole backtest: the definition run, simulated, measured and serialised once. */
export const backtest: Task<'backtest'> = (input, control) => onEngine((engine) => runOn(engine, input, control));

function runOn(engine: Engine, { market: handle, plan, engineVersion }: TaskInput<'backtest'>, control: TaskControl): TaskOutput<'backtest'> {
  const market = openedMarket(handle);
  const run = runBacktest({
    market,
    calendars: openedCalendars(),
    plan,
    createDecider: indexDeciders(engine),
    report: (fraction, message) => control.report(0.8 * fraction, message),
  });
  control.report(0.8, 'writing the result');
  const columns = runToColumns(run, { contentHash: market.contentHash });
  const runHash = hashOf({ plan, engineVersion, storeContentHash: market.contentHash });
  const stamp = { runAt: timestamp(), runHash, storeContentHash: market.contentHash, engineVersion };
  const result = runResultJson(run, stamp);
  control.report(0.9, 'writing the record');
  return {
    result: outputBytes(result),
    record: outputBytes(runRecordJson(run, stamp)),
    overview: outputBytes(runOverviewJson(run)),
    columns: outputBytes(columns),
    runAt: stamp.runAt,
    start: formatDay(run.days[0]!),
    end: formatDay(run.days.at(-1)!),
    runHash,
    storeContentHash: market.contentHash,
  };
}

function hashOf(input: { readonly plan: BacktestPlan; readonly engineVersion: string; readonly storeContentHash: string }): string {
  return createHash('sha256').update(canonicalJson(input)).digest('hex');
}

/** Now, ISO-8601 UTC with an offset. */
function timestamp(): string {
  return `${new Date().toISOString().slice(0, -1)}000+00:00`;
}
