/** Long and short exposure of weights, as fractions of the value. */
export interface ExposurePayload {
  /** Sum of the long weights. */
  readonly long: number;
  /** Sum of the short weights, at most 0. */
  readonly short: number;
  /** Gross exposure: the sum of the weights' magnitudes. */
  readonly gross: number;
  /** Net exposure: the sum of the weights. */
  readonly net: number;
}

/** Returns the exposure of the weights times `scale`. Returns undefined if no position is short. */
export function computeShortExposure(weights: Iterable<number>, scale = 1): ExposurePayload | undefined {
  const exposure = measureExposure(weights, scale);
  return exposure.short < 0 ? exposure : undefined;
}

export function measureExposure(weights: Iterable<number>, scale = 1): ExposurePayload {
  let long = 0;
  let short = 0;
  for (const weight of weights) {
    if (weight > 0) long += scale * weight;
    else short += scale * weight;
  }
  return { long, short, gross: long - short, net: long + short };
}
