import { createHash } from 'node:crypto';
import type { Engine } from '#kernels/engines/engine.js';
import type { BacktestPlan } from '#domain/backtest/plan.js';
import { indexDeciders } from '#domain/backtest/index-decider.js';
import { runBacktest } from '#domain/backtest/run.js';
import { runToColumns } from '#domain/backtest/run-to-columns.js';
import { canonicalJson } from '#domain/canonical-json.js';
import { formatDay } from '#domain/days.js';
import type { Task, TaskControl, TaskInput, TaskOutput } from '#jobs/tasks.js';
import type { RunStamp } from '#views/provenance-json.js';
import { runOverviewJson, runResultJson } from '#views/run-json.js';
import { outputBytes } from './hand-over.js';
import { onEngine } from './numerics.js';
import { openedMarket } from './open-markets.js';
import { openedCalendars } from './opened-calendars.js';

/** A whole backtest: the definition run, simulated, measured and serialised once; its record is written when it is read. */
export const backtest: Task<'backtest'> = (input, control) => onEngine((engine) => runOn(engine, input, control));

function runOn(engine: Engine, input: TaskInput<'backtest'>, control: TaskControl): TaskOutput<'backtest'> {
  const { outputs, runHash, storeContentHash, runAt, start, end } = runForStore(engine, input, control);
  const { result, overview, columns } = outputs;
  return {
    result: outputBytes(result),
    overview: outputBytes(overview),
    columns: outputBytes(columns),
    runAt, start, end, runHash, storeContentHash,
  };
}

/** A run to be made, stamped as new unless a stamp is given. */
export type RunOrder = TaskInput<'backtest'> & { readonly stamp?: RunStamp };

/** Runs a plan and serialises everything that is stored of it. */
export function runForStore(engine: Engine, { market: handle, plan, engineVersion, stamp: given }: RunOrder, control: TaskControl) {
  const market = openedMarket(handle);
  const run = runBacktest({
    market,
    calendars: openedCalendars(),
    plan,
    createDecider: indexDeciders(engine),
    engine,
    inPlace: true,
    report: (fraction, message) => control.report(0.8 * fraction, message),
  });
  control.report(0.8, 'writing the result');
  const runAt = timestamp();
  const runHash = hashOf({ plan, engineVersion, storeContentHash: market.contentHash });
  const stamp = given ?? { runAt, runHash, storeContentHash: market.contentHash, engineVersion };
  const columns = runToColumns(run, { contentHash: stamp.storeContentHash, inPlace: true });
  return {
    outputs: { result: runResultJson(run, stamp), overview: runOverviewJson(run), columns },
    runAt,
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
