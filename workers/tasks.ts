import type { Task, TaskName } from '#jobs/tasks.js';
import { createDoor } from './door.js';

/** A task without a worker does not compile. */
const tasks: { readonly [N in TaskName]: () => Promise<Task<N>> } = {
  backtest: async () => (await import('./backtest.js')).backtest,
  replay: async () => (await import('./replay.js')).replay,
  'sweep-part': async () => (await import('./sweep.js')).sweepPart,
  'write-sweep-part': async () => (await import('./sweep.js')).writeSweepPart,
  'sum-sweep': async () => (await import('./sweep.js')).sumSweep,
  'view-run': async () => (await import('./view-run.js')).viewRun,
  'run-record': async () => (await import('./run-record.js')).runRecord,
  'write-record': async () => (await import('./run-record.js')).writeRecordFile,
  'upgrade-result': async () => (await import('./stored-texts.js')).upgradeResult,
  'export-part': async () => (await import('./export-part.js')).exportPartOfRun,
  'run-levels': async () => (await import('./run-levels.js')).runLevels,
  preview: async () => (await import('./preview.js')).preview,
  'evaluate-datapoint': async () => (await import('./evaluate-datapoint.js')).evaluate,
  explain: async () => (await import('./explain.js')).explain,
  whatIf: async () => (await import('./what-if.js')).whatIf,
  rebalancePack: async () => (await import('./rebalance-pack.js')).rebalancePack,
  render: async () => (await import('./render.js')).render,
  prices: async () => (await import('./prices.js')).prices,
  coverage: async () => (await import('./coverage.js')).coverage,
  'audit-market': async () => (await import('./audit-market.js')).auditMarket,
  'repair-market': async () => (await import('./audit-market.js')).repairMarket,
  'refresh-market': async () => (await import('./refresh-market.js')).refreshMarket,
  'compare-levels': async () => (await import('./run-differences.js')).compareLevels,
  'total-return': async () => (await import('./run-differences.js')).totalReturn,
  'content-change': async () => (await import('./data-versions.js')).changeOfContent,
  'content-copy': async () => (await import('./data-versions.js')).copyOfContent,
  'copied-market': async () => (await import('./data-versions.js')).copiedMarket,
  'earlier-market': async () => (await import('./data-versions.js')).earlierMarket,
  'data-difference': async () => (await import('./data-versions.js')).dataDifference,
  'rolling-risk': async () => (await import('./rolling-risk.js')).rollingRiskOfRun,
  'plan-simulation': async () => (await import('./simulate.js')).planOfSimulation,
  'simulate-paths': async () => (await import('./simulate.js')).simulatePart,
  'sum-simulation': async () => (await import('./simulate.js')).sumSimulation,
  'estimate-risk-model': async () => (await import('./estimate-risk-model.js')).estimateModel,
  'validate-risk-model': async () => (await import('./validate-risk-model.js')).validateModel,
  optimise: async () => (await import('./optimise.js')).optimise,
  'risk-model-part': async () => (await import('./read-risk-model.js')).riskModelPart,
  'hash-files': async () => (await import('./hash-files.js')).hashFiles,
  'warm-up': async () => (await import('./warm-up.js')).warmUp(tasks),
  'risk-model-arrow': async () => (await import('./read-risk-model.js')).riskModelArrow,
};

/** Runs a message of the pool. */
export const runTask = createDoor(tasks);
