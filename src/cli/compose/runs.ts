import { runViewRoutes } from '#contract/analytics/run-view-routes.js';
import { createAnalyticsHandlers } from '#http/routes/analytics.js';
import { createDerivativeHandlers } from '#http/routes/derivatives.js';
import { createExportHandlers } from '#http/routes/exports.js';
import { createReplayHandlers } from '#http/routes/replays.js';
import { createActionDeskHandlers } from '#http/routes/action-desk.js';
import { createActionDesk } from '#services/data/action-desk.js';
import { actionEffects } from '#services/runs/action-effects.js';
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
import { createRunMaker } from '#services/runs/made-runs.js';
import { createRerunJob } from '#services/runs/rerun-job.js';
import { createReruns } from '#services/runs/reruns.js';
import { createRunnableRuns, type RunnableRuns } from '#services/runs/runnable-runs.js';
import { createSweepJob } from '#services/runs/sweep-job.js';
import { createSweeps } from '#services/runs/sweeps.js';
import { createViewCache } from '#services/runs/view-cache.js';
import { createViewMaker } from '#services/runs/view-maker.js';
import type { JobComponents } from './documents-of-jobs.js';
import type { Closable } from './rooms.js';
import { composeSql } from './sql.js';

/** Composes backtests, the views of their stored runs, and pricing on them. */
export function composeRuns(
  components: JobComponents,
  { calendarViews, open }: { readonly calendarViews: CalendarViews; readonly open: Closable[] },
) {
  const { settings, version: engineVersion } = components;
  const { nextRebalance, comingRebalance } = calendarViews;
  const views = createViewCache();
  const maker = createViewMaker({ ...components, views });
  const runnables = createRunnableRuns(components);
  const kinds = kindsOf(components, runnables);

  const texts = createRunTexts(components);
  const analytics = createAnalytics({ ...components, kind: kinds.backtest, maker, texts, runnables, engineVersion });
  const { estimatedBytes } = analytics;
  const runViews = createRunViews({ ...components, maker, nextRebalance, comingRebalance });
  const replays = createReplays({ ...components, kind: kinds.replay, engineVersion, estimatedBytes });
  const sweeps = createSweeps({
    ...components,
    kind: kinds.sweep,
    engineVersion,
    workers: settings.workers,
    estimatedBytes,
  });
  const reruns = createReruns({
    ...components,
    kind: kinds.rerun,
    engineVersion,
    workers: settings.workers,
    estimatedBytes,
  });
  const exports = createExports({ ...components, views });
  const simulations = createSimulations({ ...components, kind: kinds.simulate });
  const derivatives = createDerivatives({
    levelsOf: analytics.levelsOf,
    announcedDividends: listAnnouncedDividends(runViews, runViewRoutes.getDividendPoints.view),
    calendars: components.calendars,
  });

  return {
    maker,
    analytics,
    exports,
    backtestResults: createBacktestResults(components.documents, texts),
    kinds,
    handlers: {
      ...createAnalyticsHandlers(analytics, createBacktestBatches(analytics)),
      ...createRunHandlers(createStoredRuns({ ...components, maker })),
      ...createRunDifferenceHandlers(
        createRunDifferences({ ...components, kind: kinds.diff, engineVersion, estimatedBytes }),
      ),
      ...createRunViewHandlers(runViews),
      ...createExportHandlers(exports),
      ...deskHandlers(components, runViews),
      ...composeSql(components, exports, open).handlers,
      ...createReplayHandlers(replays),
      ...createSweepHandlers(sweeps),
      ...createRerunHandlers(reruns),
      ...createSimulationHandlers(simulations),
      ...createDerivativeHandlers(derivatives),
    },
  };
}

/** Returns the kinds of job that compute runs and results of runs. */
function kindsOf(components: JobComponents, runnables: RunnableRuns) {
  const { runsKept, workers } = components.settings;
  const ofJobs = { ...components, documents: components.documentsOfJobs };
  const runMaker = createRunMaker(ofJobs);
  return {
    backtest: createBacktestJob({ runMaker, runsKept }),
    rerun: createRerunJob({ ...ofJobs, runMaker, runnables, runsKept, workers }),
    replay: createReplayJob(ofJobs),
    diff: createRunDifferenceJob(ofJobs),
    sweep: createSweepJob({ ...ofJobs, workers }),
    simulate: createSimulationJob({ ...ofJobs, workers }),
  };
}

/** Creates the handlers of the corporate actions desk, which reads effects from the views of runs. */
function deskHandlers(components: JobComponents, views: RunViews) {
  const effectsOf = actionEffects(views, runViewRoutes.getIndexActions.view, components.documents);
  return createActionDeskHandlers(createActionDesk({ ...components, effectsOf }));
}
