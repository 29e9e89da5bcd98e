import type { Calendars } from '#domain/calendars/calendar.js';
import type { Removals } from '#http/removals.js';
import { createCalendarHandlers } from '#http/routes/calendars.js';
import { createEventHandlers } from '#http/routes/events.js';
import { createIndexHandlers } from '#http/routes/indices.js';
import { createOptimiseHandlers } from '#http/routes/optimise.js';
import { createStudyHandlers } from '#http/routes/studies.js';
import { createRiskModelHandlers } from '#http/routes/risk-models.js';
import { createStrategyHandlers } from '#http/routes/strategies.js';
import { createCalendarViews } from '#services/indices/calendars.js';
import { createEvents } from '#services/indices/events.js';
import { createDatapointQuestions } from '#services/indices/datapoint-questions.js';
import { createPluginPreviews } from '#services/indices/plugin-previews.js';
import { createPlugins } from '#services/indices/plugins.js';
import { createPluginHandlers } from '#http/routes/plugins.js';
import { createIndexQuestions } from '#services/indices/index-questions.js';
import { createIndexSchedules } from '#services/indices/index-schedules.js';
import { createMethodologyTemplates } from '#services/indices/methodology-templates.js';
import { createIndices } from '#services/indices/indices.js';
import { requireIndex } from '#services/stored/stored-indices.js';
import { createStrategies } from '#services/indices/strategies.js';
import { createBatchJob } from '#services/personal/batch-job.js';
import { createAccountBacktestJob, createAccountBacktests } from '#services/personal/account-backtests.js';
import { createBatches } from '#services/personal/batches.js';
import { createBatchResults } from '#services/personal/batch-results.js';
import { createAccountBacktestHandlers } from '#http/routes/account-backtests.js';
import { createBatchHandlers } from '#http/routes/batches.js';
import { createOptimise } from '#services/optimisation/optimise.js';
import { createOptimisationJob } from '#services/optimisation/optimise-job.js';
import { createStudies } from '#services/optimisation/studies.js';
import { createStudyJob } from '#services/optimisation/study-job.js';
import { findRun } from '#services/stored/run-documents.js';
import { createRiskModelImports } from '#services/risk/import-risk-model.js';
import { createRiskModelJob } from '#services/risk/risk-model-job.js';
import { createRiskValidationJob } from '#services/risk/risk-validation-job.js';
import { createRiskModels } from '#services/risk/risk-models.js';
import { readMethodologies } from '../methodology-files.js';
import type { JobComponents } from './documents-of-jobs.js';

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
