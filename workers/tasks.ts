import type { Task, TaskName } from '#jobs/tasks.js';
import { createDoor } from './door.js';

/** A task without a worker does not compile. */
const tasks: { readonly [N in TaskName]: () => Promise<Task<N>> } = {
  backtest: async () => (await import('./runs/backtest.js')).backtest,
  replay: async () => (await import('./runs/replay.js')).replay,
  'sweep-part': async () => (await import('./runs/sweep.js')).sweepPart,
  'write-sweep-part': async () => (await import('./runs/sweep.js')).writeSweepPart,
  'sum-sweep': async () => (await import('./runs/sweep.js')).sumSweep,
  'view-run': async () => (await import('./views/view-run.js')).viewRun,
  'run-record': async () => (await import('./runs/run-record.js')).runRecord,
  'write-record': async () => (await import('./runs/run-record.js')).writeRecordFile,
  'upgrade-result': async () => (await import('./input/stored-texts.js')).upgradeResult,
  'export-part': async () => (await import('./views/export-part.js')).exportPartOfRun,
  'run-levels': async () => (await import('./runs/run-levels.js')).runLevels,
  preview: async () => (await import('./indices/preview.js')).preview,
  'evaluate-datapoint': async () => (await import('./indices/evaluate-datapoint.js')).evaluate,
  'preview-optimisation': async () => (await import('./optimisation/preview-optimisation.js')).previewOfOptimisation,
  explain: async () => (await import('./indices/explain.js')).explain,
  whatIf: async () => (await import('./indices/what-if.js')).whatIf,
  rebalancePack: async () => (await import('./indices/rebalance-pack.js')).rebalancePack,
  render: async () => (await import('./reports/render.js')).render,
  prices: async () => (await import('./market/prices.js')).prices,
  coverage: async () => (await import('./market/coverage.js')).coverage,
  'audit-market': async () => (await import('./market/audit-market.js')).auditMarket,
  'repair-market': async () => (await import('./market/audit-market.js')).repairMarket,
  'refresh-market': async () => (await import('./market/refresh-market.js')).refreshMarket,
  'compare-levels': async () => (await import('./runs/run-differences.js')).compareLevels,
  'total-return': async () => (await import('./runs/run-differences.js')).totalReturn,
  'content-change': async () => (await import('./market/data-versions.js')).changeOfContent,
  'content-copy': async () => (await import('./market/data-versions.js')).copyOfContent,
  'copied-market': async () => (await import('./market/data-versions.js')).copiedMarket,
  'earlier-market': async () => (await import('./market/data-versions.js')).earlierMarket,
  'data-difference': async () => (await import('./market/data-versions.js')).dataDifference,
  'plan-simulation': async () => (await import('./runs/simulate.js')).planOfSimulation,
  'simulate-paths': async () => (await import('./runs/simulate.js')).simulatePart,
  'sum-simulation': async () => (await import('./runs/simulate.js')).sumSimulation,
  'estimate-risk-model': async () => (await import('./risk/estimate-risk-model.js')).estimateModel,
  'validate-risk-model': async () => (await import('./risk/validate-risk-model.js')).validateModel,
  optimise: async () => (await import('./optimisation/optimise.js')).optimise,
  'risk-model-part': async () => (await import('./risk/read-risk-model.js')).riskModelPart,
  'hash-files': async () => (await import('./run-files/hash-files.js')).hashFiles,
  'warm-up': async () => (await import('./market/warm-up.js')).warmUp(tasks),
  'risk-model-arrow': async () => (await import('./risk/read-risk-model.js')).riskModelArrow,
};

/** Runs a message of the pool. */
export const runTask = createDoor(tasks);
