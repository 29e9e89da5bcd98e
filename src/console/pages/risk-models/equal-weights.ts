import type { RiskModelView } from '#clients/typescript/divisor.js';

/** Returns the annual volatility of a portfolio with equal weights in all securities, by the covariance of a model. */
export function computeEqualWeightVolatility(
  { asset_ids: ids, covariance }: RiskModelView,
  securities: readonly string[],
) {
  const places = securities.map((id) => ids.indexOf(id));
  const variance = places.reduce(
    (sum, row) => sum + places.reduce((part, column) => part + Number(covariance.data[row]?.[column] ?? 0), 0),
    0,
  );
  return Math.sqrt(Math.max(0, variance)) / securities.length;
}
