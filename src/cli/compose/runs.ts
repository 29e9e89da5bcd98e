import { runViewRoutes } from '#contract/analytics/run-view-routes.js';
import { createAnalyticsHandlers } from '#http/routes/analytics.js';
import { createDerivativeHandlers } from '#http/routes/derivatives.js';
import { createExportHandlers } from '#http/routes/exports.js';
import { createReplayHandlers } from '#http/routes/replays.js';
import { createActionDeskHandlers } from '#http/routes/action-desk.js';
import { createActionDesk } from '#services/data/action-desk.js';
import { createActionEffects } from '#services/runs/action-effects.js';
import { createRunViewHandlers } from '#http/routes/run-views.js';
import { createRunDifferenceHandlers, createRunHandlers } from '#http/routes/runs.js';
import { createRerunHandlers } from '#http/routes/reruns.js';
import { createSimulationHandlers } from '#http/routes/simulations.js';
import { createSweepHandlers } from '#http/routes/sweeps.js';
import { listAnnouncedDividends } from '#services/derivatives/announced-dividends.js';
import { createDerivatives } from '#services/derivatives/derivatives.js';
import type { CalendarViews } from '#services/indices/calendars.js';
import { createAnalytics } from '#services/runs/analytics.js';
import { createBacktestBatches } from '#services/runs/backtest-batches.js';
import { createBacktestJob } from '#services/runs/backtest-job.js';
import { createExports } from '#services/runs/exports.js';
import { createReplayJob, createReplays } from '#services/runs/replays.js';
import { createBacktestResults } from '#services/runs/job-results.js';
import { createRunTexts } from '#services/runs/run-texts.js';
import { createRunViews, type RunViews } from '#services/runs/run-views.js';
import { createSimulationJob, createSimulations } from '#services/runs/simulations.js';
import { createRunDifferenceJob, createRunDifferences } from '#services/runs/run-differences.js';
import { createStoredRuns } from '#services/runs/stored-runs.js';
import { createRunMaker } from '#services/runs/run-maker.js';
import { createRerunJob } from '#services/runs/rerun-job.js';
import { createReruns } from '#services/runs/reruns.js';
import { createRunnableRuns, type RunnableRuns } from '#services/runs/runnable-runs.js';
import { createSweepJob } from '#services/runs/sweep-job.js';
import { createSweeps } from '#services/runs/sweeps.js';
import { createViewCache } from '#services/runs/view-cache.js';
import { createViewMaker } from '#services/runs/view-maker.js';
import type { JobComponents } from './documents-of-jobs.js';
import type { Closable } from './core.js';
import { composeSql } from './sql.js';

/** Composes backtests, the views of their stored runs, and the pricing that uses them. */
export function composeRuns(
  core: JobComponents,
  { calendarViews, resources }: { readonly calendarViews: CalendarViews; readonly resources: Closable[] },
) {
  const { settings, version: engineVersion } = core;
  const { nextRebalance, comingRebalance } = calendarViews;
  const views = createViewCache();
  const maker = createViewMaker({ ...core, views });
  const runnables = createRunnableRuns(core);
  const kinds = createKinds(core, runnables);

  const texts = createRunTexts(core);
  const analytics = createAnalytics({ ...core, kind: kinds.backtest, maker, texts, runnables, engineVersion });
  const { estimatedBytes } = analytics;
  const runViews = createRunViews({ ...core, maker, nextRebalance, comingRebalance });
  const replays = createReplays({ ...core, kind: kinds.replay, engineVersion, estimatedBytes });
  const sweeps = createSweeps({ ...core, kind: kinds.sweep, engineVersion, workers: settings.workers, estimatedBytes });
  const reruns = createReruns({ ...core, kind: kinds.rerun, engineVersion, workers: settings.workers, estimatedBytes });
  const exports = createExports({ ...core, views });
  const simulations = createSimulations({ ...core, kind: kinds.simulate });
  const derivatives = createDerivatives({
    readLevels: analytics.readLevels,
    announcedDividends: listAnnouncedDividends(runViews, runViewRoutes.getDividendPoints.view),
    calendars: core.calendars,
  });

  return {
    maker,
    analytics,
    exports,
    backtestResults: createBacktestResults(core.documents, texts),
    kinds,
    handlers: {
      ...createAnalyticsHandlers(analytics, createBacktestBatches(analytics)),
      ...createRunHandlers(createStoredRuns({ ...core, maker })),
      ...createRunDifferenceHandlers(
        createRunDifferences({ ...core, kind: kinds.diff, engineVersion, estimatedBytes }),
      ),
      ...createRunViewHandlers(runViews),
      ...createExportHandlers(exports),
      ...createDeskHandlers(core, runViews),
      ...composeSql(core, exports, resources).handlers,
      ...createReplayHandlers(replays),
      ...createSweepHandlers(sweeps),
      ...createRerunHandlers(reruns),
      ...createSimulationHandlers(simulations),
      ...createDerivativeHandlers(derivatives),
    },
  };
}

/** Returns the kinds of job that compute runs and results of runs. */
function createKinds(core: JobComponents, runnables: RunnableRuns) {
  const { runsKept, workers } = core.settings;
  const jobDependencies = { ...core, documents: core.documentsOfJobs };
  const runMaker = createRunMaker(jobDependencies);
  return {
    backtest: createBacktestJob({ runMaker, runsKept }),
    rerun: createRerunJob({ ...jobDependencies, runMaker, runnables, runsKept, workers }),
    replay: createReplayJob(jobDependencies),
    diff: createRunDifferenceJob(jobDependencies),
    sweep: createSweepJob({ ...jobDependencies, workers }),
    simulate: createSimulationJob({ ...jobDependencies, workers }),
  };
}

/** Creates the handlers for the corporate actions desk. They read the effects of actions from views of runs. */
function createDeskHandlers(core: JobComponents, views: RunViews) {
  const effects = createActionEffects(views, runViewRoutes.getIndexActions.view, core.documents);
  return createActionDeskHandlers(createActionDesk({ ...core, effects }));
}
