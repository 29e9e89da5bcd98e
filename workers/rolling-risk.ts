import { rollingRisk } from '#domain/analytics/rolling-risk.js';
import type { Task } from '#jobs/tasks.js';
import { createJsonWriter } from '#views/json-writer.js';
import { runLevels } from '#views/run-levels.js';
import { writeRollingRisk } from '#views/rolling-risk-view.js';
import { outputBytes } from './hand-over.js';
import { assertPriced } from './held-risk.js';
import { openedMarket } from './open-markets.js';
import { withRunFile } from './run-file.js';

/** Bytes of a row: a date and five numbers. */
const ROW_BYTES = 120;

/**
 * A RollingRiskView of a stored run as JSON.
 * @throws Refusal RISK_INSUFFICIENT_DATA when the market has no price of what it holds
 */
export const rollingRiskOfRun: Task<'rolling-risk'> = ({ columns, runId, memory, market }) => {
  const { names, days, level, index } = withRunFile(columns, (run) => ({ names: run.header.names, ...runLevels(run) }));
  if (market) assertPriced(openedMarket(market), { names, first: days[0]!, last: days.at(-1)! });
  const json = createJsonWriter(ROW_BYTES * days.length);
  writeRollingRisk(json, { runId, memory, days, risk: rollingRisk(level, index, memory) });
  return outputBytes(json.bytes());
};
