import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { summariseRun } from '#domain/backtest/summary.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import type { RunViewInput, RunViewName } from '#jobs/tasks/views.js';
import { formatActionsCsv } from '#views/actions.js';
import { createAssetView } from '#views/asset.js';
import { addPartContributions, createAttributionView } from '#views/attribution.js';
import { createClosesView } from '#views/closes.js';
import { estimateComparisonBytes, formatComparisonCsv, writeComparison } from '#views/comparison.js';
import { createExposuresFile, createLimitsFile, createScenariosFile } from '#views/exports/view-files.js';
import { estimateExposuresBytes, writeExposures } from '#views/exposures.js';
import { estimateOverviewBytes, writeOverview } from '#views/json/run.js';
import { createJsonWriter } from '#views/json/writer.js';
import { roundLevels, writeLevels } from '#views/levels.js';
import { createMetricsView, createPerformanceView, createSummaryView } from '#views/performance.js';
import { createRebalanceView, listRebalances } from '#views/rebalances.js';
import { readPlan } from '../input/indices.js';
import { copyWithHash } from '../output/hand-over.js';
import { wrapStoppable } from '../output/task-outputs.js';
import { useRunFile } from '../run-files.js';
import { showComparison, showGroups, showReconciliation, showRollingRisk } from './comparison.js';
import { showExposures } from './exposures.js';
import { showFactorAttribution, showFactorRisk, showScenarios, showWeights } from './factor-risk.js';
import { showLimits } from './limits.js';
import {
  createObjectView,
  createWindow,
  type RunView,
  selectMeasuredSeries,
  showActions,
  showDividendPoints,
  showProForma,
} from './run-view.js';

/**
 * All views of a stored run by name. Compilation fails for a route whose view has no entry; see "Adding a view" in
 * docs/CONTRIBUTING.md.
 */
export const RUN_VIEWS: { readonly [N in RunViewName]: RunView<N> } = {
  attribution: {
    show: (query) =>
      computeRunView(query, (run) => addPartContributions(createAttributionView(run, createWindow(query)))),
  },
  asset: { show: (query) => computeRunView(query, (run) => createAssetView(run, query.identifier)) },
  summary: { show: (query) => computeRunView(query, createSummaryView) },
  overview: {
    show(query) {
      const run = useRunFile(query.columns, (columns) => summariseRun(columns, readPlan(query.plan)));
      return { bytes: estimateOverviewBytes(run), write: (json) => writeOverview(json, run) };
    },
  },
  metrics: { show: (query) => computeRunView(query, createMetricsView) },
  closes: { show: (query) => computeRunView(query, createClosesView) },
  performance: {
    show: (query) =>
      computeRunView(query, (run) =>
        createPerformanceView(run, { ...selectMeasuredSeries(query), ...createWindow(query) }),
      ),
  },
  rebalances: { show: (query) => computeRunView(query, listRebalances) },
  rebalance: { show: (query) => computeRunView(query, (run) => createRebalanceView(run, query.date)) },
  levels: {
    show(query) {
      const levels = useRunFile(query.columns, (run) =>
        roundLevels(run, { variant: query.variant ?? null, ...createWindow(query) }),
      );
      return { write: (json) => writeLevels(json, levels) };
    },
  },
  actions: {
    show: (query) => createObjectView(showActions(query)),
    file: (query) =>
      encodeText(query.table === 'constituents' ? showProForma(query) : formatActionsCsv(showActions(query))),
  },
  'dividend-points': { show: (query) => createObjectView(showDividendPoints(query)) },
  exposures: {
    async show(query, control) {
      const exposures = await showExposures(query, control);
      return { bytes: estimateExposuresBytes(exposures), write: (json) => writeExposures(json, exposures) };
    },
    async file(query, control) {
      const table = query.table ?? (query.fields.length > 0 ? 'fields' : 'groups');
      return createExposuresFile(await showExposures(query, control), table, getFormat(query));
    },
  },
  limits: {
    show: (query, control) => createObjectView(showLimits(query, control)),
    file: (query, control) => createLimitsFile(showLimits(query, control), query.table ?? 'state', getFormat(query)),
  },
  scenarios: {
    show: (query) => createObjectView(showScenarios(query)),
    file: (query) => createScenariosFile(showScenarios(query), query.table ?? 'scenarios', getFormat(query)),
  },
  compare: {
    async show(compareViewInput) {
      const comparison = await showComparison(compareViewInput);
      return {
        bytes: estimateComparisonBytes(comparison),
        write: (json) => writeComparison(json, comparison, compareViewInput),
      };
    },
    file: async (compareViewInput) => encodeText(formatComparisonCsv(await showComparison(compareViewInput))),
  },
  weights: { show: async (query, control) => createObjectView(await showWeights(query, control)) },
  'factor-risk': { show: async (query, control) => createObjectView(await showFactorRisk(query, control)) },
  'total-risk': {
    show: async (query, control) => createObjectView(await showFactorRisk({ ...query, benchmark: null }, control)),
  },
  'factor-attribution': { show: (query) => createObjectView(showFactorAttribution(query)) },
  groups: { show: async (query) => createObjectView(await showGroups(query)) },
  reconcile: { show: async (query, control) => createObjectView(await showReconciliation(query, control)) },
  'rolling-risk': { show: showRollingRisk },
};

const computeRunView = ({ columns }: { readonly columns: string }, view: (run: RunColumns) => object) =>
  createObjectView(useRunFile(columns, view));

const encodeText = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Returns the format of a file. */
function getFormat<F extends string>({ format }: { readonly format?: F | 'json' | undefined }): Exclude<F, 'json'> {
  return format as Exclude<F, 'json'>; // the caller requests a file format
}

/** Computes a view of stored runs from ranges of their columns, and writes it as bytes. */
export const viewRun: Task<'view-run'> = async (input, control) => {
  const view = RUN_VIEWS[input.view] as RunView<RunViewName>; // the catalogue has the view under the name in the input
  return copyWithHash(await computeBytes(view, input, control));
};

async function computeBytes(
  view: RunView<RunViewName>,
  input: RunViewInput,
  control: TaskControl,
): Promise<Uint8Array> {
  if (view.file !== undefined && (input.format ?? 'json') !== 'json') return view.file(input, control);
  const { bytes, write } = await view.show(input, control);
  const json = wrapStoppable(createJsonWriter(bytes), control);
  write(json);
  return json.bytes();
}
