/** Bounded step of one variable, with separate slopes for a decrease and an increase. */
export interface BoundedStep {
  readonly from: number;
  readonly to: number;
  /** Slope for a decrease. */
  readonly left: number;
  /** Slope for an increase; at least `left`. */
  readonly right: number;
}

/** Symmetric positive definite 2 x 2 matrix. */
export interface TwoByTwoMatrix {
  readonly aa: number;
  readonly ab: number;
  readonly bb: number;
}

/**
 * Minimises slope times d + curvature d^2 / 2 over a bounded step. Returns Infinity if the bounds exclude every step.
 */
export function minimiseStep({ from, to, left, right }: BoundedStep, curvature: number): number {
  const minimiseOnSide = (slope: number, low: number, high: number) => {
    if (low > high) return Number.POSITIVE_INFINITY;
    if (curvature === 0) return slope === 0 ? 0 : slope * (slope > 0 ? low : high);
    const step = clampInside(-slope / curvature, low, high);
    return (slope + (curvature * step) / 2) * step;
  };
  return Math.min(minimiseOnSide(left, from, Math.min(to, 0)), minimiseOnSide(right, Math.max(from, 0), to));
}

/**
 * Minimises the slopes times (d, e) + (d, e) K (d, e)' / 2. For each combination of signs, the minimum is at the
 * stationary point if that is within the bounds, otherwise on an edge.
 * @cost at most four minimisations, one for each combination of signs
 */
export function minimiseTwoSteps(a: BoundedStep, b: BoundedStep, k: TwoByTwoMatrix): number {
  let least = Number.POSITIVE_INFINITY;
  for (const side of listSides(a)) for (const two of listSides(b)) least = Math.min(least, minimiseInBox(side, two, k));
  return least;
}

interface Side {
  readonly low: number;
  readonly high: number;
  readonly slope: number;
}

function listSides({ from, to, left, right }: BoundedStep): Side[] {
  return [
    { low: from, high: Math.min(to, 0), slope: left },
    { low: Math.max(from, 0), high: to, slope: right },
  ].filter(({ low, high }) => low <= high);
}

function minimiseInBox(a: Side, b: Side, { aa, ab, bb }: TwoByTwoMatrix): number {
  const computeValueAt = (d: number, e: number) =>
    a.slope * d + b.slope * e + (aa * d * d) / 2 + ab * d * e + (bb * e * e) / 2;
  const size = aa * bb - ab * ab;
  const [d, e] = [(ab * b.slope - bb * a.slope) / size, (ab * a.slope - aa * b.slope) / size];
  if (d >= a.low && d <= a.high && e >= b.low && e <= b.high) return computeValueAt(d, e);
  let least = Number.POSITIVE_INFINITY;
  for (const edge of [a.low, a.high])
    if (Number.isFinite(edge))
      least = Math.min(least, computeValueAt(edge, clampInside(-(b.slope + ab * edge) / bb, b.low, b.high)));
  for (const edge of [b.low, b.high])
    if (Number.isFinite(edge))
      least = Math.min(least, computeValueAt(clampInside(-(a.slope + ab * edge) / aa, a.low, a.high), edge));
  return least;
}

function clampInside(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
