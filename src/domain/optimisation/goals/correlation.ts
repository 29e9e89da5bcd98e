import { computeMetricDiagonal, type Metric } from '#kernels/optimisation/program/metric.js';

/** Correlation metrics by covariance metric. They are cached, so that solvers receive an identical object. */
const correlationCache = new WeakMap<Metric, Metric>();

/**
 * Returns the correlations of a covariance in the covariance's form; zero for a security without variance.
 * @cost n^2, or n k for loadings
 */
export function computeCorrelation(metric: Metric): Metric {
  const result = correlationCache.get(metric) ?? scaleToCorrelation(metric);
  correlationCache.set(metric, result);
  return result;
}

function scaleToCorrelation(metric: Metric): Metric {
  const inverse = computeMetricDiagonal(metric).map((variance) => (variance > 0 ? 1 / Math.sqrt(variance) : 0));
  if (metric.form === 'factor') {
    const { factors: k } = metric;
    return {
      ...metric,
      loadings: metric.loadings.map((value, e) => value * inverse[Math.floor(e / k)]!),
      specific: metric.specific.map((value, i) => value * inverse[i]! * inverse[i]!),
    };
  }
  const { n } = metric;
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) matrix[i * n + j] = metric.matrix[i * n + j]! * inverse[i]! * inverse[j]!;
    if (inverse[i] !== 0) matrix[i * n + i] = 1;
  }
  return { form: 'dense', n, matrix };
}
