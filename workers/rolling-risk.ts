import { rollingRisk } from '#domain/analytics/rolling-risk.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { lastAtMost } from '#domain/search.js';
import type { Task } from '#jobs/tasks.js';
import { createJsonWriter } from '#views/json-writer.js';
import { writeRollingRisk } from '#views/rolling-risk-view.js';
import { outputBytes } from './hand-over.js';
import { assertPriced } from './held-risk.js';
import { openedMarket } from './open-markets.js';
import { withRunFile } from './run-file.js';

/** Bytes of a row: a date and five numbers. */
const ROW_BYTES = 120;

/** A RollingRiskView of a stored run as JSON. @throws Refusal RISK_INSUFFICIENT_DATA when the market has no price of what it holds */
export const rollingRiskOfRun: Task<'rolling-risk'> = ({ columns, runId, memory, market }) => {
  const { names, days, level, index } = withRunFile(columns, readLevels);
  if (market) assertPriced(openedMarket(market), { names, first: days[0]!, last: days.at(-1)! });
  const json = createJsonWriter(ROW_BYTES * days.length);
  writeRollingRisk(json, { runId, memory, days, risk: rollingRisk(level, index, memory) });
  return outputBytes(json.bytes());
};

/** Names of the run, and levels of it and of its index on its dates. */
function readLevels(run: RunColumns): {
  readonly names: readonly string[];
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly index: Float64Array;
} {
  const days = run.i32('days').slice();
  const indexDays = run.i32('indexDays');
  const indexLevel = run.f64('indexLevel');
  const index = Float64Array.from(days, (day) => indexLevel[Math.max(0, lastAtMost(indexDays, day))]!);
  return { names: run.header.names, days, level: run.f64('level').slice(), index };
}
