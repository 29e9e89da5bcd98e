import { readdirSync, readFileSync } from 'node:fs';
import { createDenseMetric, createFactorMetric, type Metric } from '#kernels/optimisation/program/metric.js';
import type { Kink, Norm, Program } from '#kernels/optimisation/program/program.js';

/** A case of test/golden/tracking. The README in that folder describes it. */
export interface TrackingCase {
  readonly id: string;
  readonly title: string;
  readonly N: number;
  readonly covariance: { readonly form: string; readonly data?: string; readonly B?: string; readonly d?: string };
  readonly benchmark: { readonly data: string };
  readonly objective: { readonly type: string; readonly score?: number[] };
  readonly constraints: readonly TrackingRow[];
  readonly expected: {
    readonly status: string;
    readonly unique: boolean;
    readonly tracking_variance: number;
    readonly weights: { readonly data: string };
    readonly score?: number;
    readonly duals: { readonly rows: Record<string, number>; readonly turnover_L1: number };
    readonly elastic: { readonly minimum_total_relaxation: number; readonly irreducible_conflict: string[] };
    readonly holdings: number;
  };
}

export interface TrackingRow {
  readonly id: string;
  readonly type: string;
  readonly sum?: number;
  readonly names?: number[];
  readonly members?: number[];
  readonly min?: number | null;
  readonly max?: number | null;
  readonly relative_to_benchmark?: boolean;
  readonly exposure?: number[];
  readonly max_one_way?: number;
  readonly reference?: number[];
}

const FOLDER = new URL('../../../../test/golden/tracking/', import.meta.url);

export const trackingCases: readonly TrackingCase[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .toSorted()
  .map((name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as TrackingCase);

export function createDoubles(base64: string): Float64Array {
  const bytes = Buffer.from(base64, 'base64');
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readDoubleLE(8 * i));
}

export function createCovariance({ N, covariance }: TrackingCase): Metric {
  if (covariance.form.startsWith('factor'))
    return createFactorMetric(createDoubles(covariance.B!), createDoubles(covariance.d!));
  const packedValues = createDoubles(covariance.data!);
  const matrix = new Float64Array(N * N);
  for (let i = 0, position = 0; i < N; i++)
    for (let j = 0; j <= i; j++, position++) matrix[i * N + j] = matrix[j * N + i] = packedValues[position]!;
  return createDenseMetric(matrix, N);
}

/** Returns the case as a programme with the objective (w - b)' S (w - b). Also returns the ids of its rows. */
export function createTrackingProgram(problem: TrackingCase): { program: Program; rowIds: string[] } {
  const { N } = problem;
  const benchmark = createDoubles(problem.benchmark.data);
  const lower = new Float64Array(N).fill(Number.NEGATIVE_INFINITY);
  const upper = new Float64Array(N).fill(Number.POSITIVE_INFINITY);
  const rows: { id: string; coefficients: Float64Array; lower: number; upper: number }[] = [];
  const kinks: Kink[] = [];
  const norms: Norm[] = [];
  for (const row of problem.constraints) {
    const lowerBound = row.min ?? Number.NEGATIVE_INFINITY;
    const upperBound = row.max ?? Number.POSITIVE_INFINITY;
    const addRow = (coefficients: Float64Array) => {
      const shift =
        row.relative_to_benchmark === true ? coefficients.reduce((sum, value, i) => sum + value * benchmark[i]!, 0) : 0;
      rows.push({ id: row.id, coefficients, lower: lowerBound + shift, upper: upperBound + shift });
    };
    if (row.type === 'full_investment')
      rows.push({ id: row.id, coefficients: new Float64Array(N).fill(1), lower: row.sum!, upper: row.sum! });
    else if (row.type === 'long_only') for (let i = 0; i < N; i++) lower[i] = Math.max(lower[i]!, 0);
    else if (row.type === 'exclusion') for (const i of row.names!) upper[i] = lower[i] = 0;
    else if (row.type === 'weight_bounds') {
      for (let i = 0; i < N; i++) {
        lower[i] = Math.max(lower[i]!, lowerBound);
        upper[i] = Math.min(upper[i]!, upperBound);
      }
    } else if (row.type === 'group_bounds') {
      const members = new Set(row.members);
      addRow(Float64Array.from({ length: N }, (_, i) => (members.has(i) ? 1 : 0)));
    } else if (row.type === 'exposure_bounds') addRow(Float64Array.from(row.exposure!));
    else if (row.type === 'turnover') {
      kinks.push({
        at: Float64Array.from(row.reference!),
        left: new Float64Array(N).fill(-1),
        right: new Float64Array(N).fill(1),
        limit: 2 * row.max_one_way!,
        penalty: Infinity,
      });
    } else if (row.type === 'tracking_error') norms.push({ metric: 'metric', centre: benchmark, radius: row.max! });
    else if (row.type !== 'max_holdings')
      throw new Error(`unknown row type ${row.type}: ${JSON.stringify(row).slice(0, 200)}`);
  }
  const maximise = problem.objective.type === 'max_linear_score';
  const program: Program = {
    n: N,
    metric: createCovariance(problem),
    curvature: maximise ? 0 : 2,
    ridge: 0,
    centre: benchmark,
    linear: Float64Array.from({ length: N }, (_, i) => (maximise ? -problem.objective.score![i]! : 0)),
    lower,
    upper,
    rows: {
      count: rows.length,
      coefficients: Float64Array.from(rows.flatMap(({ coefficients }) => [...coefficients])),
      lower: Float64Array.from(rows, (row) => row.lower),
      upper: Float64Array.from(rows, (row) => row.upper),
      penalty: new Float64Array(rows.length).fill(Infinity),
    },
    kinks,
    norms,
  };
  return { program, rowIds: rows.map(({ id }) => id) };
}
