import { computeFactorExposures, type AccountProgram } from '#kernels/lots/account-program.js';
import { computeDualBound, computePrices } from '#kernels/lots/dual-bound.js';
import { listRelaxedRows } from '#kernels/lots/relaxation.js';
import type { SideCertificate } from '#kernels/lots/side-certificate.js';
import type { AccountSolution } from '#kernels/lots/solve-account.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';
import type { ProvedRegion } from './search-regions.js';

const BASIS_POINT = 1e-4;
/**
 * Maximum gap between the solution and its proven bound, as a fraction of a saving. If the gap is larger, the saving is
 * not stated.
 */
const GAP_SHARE = 0.5;

/**
 * Returns an upper bound of the savings in taxes and costs per additional basis point of tracking error, as a fraction
 * of the account value. Null if the bound consists mostly of the gap of the certificate.
 *
 * Trades with variance v have taxes and costs of at least bound - aversion v - multiplier (v - limit), on each side of
 * the tax.
 */
export function computeBasisPointSaving(
  program: AccountProgram,
  { figures, certificates, bound }: SolutionParts,
): number | null {
  const { aversion, varianceLimit } = program;
  const { variance, objective } = figures;
  const widerVariance = (Math.sqrt(variance) + BASIS_POINT) ** 2;
  const costAndTax = objective - aversion * variance;
  const least = Math.min(
    ...certificates.map(({ multipliers, bound: proved }) => {
      const price = Number.isFinite(varianceLimit) ? multipliers.variance : 0;
      return proved - aversion * widerVariance - (price === 0 ? 0 : price * (widerVariance - varianceLimit));
    }),
  );
  const largestGain = costAndTax - least;
  return objective - bound > GAP_SHARE * largestGain ? null : largestGain;
}

type SolutionParts = Pick<AccountSolution, 'figures' | 'certificates' | 'bound'>;

/**
 * Returns an upper bound of the savings from trades below the minimum, as a fraction of the account value. Returns 0
 * without a minimum.
 */
export function computeMinimumTradeCost(
  regions: readonly ProvedRegion[],
  { objective }: Pick<AccountSolution['figures'], 'objective'>,
): number {
  if (!regions[0]!.program.minimumTrade.some((least) => least > 0)) return 0;
  const bounds = regions.flatMap(({ program, certificates }) => {
    const programWithoutMinimum = { ...program, minimumTrade: new Float64Array(program.n) };
    return certificates.map(
      ({ side, multipliers }) => computeDualBound(programWithoutMinimum, program.sides[side]!, multipliers).bound,
    );
  });
  return Math.max(0, objective - Math.min(...bounds));
}

/**
 * Returns the price of each exclusion. It is the decrease of the objective per unit of weight of the excluded security
 * that is kept instead of sold. If the security is not held, it is the decrease per unit bought. Exclusions without a
 * price are omitted.
 */
export function computeExclusionPrices(
  common: BatchCommon,
  { program, account, names, forced }: BuiltAccount,
  { weights, own }: { readonly weights: Float64Array; readonly own: SideCertificate },
): Record<string, number> {
  if (account.exclusions.length === 0) return {};
  const { n, k, loadings, specific, target, costRate } = program;
  const rows = listRelaxedRows(program, program.sides[own.side]!);
  const prices = computePrices(rows, own.multipliers, program.taxWeight);
  const averseness = program.aversion + own.multipliers.variance;
  const activeWeights = weights.map((weight, i) => weight - target[i]!);
  const exposures = computeFactorExposures(program, activeWeights, new Float64Array(k));
  const excludedIdentifiers = new Set(account.exclusions);
  const priceByIdentifier: Record<string, number> = {};
  for (let i = 0; i < n; i++) {
    const identifier = common.identifiers[names[i]!]!;
    if (!excludedIdentifiers.has(identifier)) continue;
    let slope = specific[i]! * activeWeights[i]!;
    for (let f = 0; f < k; f++) slope += loadings[i * k + f]! * exposures[f]!;
    slope *= 2 * averseness;
    rows.forEach(({ weights: own }, j) => void (own !== null && (slope += prices.rows[j]! * own[i]!)));
    const price = common.prices[names[i]!]!;
    const sales = forced.sales.flatMap(({ lot, shares, gain, isLong }) =>
      account.lots[lot]!.identifier === identifier
        ? [((isLong ? prices.long : prices.short) * gain) / (shares * price)]
        : [],
    );
    const keepingPrice =
      sales.length > 0 ? Math.max(...sales) + prices.cost * costRate[i]! : -prices.cost * costRate[i]!;
    if (keepingPrice - slope > 0) priceByIdentifier[identifier] = keepingPrice - slope;
  }
  return priceByIdentifier;
}
