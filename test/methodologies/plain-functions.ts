/** Returns the values that are not missing. In all functions of this file, missing values are NaN. */

const listKnownValues = (values: readonly number[]): number[] => values.filter((value) => !Number.isNaN(value));

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
export const computeMean = (values: readonly number[]): number => sum(values) / values.length;

export function sampleDeviation(values: readonly number[]): number {
  const centre = computeMean(values);
  return Math.sqrt(sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1));
}

/** Returns the distance of each value from the mean, in population standard deviations. */
export function computeZScores(values: readonly number[]): number[] {
  const knownValues = listKnownValues(values);
  const centre = computeMean(knownValues);
  const deviation = Math.sqrt(sum(knownValues.map((value) => (value - centre) ** 2)) / knownValues.length);
  return values.map((value) => (deviation === 0 && !Number.isNaN(value) ? 0 : (value - centre) / deviation));
}

/** Returns a quantile by linear interpolation between the order statistics. */
export function computeQuantile(values: readonly number[], share: number): number {
  const sortedValues = listKnownValues(values).toSorted((a, b) => a - b);
  const position = share * (sortedValues.length - 1);
  const lowerPosition = Math.floor(position);
  const upperPosition = Math.min(sortedValues.length - 1, lowerPosition + 1);
  return (
    sortedValues[lowerPosition]! +
    (position - lowerPosition) * (sortedValues[upperPosition]! - sortedValues[lowerPosition]!)
  );
}

/** Returns the values limited to the range between two of their percentiles. */
export function winsoriseValues(values: readonly number[], low: number, high: number): number[] {
  const [lower, upper] = [computeQuantile(values, low), computeQuantile(values, high)];
  return values.map((value) => Math.min(upper, Math.max(lower, value)));
}

/** Returns for each value the share of the other values that are not larger. The share of a single value is 1. */
export function listPercentiles(values: readonly number[]): number[] {
  const count = listKnownValues(values).length;
  return values.map((value) =>
    Number.isNaN(value)
      ? NaN
      : count === 1
        ? 1
        : (count - 1 - values.filter((other) => other > value).length) / (count - 1),
  );
}

export function applyByGroup(
  values: readonly number[],
  groups: readonly unknown[],
  of: (values: readonly number[]) => readonly number[],
): number[] {
  const result = values.map(() => NaN);
  for (const group of new Set(groups)) {
    const positions = groups.flatMap((otherGroup, i) => (otherGroup === group ? [i] : []));
    const match = of(positions.map((i) => values[i]!));
    positions.forEach((i, k) => (result[i] = match[k]!));
  }
  return result;
}

/** Returns the score of a z-score: 1 + z, or 1 / (1 - z) if z is negative. */
export const computeScore = (z: number): number => (z >= 0 ? 1 + z : 1 / (1 - z));
export const clampSymmetric = (value: number, limit: number): number => Math.min(limit, Math.max(-limit, value));

