import type { AttributionModel } from '#domain/risk/factors/factor-attribution.js';
import type { FactorEstimator } from '#domain/risk/factor-model.js';
import type { FactorModelName } from '#domain/risk/factor-risk.js';
import type { AskedMeasure } from '../stored/used-models.js';

export interface DateWindow {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

export interface WeightsQuery extends AskedMeasure {
  readonly as_of?: string | undefined;
  readonly benchmark?: string | undefined;
}

export interface GroupsQuery extends DateWindow {
  /** Reference column. */
  readonly by: string;
  readonly benchmark?: string | undefined;
}

export interface FactorAttributionQuery extends DateWindow {
  readonly model: AttributionModel;
}

export interface FactorRiskQuery {
  readonly as_of?: string | undefined;
  readonly benchmark: string;
  readonly model?: FactorModelName | undefined;
  readonly risk_model?: string | undefined;
  readonly risk_estimator?: FactorEstimator | undefined;
  readonly factors?: number | undefined;
}
