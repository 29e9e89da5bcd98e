import { compareText, type Finding } from '../base/findings.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import type { ModelDate } from '../risk/model-tables.js';
import type { RiskModelDocument } from '../risk/risk-models.js';
import { listDatedTexts } from './amendments.js';
import type { ConstraintRow } from './constraint-class.js';
import type { IndexDocument } from './index-document.js';
import type { OptimisationSpec } from './optimisation.js';
import type { BacktestFields } from './runs.js';
import { listRebalanceDates } from './schedule.js';
import type { StrategyDocument } from './strategies.js';

/** Properties of a stored risk model that affect a result. */
export interface PlannedModel {
  /** Identifiers of the securities with an estimate, in the order of the matrix. */
  readonly asset_ids: readonly string[];
  /** Last day of the returns from which the model was estimated. */
  readonly observed_end: string;
  /** SHA-256 of its matrix; see `MatrixFiles`. */
  readonly covariance: string;
  /** Dates of an imported model, ascending; absent for an estimated model. */
  readonly dates?: readonly ModelDate[];
}

/** Risk models by id. */
export type PlannedModels = Readonly<Record<string, PlannedModel>>;

export function toPlannedModel({ asset_ids, observed_end, covariance, imported }: RiskModelDocument): PlannedModel {
  const plannedModel = { asset_ids, observed_end, covariance: covariance.sha256 };
  return imported === undefined
    ? plannedModel
    : { ...plannedModel, dates: imported.dates.map(({ date, lacks }) => ({ date, lacks })) };
}

export function findFirstModelDay({ observed_end: end, dates }: Pick<PlannedModel, 'observed_end' | 'dates'>): string {
  return dates?.[0]?.date ?? end;
}

/** Returns the id of the stored model in an optimisation. Returns undefined without a stored model. */
export function readStoredModelId({ risk_model: model }: Pick<OptimisationSpec, 'risk_model'>): string | undefined {
  return typeof model === 'string' ? model : undefined;
}

/** Reference of a definition to its stored risk model, with the path. */
export interface ModelUse {
  readonly modelId: string;
  readonly path: string;
}

/** Returns the reference to a stored risk model in a definition. Returns undefined without a stored model. */
function findModelUse({ derivation, pipeline }: Pick<IndexDocument, 'derivation' | 'pipeline'>): ModelUse | undefined {
  const derivationModelId = derivation === null ? undefined : readStoredModelId(derivation);
  if (derivationModelId !== undefined) return { modelId: derivationModelId, path: 'derivation.risk_model' };
  const weightingModelId = pipeline?.weighting.params['risk_model'];
  return typeof weightingModelId === 'string'
    ? { modelId: weightingModelId, path: 'pipeline.weighting.params.risk_model' }
    : undefined;
}

/** Returns the ids of the stored risk models that definitions use, ascending, each with its index and path. */
export function listUsedModels(documents: Iterable<IndexDocument>): ReadonlyMap<string, ModelUser> {
  const usedModels = new Map<string, ModelUser>();
  for (const document of [...documents].flatMap((whole) => listDatedTexts(whole).map((text) => text.document))) {
    const use = findModelUse(document);
    if (use !== undefined && !usedModels.has(use.modelId))
      usedModels.set(use.modelId, { indexId: document.id, path: use.path });
  }
  return new Map([...usedModels].toSorted(([a], [b]) => compareText(a, b)));
}

export interface ModelUser extends Pick<ModelUse, 'path'> {
  readonly indexId: string;
}

interface DatedMarket {
  readonly calendar: Calendar;
  /** First day with prices; null without a store. */
  readonly firstDay: Day | null;
  /** Returns the last day of the returns of a stored risk model. Returns undefined for an unknown model. */
  readonly observedEndOf: (modelId: string) => string | undefined;
}

/**
 * Warns if the stored risk model of a definition contains returns after its first decision. A run refuses such a model.
 */
export function checkLookAhead(document: IndexDocument, { calendar, firstDay, observedEndOf }: DatedMarket): Finding[] {
  const use = findModelUse(document);
  const end = use === undefined ? undefined : observedEndOf(use.modelId);
  if (use === undefined || end === undefined) return [];
  const { id, base_date: base, rebalance } = document;
  const { coverage } = calendar;
  const baseDay = Math.max(parseValidDay(base), firstDay ?? parseValidDay(base));
  const [first] = listRebalanceDates({ rebalance, calendar, baseDay, from: coverage.from, to: coverage.to });
  if (first === undefined || parseValidDay(end) <= first.decision) return [];
  const message = `The risk model ${use.modelId} is estimated on returns up to ${end}, after the first decision of ${id} on ${formatDay(first.decision)}. A run with decisions before ${end} is refused with LOOK_AHEAD.`;
  return [{ severity: 'warning', code: 'LOOK_AHEAD', path: use.path, message, value: use.modelId }];
}

/** All inputs of a backtest except the market. Repeating a stored plan gives bit-identical results. */
export interface BacktestPlan {
  /** Id under which the run is stored: the id of the index, or of a strategy that follows it. */
  readonly runId: string;
  /** Display name of the index or strategy. */
  readonly name: string;
  readonly indexId: string;
  /**
   * The index and every document that it refers to: parents, indices used as a universe, and a benchmark index with its
   * references.
   */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  /** Stored risk models that the documents use; absent if there are none. */
  readonly models?: PlannedModels;
  readonly request: ResolvedRequest;
  /** Terms by which a strategy follows the index; absent for a portfolio that only holds the index. */
  readonly strategy?: StrategyTerms;
}

/** Body of `POST /analytics/{index_id}/backtest`, with defaults from the strategy or the service. */
export type ResolvedRequest = Readonly<BacktestFields>;

/** Trading terms of a strategy in addition to the common terms of a backtest. */
export type StrategyTerms = Readonly<Pick<StrategyDocument, 'rebalance' | 'drift_tolerance' | 'exposure'>> & {
  /** Constraint rows under which targets are solved; absent without a constraint set. */
  readonly constraints?: readonly ConstraintRow[];
};
