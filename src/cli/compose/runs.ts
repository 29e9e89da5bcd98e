import { runViewRoutes } from '#contract/analytics/run-view-routes.js';
import { analyticsHandlers } from '#http/routes/analytics.js';
import { derivativeHandlers } from '#http/routes/derivatives.js';
import { exportHandlers } from '#http/routes/exports.js';
import { replayHandlers } from '#http/routes/replays.js';
import { actionDeskHandlers } from '#http/routes/action-desk.js';
import { createActionDesk } from '#services/data/action-desk.js';
import { actionEffects } from '#services/runs/action-effects.js';
import { runViewHandlers } from '#http/routes/run-views.js';
import { runDifferenceHandlers, runHandlers } from '#http/routes/runs.js';
import { rerunHandlers } from '#http/routes/reruns.js';
import { simulationHandlers } from '#http/routes/simulations.js';
import { sweepHandlers } from '#http/routes/sweeps.js';
import { listAnnouncedDividends } from '#services/derivatives/announced-dividends.js';
import { createDerivatives } from '#services/derivatives/derivatives.js';
import type { CalendarViews } from '#services/indices/calendars.js';
import { createAnalytics } from '#services/runs/analytics.js';
import { createBacktestBatches } from '#services/runs/backtest-batches.js';
import { createBacktestJob } from '#services/runs/backtest-job.js';
import { createExports } from '#services/runs/exports.js';
import { createReplayJob, createReplays } from '#services/runs/replays.js';
import { backtestResults } from '#services/runs/job-results.js';
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
import type { RoomsOfJobs } from './documents-of-jobs.js';
import type { Closable } from './rooms.js';
import { composeSql } from './sql.js';

/** Composes backtests, the views of their stored runs, and pricing on them. */
export function composeRuns(
  rooms: RoomsOfJobs,
  { calendarViews, open }: { readonly calendarViews: CalendarViews; readonly open: Closable[] },
) {
  const { settings, version: engineVersion } = rooms;
  const { nextRebalance, comingRebalance } = calendarViews;
  const views = createViewCache();
  const maker = createViewMaker({ ...rooms, views });
  const runnables = createRunnableRuns(rooms);
  const kinds = kindsOf(rooms, runnables);

  const texts = createRunTexts(rooms);
  const analytics = createAnalytics({ ...rooms, kind: kinds.backtest, maker, texts, runnables, engineVersion });
  const { estimatedBytes } = analytics;
  const runViews = createRunViews({ ...rooms, maker, nextRebalance, comingRebalance });
  const replays = createReplays({ ...rooms, kind: kinds.replay, engineVersion, estimatedBytes });
  const sweeps = createSweeps({
    ...rooms,
    kind: kinds.sweep,
    engineVersion,
    workers: settings.workers,
    estimatedBytes,
  });
  const reruns = createReruns({
    ...rooms,
    kind: kinds.rerun,
    engineVersion,
    workers: settings.workers,
    estimatedBytes,
  });
  const exports = createExports({ ...rooms, views });
  const simulations = createSimulations({ ...rooms, kind: kinds.simulate });
  const derivatives = createDerivatives({
    levelsOf: analytics.levelsOf,
    announcedDividends: listAnnouncedDividends(runViews, runViewRoutes.getDividendPoints.view),
    calendars: rooms.calendars,
  });

  return {
    maker,
    analytics,
    exports,
    backtestResults: backtestResults(rooms.documents, texts),
    kinds,
    handlers: {
      ...analyticsHandlers(analytics, createBacktestBatches(analytics)),
      ...runHandlers(createStoredRuns({ ...rooms, maker })),
      ...runDifferenceHandlers(createRunDifferences({ ...rooms, kind: kinds.diff, engineVersion, estimatedBytes })),
      ...runViewHandlers(runViews),
      ...exportHandlers(exports),
      ...deskHandlers(rooms, runViews),
      ...composeSql(rooms, exports, open).handlers,
      ...replayHandlers(replays),
      ...sweepHandlers(sweeps),
      ...rerunHandlers(reruns),
      ...simulationHandlers(simulations),
      ...derivativeHandlers(derivatives),
    },
  };
}

/** Returns the kinds of job that compute runs and results of runs. */
function kindsOf(rooms: RoomsOfJobs, runnables: RunnableRuns) {
  const { runsKept, workers } = rooms.settings;
  const ofJobs = { ...rooms, documents: rooms.documentsOfJobs };
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
function deskHandlers(rooms: RoomsOfJobs, views: RunViews) {
  const effectsOf = actionEffects(views, runViewRoutes.getIndexActions.view, rooms.documents);
  return actionDeskHandlers(createActionDesk({ ...rooms, effectsOf }));
}
