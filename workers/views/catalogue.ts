import { summariseRun } from '#domain/backtest/run-summary.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { RunViewName } from '#jobs/tasks/views.js';
import { formatActionsCsv } from '#views/actions/actions-view.js';
import { createAssetView } from '#views/asset-view.js';
import { createAttributionView } from '#views/attribution-view.js';
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
import { selectMeasured } from './measured.js';
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
  attribution: { show: (asked) => computeRunView(asked, (run) => createAttributionView(run, createWindow(asked))) },
  asset: { show: (asked) => computeRunView(asked, (run) => createAssetView(run, asked.identifier)) },
  summary: { show: (asked) => computeRunView(asked, createSummaryView) },
  overview: {
    show(asked) {
      const run = useRunFile(asked.columns, (columns) => summariseRun(columns, readPlan(asked.plan)));
      return { bytes: estimateOverviewBytes(run), write: (json) => writeOverview(json, run) };
    },
  },
  metrics: { show: (asked) => computeRunView(asked, createMetricsView) },
  closes: { show: (asked) => computeRunView(asked, createClosesView) },
  performance: {
    show: (asked) =>
      computeRunView(asked, (run) => createPerformanceView(run, { ...selectMeasured(asked), ...createWindow(asked) })),
  },
  rebalances: { show: (asked) => computeRunView(asked, listRebalances) },
  rebalance: { show: (asked) => computeRunView(asked, (run) => createRebalanceView(run, asked.date)) },
  levels: {
    show(asked) {
      const levels = useRunFile(asked.columns, (run) =>
        roundLevels(run, { variant: asked.variant ?? null, ...createWindow(asked) }),
      );
      return { write: (json) => writeLevels(json, levels) };
    },
  },
  actions: {
    show: (asked) => createObjectView(showActions(asked)),
    file: (asked) =>
      encodeText(asked.table === 'constituents' ? showProForma(asked) : formatActionsCsv(showActions(asked))),
  },
  'dividend-points': { show: (asked) => createObjectView(showDividendPoints(asked)) },
  exposures: {
    async show(asked, control) {
      const exposures = await showExposures(asked, control);
      return { bytes: estimateExposuresBytes(exposures), write: (json) => writeExposures(json, exposures) };
    },
    async file(asked, control) {
      const table = asked.table ?? (asked.fields.length > 0 ? 'fields' : 'groups');
      return createExposuresFile(await showExposures(asked, control), table, formatOf(asked));
    },
  },
  limits: {
    show: (asked, control) => createObjectView(showLimits(asked, control)),
    file: (asked, control) => createLimitsFile(showLimits(asked, control), asked.table ?? 'state', formatOf(asked)),
  },
  scenarios: {
    show: (asked) => createObjectView(showScenarios(asked)),
    file: (asked) => createScenariosFile(showScenarios(asked), asked.table ?? 'scenarios', formatOf(asked)),
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
  weights: { show: async (asked, control) => createObjectView(await showWeights(asked, control)) },
  'factor-risk': { show: async (asked, control) => createObjectView(await showFactorRisk(asked, control)) },
  'factor-attribution': { show: (asked) => createObjectView(showFactorAttribution(asked)) },
  groups: { show: async (asked) => createObjectView(await showGroups(asked)) },
  reconcile: { show: async (asked, control) => createObjectView(await showReconciliation(asked, control)) },
  'rolling-risk': { show: showRollingRisk },
};

const computeRunView = ({ columns }: { readonly columns: string }, view: (run: RunColumns) => object) =>
  createObjectView(useRunFile(columns, view));

const encodeText = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Returns the format of a file. */
function formatOf<F extends string>({ format }: { readonly format?: F | 'json' | undefined }): Exclude<F, 'json'> {
  return format as Exclude<F, 'json'>; // the caller requests a file format
}
