/** Argument and value of a function. */
export interface MaximumPoint {
  readonly at: number;
  readonly value: number;
}

export interface MaximumBracket {
  readonly low: MaximumPoint;
  /** Best point so far, between the ends or at one of them. */
  readonly best: MaximumPoint;
  readonly high: MaximumPoint;
}

/** Smaller fraction of a golden section. The search continues in the larger part. */
const GOLDEN_SECTION = (3 - Math.sqrt(5)) / 2;

/** Distance of two points that counts as rounding, relative to 1 + the magnitude of the point. */
const POINT_TOLERANCE = 1e-9;

/** Maximum number of evaluations; six to ten are usual. */
const STEPS_MAX = 40;

/**
 * Searches for the maximum of a function that first rises and then falls. The caller records the best point in
 * `valueOf`. The next point is the vertex of the parabola through the three best points, or a golden section if that
 * fails.
 * @param valueOf returns the value at a point; -Infinity if there is none
 * @source Brent (1973), Algorithms for Minimization without Derivatives, chapter 5.
 */
export function findMaximum(valueOf: (point: number) => number, { low, best, high }: MaximumBracket): void {
  let [from, to] = [low.at, high.at];
  let first = best;
  let [second, third] = low.value > high.value ? [low, high] : [high, low];
  let [step, before] = [to - from, to - from];
  for (let k = 0; k < STEPS_MAX; k++) {
    const middle = (from + to) / 2;
    const close = POINT_TOLERANCE * (1 + Math.abs(first.at));
    if (Math.abs(first.at - middle) <= 2 * close - (to - from) / 2) return;
    const top = findVertex(first, second, third);
    const isUseful = top > from && top < to && Math.abs(top - first.at) < Math.abs(before) / 2;
    before = isUseful ? step : first.at < middle ? to - first.at : from - first.at;
    step = isUseful ? top - first.at : GOLDEN_SECTION * before;
    if (isUseful && (top - from < 2 * close || to - top < 2 * close)) step = Math.sign(middle - first.at) * close;
    const position = first.at + (Math.abs(step) >= close ? step : Math.sign(step) * close);
    const trialPoint = { at: position, value: valueOf(position) };
    if (trialPoint.value >= first.value) {
      if (position >= first.at) from = first.at;
      else to = first.at;
      [first, second, third] = [trialPoint, first, second];
    } else {
      if (position < first.at) from = position;
      else to = position;
      if (trialPoint.value >= second.value) [second, third] = [trialPoint, second];
      else if (trialPoint.value >= third.value) third = trialPoint;
    }
  }
}

/** Returns the vertex of the parabola through three points. Returns NaN if they are on a line. */
function findVertex(a: MaximumPoint, b: MaximumPoint, c: MaximumPoint): number {
  const left = (a.at - b.at) * (a.value - c.value);
  const right = (a.at - c.at) * (a.value - b.value);
  const bend = right - left;
  return bend === 0 ? Number.NaN : a.at - ((a.at - c.at) * right - (a.at - b.at) * left) / (2 * bend);
}
