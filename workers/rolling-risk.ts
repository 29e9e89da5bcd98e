import { rollingRisk } from '#domain/analytics/rolling-risk.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { lastAtMost } from '#domain/search.js';
import type { Task } from '#jobs/tasks.js';
import { createJsonWriter } from '#views/json-writer.js';
import { runLevels } from '#views/run-levels.js';
import { writeRollingRisk } from '#views/rolling-risk-view.js';
import { hashedBytes } from './hand-over.js';
import { assertPriced } from './held-risk.js';
import { openedMarket } from './open-markets.js';
import { withRunFile } from './run-file.js';

/** Bytes of a row: a date and five numbers. */
const ROW_BYTES = 120;

/**
 * A RollingRiskView of a stored run as JSON.
 * @throws Refusal RISK_INSUFFICIENT_DATA when the market has no price of what it holds
 */
export const rollingRiskOfRun: Task<'rolling-risk'> = ({ columns, runId, memory, against, market }) => {
  const { names, benchmarkId, days, level, reference } = withRunFile(columns, (run) => ({
    names: run.header.names,
    benchmarkId: against === 'benchmark' ? (run.header.benchmark?.id ?? null) : null,
    ...(against === 'benchmark' ? benchmarkLevels(run) : indexLevels(run)),
  }));
  if (market && days.length > 0) assertPriced(openedMarket(market), { names, first: days[0]!, last: days.at(-1)! });
  const json = createJsonWriter(ROW_BYTES * days.length);
  const risk = rollingRisk(level, reference, memory);
  writeRollingRisk(json, { runId, memory, against, benchmarkId, days, risk });
  return hashedBytes(json.bytes());
};

/** Levels of a run and of what it is measured against, on the dates of both, [T] each. */
interface Levels {
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly reference: Float64Array;
}

function indexLevels(run: RunColumns): Levels {
  const { days, level, index } = runLevels(run);
  return { days, level, reference: index };
}

/** On the dates that the benchmark shares with the run. */
function benchmarkLevels(run: RunColumns): Levels {
  if (!run.has('benchmarkDays')) return { days: new Int32Array(0), level: NONE, reference: NONE };
  const { days: all, level } = runLevels(run);
  const days = run.i32('benchmarkDays').slice();
  const own = Float64Array.from(days, (day) => level[lastAtMost(all, day)]!);
  return { days, level: own, reference: run.f64('benchmarkLevel').slice() };
}

const NONE = new Float64Array(0);
