import { createTypeSpec, type TypeSpec } from '../catalogue/type-spec.js';
import { listFunctionSpecs, type FunctionSpec } from '../datapoints/expressions/functions/catalogue.js';
import type { SelectionClass } from './selection-class.js';
import { bufferedTopN } from './selection/buffered-top-n.js';
import { categoryFilter } from './selection/category-filter.js';
import { compositeScore } from './selection/composite-score.js';
import { cumulativeCoverage } from './selection/cumulative-coverage.js';
import { dividendFilter } from './selection/dividend-filter.js';
import { excludeList } from './selection/exclude-list.js';
import { expressionFilter } from './selection/expression-filter.js';
import { fieldFilter } from './selection/field-filter.js';
import { freeFloatFilter } from './selection/free-float-filter.js';
import { groupLimit } from './selection/group-limit.js';
import { historyFilter } from './selection/history-filter.js';
import { includeList } from './selection/include-list.js';
import { liquidityFilter } from './selection/liquidity-filter.js';
import { marketCapFilter } from './selection/market-cap-filter.js';
import { membershipFilter } from './selection/membership-filter.js';
import { momentumFilter } from './selection/momentum-filter.js';
import { onePerIssuer } from './selection/one-per-issuer.js';
import { pluginFilter } from './selection/plugin-filter.js';
import { priceFilter } from './selection/price-filter.js';
import { quota } from './selection/quota.js';
import { rangeFilter } from './selection/range-filter.js';
import { seasoningFilter } from './selection/seasoning-filter.js';
import { topFraction } from './selection/top-fraction.js';
import { topN } from './selection/top-n.js';
import { volatilityFilter } from './selection/volatility-filter.js';
import type { WeightingClass } from './weighting-class.js';
import { equalRiskWeight } from './weighting/equal-risk-weight.js';
import { equalWeight } from './weighting/equal-weight.js';
import { fieldWeight } from './weighting/field-weight.js';
import { fixedWeight } from './weighting/fixed-weight.js';
import { groupWeight } from './weighting/group-weight.js';
import { hierarchicalRiskParityWeight } from './weighting/hierarchical-risk-parity-weight.js';
import { inverseVolatilityWeight } from './weighting/inverse-volatility-weight.js';
import { marketCapWeight } from './weighting/market-cap-weight.js';
import { minimumVarianceWeight } from './weighting/minimum-variance-weight.js';
import { pluginWeight } from './weighting/plugin-weight.js';
import { priceWeight } from './weighting/price-weight.js';
import { rankWeight } from './weighting/rank-weight.js';
import { tiltWeight } from './weighting/tilt-weight.js';

/** All selection classes, in the order of responses. A new class needs a file and an entry in this list. */
export const SELECTION_CLASSES: readonly SelectionClass[] = [
  expressionFilter,
  fieldFilter,
  categoryFilter,
  includeList,
  excludeList,
  topN,
  bufferedTopN,
  topFraction,
  cumulativeCoverage,
  rangeFilter,
  marketCapFilter,
  liquidityFilter,
  priceFilter,
  freeFloatFilter,
  seasoningFilter,
  historyFilter,
  volatilityFilter,
  momentumFilter,
  dividendFilter,
  onePerIssuer,
  groupLimit,
  compositeScore,
  membershipFilter,
  quota,
  pluginFilter,
];

/** All weighting classes, in the order of responses. */
export const WEIGHTING_CLASSES: readonly WeightingClass[] = [
  equalWeight,
  marketCapWeight,
  priceWeight,
  fieldWeight,
  fixedWeight,
  rankWeight,
  inverseVolatilityWeight,
  equalRiskWeight,
  minimumVarianceWeight,
  tiltWeight,
  groupWeight,
  hierarchicalRiskParityWeight,
  pluginWeight,
];

const selectionByType = new Map(SELECTION_CLASSES.map((entry) => [entry.type, entry]));
const weightingByType = new Map(WEIGHTING_CLASSES.map((entry) => [entry.type, entry]));

export const findSelectionClass = (type: string): SelectionClass | undefined => selectionByType.get(type);
export const findWeightingClass = (type: string): WeightingClass | undefined => weightingByType.get(type);

/** Returns the catalogue as served by the API. */
export function listRuleTypes(): {
  readonly selection: readonly TypeSpec[];
  readonly weighting: readonly TypeSpec[];
  readonly functions: readonly FunctionSpec[];
} {
  return {
    selection: SELECTION_CLASSES.map(createTypeSpec),
    weighting: WEIGHTING_CLASSES.map(createTypeSpec),
    functions: listFunctionSpecs(),
  };
}
