import { summariseRun } from '#domain/backtest/run-summary.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { RunViewName } from '#jobs/tasks/views.js';
import { formatActionsCsv } from '#views/actions/actions-view.js';
import { createAssetView } from '#views/asset-view.js';
import { addPartContributions, createAttributionView } from '#views/attribution-view.js';
import { createClosesView } from '#views/closes-view.js';
import { estimateComparisonBytes, formatComparisonCsv, writeComparison } from '#views/compare-view.js';
import { createExposuresFile } from '#views/exposures/exposures-file.js';
import { estimateExposuresBytes, writeExposures } from '#views/exposures/exposures-json.js';
import { roundLevels, writeLevels } from '#views/levels-view.js';
import { createLimitsFile } from '#views/limits/limits-file.js';
import { createMetricsView, createPerformanceView } from '#views/performance-view.js';
import { estimateOverviewBytes, writeOverview } from '#views/run-json.js';
import { listRebalances, createRebalanceView } from '#views/rebalances-view.js';
import { createScenariosFile } from '#views/scenarios/scenarios-file.js';
import { createSummaryView } from '#views/summary-view.js';
import { useRunFile } from '../run-files/run-file.js';
import { readPlan } from '../input/stored-texts.js';
import { showActions, showProForma } from './actions.js';
import { showComparison } from './comparison.js';
import { showDividendPoints } from './dividend-points.js';
import { showExposures } from './exposures.js';
import { showFactorAttribution } from './factor-attribution.js';
import { showFactorRisk } from './factor-risk.js';
import { showGroups } from './groups.js';
import { selectMeasuredSeries } from './measured.js';
import { showReconciliation } from './reconciliation.js';
import { showRollingRisk } from './rolling-risk.js';
import { createWindow, createObjectView, type RunView } from './run-view.js';
import { showScenarios } from './scenarios.js';
import { showLimits } from './watched-limits.js';
import { showWeights } from './weights.js';

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
