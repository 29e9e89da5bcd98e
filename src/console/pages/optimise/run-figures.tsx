import type { OptimisationRunResult } from '#clients/typescript/divisor.js';
import { Metrics, type Metric } from '../../components/metrics.js';
import { formatCount, formatFigure, formatPercent } from '../../words/numbers.js';
import { isObject } from '../../words/paths.js';
import { createComparedTiles, type Measure } from './measures.js';
import type { Terms } from './terms.js';

interface RunFiguresProps {
  readonly run: OptimisationRunResult;
  readonly measure: Measure;
  /** Terms of the request. */
  readonly terms: Terms;
}

/** Renders the figures of an optimisation, the data of its risk model, and how good its solution is. */
export function RunFigures({ run, measure, terms }: RunFiguresProps) {
  const aversion = getRiskAversion(terms);
  const tiles = createComparedTiles({ before: run.before, after: run, exceeded: run.exceeded ?? [] }, measure);
  const addAversion = (tile: Metric): Metric =>
    aversion === null
      ? tile
      : { ...tile, note: [tile.note, `risk aversion ${formatFigure(aversion)}`].filter(Boolean).join('; ') };
  return (
    <Metrics
      label="Figures of the optimisation"
      metrics={[
        ...tiles.slice(0, 1).map(addAversion),
        ...tiles.slice(1),
        ...(run.costs == null
          ? []
          : [{ term: 'Costs', value: formatPercent(run.costs, 4), help: 'Cost of the trades as a fraction of value' }]),
        { term: 'Holdings', value: formatCount(run.holdings), ...createShortNote(run) },
        { term: 'Rebalance', value: run.rebalance_date, note: formatRiskNote(run), help: riskDates(run) },
        createSolutionTile(run),
      ]}
    />
  );
}

/** Returns the risk aversion of the objective of a request; null if the objective has none. */
function getRiskAversion({ objective }: Terms): number | null {
  const aversion = isObject(objective) ? objective['risk_aversion'] : undefined;
  return typeof aversion === 'number' ? aversion : null;
}

/** Gap below which a selection of securities counts as optimal. A smaller gap would be shown as zero. */
const GAP_SHOWN_MIN = 5e-5;

/** Returns how good the solution is: optimal, or at most this far from the best selection of securities. */
function createSolutionTile({ converged, heuristic, gap, solver_message: message }: OptimisationRunResult) {
  if (!converged) return { term: 'Solution', value: 'not proven', kind: 'down', note: message };
  if (heuristic && gap !== null && gap >= GAP_SHOWN_MIN)
    return { term: 'Solution', value: `gap ${formatPercent(gap)}`, note: 'from the bound over all selections' };
  return { term: 'Solution', value: 'optimal', help: message };
}

/** Returns a note with the number of long and short positions, if some positions are short. */
function createShortNote({ holdings, gross_holdings: all }: OptimisationRunResult) {
  return all === undefined || all === holdings ? {} : { note: `${formatCount(all)} positions, long and short` };
}

/** Describes the risk model. */
function formatRiskNote({ risk_model: model }: OptimisationRunResult): string {
  if (model === undefined) return 'risk from past returns';
  const by = model.model_id === null ? model.estimator : `the model ${model.model_id}`;
  return `risk by ${by}, ${formatCount(model.sessions)} returns`;
}

/** Describes the dates of the returns of the risk model. */
const riskDates = ({ risk_model: model, start, end }: OptimisationRunResult): string =>
  `Risk from returns from ${model?.start ?? start} to ${model?.end ?? end}`;