/** Computes the cumulative normal distribution by its power series. */
export function computeNormalProbability(x: number): number {
  let term = x;
  let total = x;
  for (let k = 1; k < 200 && Math.abs(term) > 1e-18; k++) {
    term *= (x * x) / (2 * k + 1);
    total += term;
  }
  return 0.5 + (total * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** Returns the securities that have a value, largest first. Securities with equal values keep their order. */
export function rankSecurities(securities: readonly number[], computeValue: (security: number) => number): number[] {
  return securities
    .filter((security) => !Number.isNaN(computeValue(security)))
    .toSorted((a, b) => computeValue(b) - computeValue(a) || a - b);
}

interface Buffer {
  readonly count: number;
  readonly enter: number;
  readonly exit: number;
}

/**
 * Selects the best securities up to the entry rank, then members up to the exit rank, and then the best of the
 * remaining securities.
 */
export function selectBuffered(
  order: readonly number[],
  members: ReadonlySet<number> | null,
  { count, enter, exit }: Buffer,
): number[] {
  if (members === null) return order.slice(0, count);
  const keptSecurities = new Set(order.slice(0, enter));
  for (const security of order.slice(enter, exit))
    if (keptSecurities.size < count && members.has(security)) keptSecurities.add(security);
  for (const security of order) if (keptSecurities.size < count) keptSecurities.add(security);
  return order.filter((security) => keptSecurities.has(security));
}

interface Band {
  readonly lower: number;
  readonly upper: number;
  readonly target: number;
}

export function selectCoverage(
  order: readonly number[],
  computeSize: (security: number) => number,
  members: ReadonlySet<number> | null,
  { lower, upper, target }: Band,
): number[] {
  const total = sum(order.map(computeSize));
  const isCovered = (share: number): number => {
    let coveredCount = 0;
    let count = 0;
    while (count < order.length && coveredCount < share * total * (1 - 1e-12))
      coveredCount += computeSize(order[count++]!);
    return count;
  };
  const keptSecurities = new Set(order.slice(0, isCovered(lower)));
  for (const security of order.slice(0, isCovered(upper))) if (members?.has(security)) keptSecurities.add(security);
  let coveredSize = sum([...keptSecurities].map(computeSize));
  for (const security of order) {
    if (coveredSize >= target * total * (1 - 1e-12)) break;
    if (keptSecurities.has(security)) continue;
    keptSecurities.add(security);
    coveredSize += computeSize(security);
  }
  return order.filter((security) => keptSecurities.has(security));
}

export type Weights = Map<number, number>;

/** Returns weights in proportion to sizes. Securities without a positive size are left out. */
export function computeProportional(securities: readonly number[], computeSize: (security: number) => number): Weights {
  const sizedSecurities = securities.filter((security) => computeSize(security) > 0);
  const total = sum(sizedSecurities.map(computeSize));
  return new Map(sizedSecurities.map((security) => [security, computeSize(security) / total]));
}

/**
 * Reduces weights to a cap and distributes the excess to the other weights in proportion. Repeats this until no weight
 * exceeds the cap.
 */
export function capWeights(weights: Weights, cap: number): Weights {
  const feasibleCap = Math.max(cap, 1 / weights.size);
  const atCap = new Set<number>();
  for (;;) {
    const uncappedEntries = [...weights].filter(([security]) => !atCap.has(security));
    const scale = (1 - atCap.size * feasibleCap) / sum(uncappedEntries.map(([, weight]) => weight));
    const largeEntries = uncappedEntries.filter(([, weight]) => weight * scale > feasibleCap + 1e-13);
    if (largeEntries.length === 0)
      return new Map(
        [...weights].map(([security, weight]) => [security, atCap.has(security) ? feasibleCap : weight * scale]),
      );
    for (const [security] of largeEntries) atCap.add(security);
  }
}

function findRoot(of: (x: number) => number, wanted: number): number {
  let [low, high] = [0, 1];
  while (of(high) < wanted && high < 1e15) high *= 2;
  for (let round = 0; round < 200; round++) {
    const middle = (low + high) / 2;
    if (of(middle) < wanted) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Limits each weight to its own cap. Weights below their cap keep their proportions. */
export function capEach(weights: Weights, getCap: (security: number) => number): Weights {
  const entries = [...weights];
  const sumCapped = (scale: number) => sum(entries.map(([i, weight]) => Math.min(getCap(i), weight * scale)));
  const scale = findRoot(sumCapped, 1);
  return new Map(entries.map(([i, weight]) => [i, Math.min(getCap(i), weight * scale)]));
}

/**
 * Limits each weight and each group to a cap. Weights keep their proportions within a group, and among the groups below
 * their cap, as far as the cap of single weights allows.
 */
export function capByGroup(
  weights: Weights,
  getGroup: (security: number) => unknown,
  { cap, groupCap }: { readonly cap: number; readonly groupCap: number },
): Weights {
  const singleCap = Math.max(cap, 1 / weights.size);
  const entries = [...weights];
  const sumCapped = (members: typeof entries, scale: number) =>
    sum(members.map(([, w]) => Math.min(singleCap, w * scale)));
  const groups = new Map<unknown, typeof entries>();
  for (const entry of entries) groups.set(getGroup(entry[0]), [...(groups.get(getGroup(entry[0])) ?? []), entry]);
  const full = new Set<unknown>();
  for (;;) {
    const uncappedEntries = entries.filter(([security]) => !full.has(getGroup(security)));
    const scale = findRoot((x) => sumCapped(uncappedEntries, x), 1 - full.size * groupCap);
    const overweightGroups = [...groups].filter(
      ([group, members]) => !full.has(group) && sumCapped(members, scale) > groupCap + 1e-13,
    );
    if (overweightGroups.length > 0) {
      for (const [group] of overweightGroups) full.add(group);
      continue;
    }
    const scales = new Map(
      [...groups].map(([group, members]) => [
        group,
        full.has(group) ? findRoot((x) => sumCapped(members, x), groupCap) : scale,
      ]),
    );
    return new Map(
      entries.map(([security, w]) => [security, Math.min(singleCap, w * scales.get(getGroup(security))!)]),
    );
  }
}

/** Computes weights that contribute equally to the variance. It uses cyclical coordinate descent. */
export function computeEqualRiskWeights(covariance: readonly (readonly number[])[]): number[] {
  const n = covariance.length;
  const x = covariance.map((row, i) => 1 / Math.sqrt(row[i]!));
  for (let round = 0; round < 5000; round++) {
    let movement = 0;
    for (let i = 0; i < n; i++) {
      const variance = covariance[i]![i]!;
      const covarianceSum = sum(x.map((value, j) => (j === i ? 0 : covariance[i]![j]! * value)));
      const next = (-covarianceSum + Math.sqrt(covarianceSum ** 2 + (4 * variance) / n)) / (2 * variance);
      movement = Math.max(movement, Math.abs(next - x[i]!) / next);
      x[i] = next;
    }
    if (movement < 1e-15) break;
  }
  const total = sum(x);
  return x.map((value) => value / total);
}

/** Computes the sample covariance of returns, [observations][assets]. */
export function sampleCovariance(returns: readonly (readonly number[])[]): number[][] {
  const n = returns[0]!.length;
  const centres = Array.from({ length: n }, (_, i) => computeMean(returns.map((row) => row[i]!)));
  return centres.map((a, i) =>
    centres.map((b, j) => sum(returns.map((row) => (row[i]! - a) * (row[j]! - b))) / (returns.length - 1)),
  );
}

/**
 * Computes long-only weights with the maximum diversification ratio. They are the minimum-variance weights of the
 * correlations, divided by the volatilities. The method uses an active set: it solves for the held securities, drops
 * securities with negative weights, and adds securities that would lower the variance.
 */
export function solveMostDiversified(covariance: readonly (readonly number[])[]): number[] {
  const deviations = covariance.map((row, i) => Math.sqrt(row[i]!));
  const correlation = covariance.map((row, i) => row.map((value, j) => value / (deviations[i]! * deviations[j]!)));
  const all = correlation.map((_, i) => i);
  let heldPositions = all;
  for (let round = 0; round < 10 * all.length; round++) {
    const solution = solve(
      heldPositions.map((i) => heldPositions.map((j) => correlation[i]![j]!)),
      heldPositions.map(() => 1),
    );
    const lowest = Math.min(...solution);
    if (lowest < 0) {
      heldPositions = heldPositions.filter((_, k) => solution[k]! > lowest);
      continue;
    }
    const computeSlope = (i: number): number =>
      sum(heldPositions.map((j, k) => correlation[i]![j]! * solution[k]!)) - 1;
    const missing = all
      .filter((i) => !heldPositions.includes(i))
      .toSorted((a, b) => computeSlope(a) - computeSlope(b))[0];
    if (missing === undefined || computeSlope(missing) >= -1e-12) {
      const weights = all.map((i) =>
        heldPositions.includes(i) ? solution[heldPositions.indexOf(i)]! / deviations[i]! : 0,
      );
      return weights.map((weight) => weight / sum(weights));
    }
    heldPositions = [...heldPositions, missing].toSorted((a, b) => a - b);
  }
  throw new Error('the active set does not settle');
}

/** Largest pivot that counts as rounding. If the pivot is not larger, the equations do not determine its unknown. */
const NO_PIVOT = 1e-11;

/**
 * Solves a system of linear equations by elimination with pivoting. Unknowns that the equations do not determine are
 * zero.
 */
export function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => Float64Array.from([...row, right[i]!]));
  const n = rows.length;
  const pivots: { readonly row: Float64Array; readonly column: number }[] = [];
  for (let column = 0; column < n; column++) {
    const rank = pivots.length;
    let best = rank;
    for (let i = rank; i < n; i++) if (Math.abs(rows[i]![column]!) > Math.abs(rows[best]![column]!)) best = i;
    if (best === n || Math.abs(rows[best]![column]!) < NO_PIVOT) continue;
    [rows[rank], rows[best]] = [rows[best]!, rows[rank]!];
    const row = rows[rank]!;
    pivots.push({ row, column });
    for (let i = rank + 1; i < n; i++) {
      const factor = rows[i]![column]! / row[column]!;
      if (factor !== 0) for (let j = column; j <= n; j++) rows[i]![j]! -= factor * row[j]!;
    }
  }
  const x = right.map(() => 0);
  for (const { row, column } of pivots.toReversed()) {
    let remainder = row[n]!;
    for (let j = column + 1; j < n; j++) remainder -= row[j]! * x[j]!;
    x[column] = remainder / row[column]!;
  }
  return x;
}
