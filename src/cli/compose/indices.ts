import { findBundlePath } from '#bundle';
import { runViewRoutes } from '#contract/analytics/run-views.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { Removals } from '#http/handler.js';
import {
  createCalendarHandlers,
  createEventHandlers,
  createIndexHandlers,
  createPluginHandlers,
  createStrategyHandlers,
} from '#http/routes/indices.js';
import {
  createAccountBacktestHandlers,
  createBatchHandlers,
  createOptimiseHandlers,
  createRiskModelHandlers,
  createStudyHandlers,
} from '#http/routes/optimise.js';
import {
  createAnalyticsHandlers,
  createDerivativeHandlers,
  createExportHandlers,
  createReplayHandlers,
  createReportHandlers,
  createRerunHandlers,
  createRunDifferenceHandlers,
  createRunHandlers,
  createRunViewHandlers,
  createSimulationHandlers,
  createSqlHandlers,
  createSweepHandlers,
} from '#http/routes/runs.js';
import { createActionDeskHandlers } from '#http/routes/stores.js';
import { type CalendarViews, createCalendarViews, createIndexSchedules } from '#services/indices/calendars.js';
import { requireIndex } from '#services/indices/documents.js';
import { createEvents } from '#services/indices/events.js';
import { createIndices } from '#services/indices/indices.js';
import { createPluginPreviews, createPlugins } from '#services/indices/plugins.js';
import { createDatapointQuestions, createIndexQuestions } from '#services/indices/questions.js';
import { createStrategies } from '#services/indices/strategies.js';
import { createMethodologyTemplates } from '#services/indices/templates.js';
import {
  createAccountBacktestJob,
  createAccountBacktests,
  createBatches,
  createBatchJob,
  createBatchResults,
} from '#services/optimise/batches.js';
import { createOptimisationJob, createOptimise } from '#services/optimise/optimisations.js';
import { createStudies, createStudyJob } from '#services/optimise/studies.js';
import { createRenderJob, createReports } from '#services/reports/reports.js';
import { createRiskModelImports, createRiskModelJob, createRiskValidationJob } from '#services/risk/estimation.js';
import { createRiskModels } from '#services/risk/models.js';
import { createBacktestJob, createBacktestResults, createRunMaker } from '#services/runs/backtest-job.js';
import {
  createAnalytics,
  createBacktestBatches,
  createRerunJob,
  createReruns,
  createRunnableRuns,
  type RunnableRuns,
} from '#services/runs/backtests.js';
import { createDerivatives, listAnnouncedDividends } from '#services/runs/derivatives.js';
import {
  createReplayJob,
  createReplays,
  createRunDifferenceJob,
  createRunDifferences,
} from '#services/runs/differences.js';
import { createExports, type Exports } from '#services/runs/exports.js';
import { createSimulationJob, createSimulations } from '#services/runs/simulations.js';
import { createSql } from '#services/runs/sql.js';
import { createRunTexts, createStoredRuns } from '#services/runs/stored-runs.js';
import { createSweepJob, createSweeps } from '#services/runs/sweeps.js';
import {
  createActionEffects,
  createRunViews,
  createViewCache,
  createViewMaker,
  type RunViews,
} from '#services/runs/views.js';
import { findRun } from '#services/shared/run-documents.js';
import { createActionDesk } from '#services/stores/action-desk.js';
import { formatTimestamp } from '#store/document-identity.js';
import { getBuildVersion } from '../version.js';
import type { Closable, Core, JobComponents } from './core.js';
import { readMethodologies } from './package-files.js';

const MS_PER_DAY = 86_400_000;

/** Composes definitions: indices, strategies, their calendars and their optimisation. */
export function composeIndices(core: JobComponents, removals: Removals) {
  const { documents, calendars } = core;
  const jobDependencies = { ...core, documents: core.documentsOfJobs };
  const kinds = {
    risk: createRiskModelJob({ ...jobDependencies, workers: core.settings.workers }),
    validate: createRiskValidationJob(jobDependencies),
    optimise: createOptimisationJob(jobDependencies),
    study: createStudyJob({ ...jobDependencies, workers: core.settings.workers }),
    account: createAccountBacktestJob(jobDependencies),
    batch: createBatchJob({ ...jobDependencies, workers: core.settings.workers }),
  };
  const personalDependencies = { ...core, engineVersion: core.version, workers: core.settings.workers };
  const batchDependencies = { ...personalDependencies, kind: kinds.batch };

  const indices = createIndices(core);
  const strategies = createStrategies(core);
  const optimisations = createOptimise({ ...core, kind: kinds.optimise });
  const plugins = createPlugins(core);
  const { workers } = core.settings;
  const riskModels = createRiskModels({ ...core, kind: kinds.risk, validation: kinds.validate, workers });
  const getToday = () => Math.floor(core.now() / MS_PER_DAY);
  const readIndex = async (indexId: string) => (await requireIndex(documents, indexId)).document;
  const findIndexRun = (indexId: string) => findRun(documents, indexId);
  const templates = createMethodologyTemplates({ ...core, read: readMethodologies });
  const createScheduleReader = (usedCalendars: Calendars) =>
    createIndexSchedules({ calendars: usedCalendars, readIndex, findIndexRun });
  const computeSchedule = createScheduleReader(calendars);
  const readSchedule = async (indexId: string) => computeSchedule(await readIndex(indexId));
  const calendarViews = createCalendarViews({ calendars, readSchedule, today: getToday });
  const questions = createIndexQuestions({ ...core, computeSchedule });

  return {
    indices,
    strategies,
    optimisations,
    kinds,
    riskModels,
    plugins,
    calendarViews,
    computeSchedule,
    schedulesOn: createScheduleReader,
    listTemplateChecks: templates.listChecks,
    handlers: {
      ...createCalendarHandlers(calendarViews),
      ...createEventHandlers(createEvents({ documents, calendars, computeSchedule, today: getToday }), getToday),
      ...createIndexHandlers(indices, questions, createDatapointQuestions(core), templates, removals),
      ...createStrategyHandlers(strategies, removals),
      ...createPluginHandlers(plugins, createPluginPreviews(core), removals),
      ...createOptimiseHandlers(optimisations, indices, removals),
      ...createStudyHandlers(createStudies({ ...personalDependencies, kind: kinds.study })),
      ...createBatchHandlers(createBatches(batchDependencies), createBatchResults(batchDependencies)),
      ...createAccountBacktestHandlers(createAccountBacktests({ ...personalDependencies, kind: kinds.account })),
      ...createRiskModelHandlers(riskModels, createRiskModelImports(core)),
    },
  };
}

/** Composes report templates and rendered reports. */
export function composeReports(core: JobComponents, removals: Removals) {
  const renderJobKind = createRenderJob({
    ...core,
    documents: core.documentsOfJobs,
    timestamp: () => formatTimestamp(core.now()),
    creator: `Divisor ${getBuildVersion()}`,
  });
  const reports = createReports({ ...core, kind: renderJobKind });
  return { reports, kinds: { render: renderJobKind }, handlers: createReportHandlers(reports, removals) };
}

/** Composes queries over runs and the served market. */
function composeSql(core: Core, exports: Exports, resources: Closable[]) {
  const encoder =
    findBundlePath('result-writer') ?? new URL('../../../workers/sql/result-writer.js', import.meta.url).href;
  const sql = createSql({ ...core, exports, encoder, secondsMax: core.settings.sqlSeconds });
  resources.push(sql);
  return { handlers: createSqlHandlers(sql) };
}

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
