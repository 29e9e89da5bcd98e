import { createRequire } from 'node:module';

/**
 * Problem with a limited number of long weights that sum to 1. It maximises the return, or minimises the average of the
 * worst scenarios.
 */
export interface ChoiceMilp {
  readonly names: number;
  readonly goal:
    | { readonly kind: 'return'; readonly returns: Float64Array }
    /** Simple returns by scenario, [T x N]. */
    | { readonly kind: 'tail'; readonly returns: Float64Array; readonly confidence: number };
  /**
   * Maximum number of securities that are held. `threshold` and `cap` are the smallest and the largest weight of such a
   * security.
   */
  readonly maximum: number;
  readonly threshold: number;
  readonly cap: number;
  /** Groups with the maximum weight of each group. */
  readonly groups?: readonly { readonly members: readonly number[]; readonly upper: number }[];
  /** Maximum one-way turnover from the given weights. One-way turnover is half the sum of the trades. */
  readonly turnover?: { readonly from: Float64Array; readonly limit: number };
}

interface MilpAnswer {
  /** Value of the objective, which is minimised. A return is negative. */
  readonly value: number;
  readonly weights: Float64Array;
  readonly isOptimal: boolean;
}

interface HighsModel {
  readonly options: { set(options: Record<string, unknown>): void };
  run(): void;
  getModelStatus(): number;
  getObjectiveValue(): number;
  getSolution(): { colValue: Float64Array };
  dispose(): void;
}

/** Mixed-integer solver HiGHS compiled to WebAssembly. */
export interface Highs {
  readonly constants: { readonly modelStatus: { readonly optimal: number } };
  createModel(model: object): HighsModel;
}

/** Returns HiGHS, or an error message if its package is not installed. */
export async function openHighs(): Promise<Highs | string> {
  try {
    const open = createRequire(import.meta.url)('highs') as () => Promise<Highs>; // shape as documented by the package
    return await open();
  } catch (failure) {
    return `the package highs is not installed: ${(failure as Error).message}`;
  }
}

interface Row {
  readonly entries: readonly (readonly [column: number, value: number])[];
  readonly lower: number;
  readonly upper: number;
}

interface Column {
  readonly cost: number;
  readonly lower: number;
  readonly upper: number;
  readonly isWhole: boolean;
}

/**
 * Solves a problem with HiGHS. The formulation is separate from that of the product: it has one binary variable per
 * security.
 * @param seconds maximum wall-clock time
 * @returns undefined if HiGHS found no solution
 */
export function solveByHighs(highs: Highs, milp: ChoiceMilp, seconds = Infinity): MilpAnswer | undefined {
  const { columns, rows } = formulateMilp(milp);
  const model = highs.createModel({
    numCols: columns.length,
    numRows: rows.length,
    colCost: columns.map(({ cost }) => cost),
    colLower: columns.map(({ lower }) => lower),
    colUpper: columns.map(({ upper }) => upper),
    integrality: Int32Array.from(columns, ({ isWhole }) => (isWhole ? 1 : 0)),
    rowLower: rows.map(({ lower }) => lower),
    rowUpper: rows.map(({ upper }) => upper),
    matrix: { format: 'csr', numRows: rows.length, numCols: columns.length, ...buildRowMatrix(rows) },
  });
  try {
    model.options.set({
      output_flag: false,
      mip_rel_gap: 0,
      mip_feasibility_tolerance: 1e-9,
      primal_feasibility_tolerance: 1e-9,
      dual_feasibility_tolerance: 1e-9,
      ...(Number.isFinite(seconds) ? { time_limit: seconds } : {}),
    });
    model.run();
    const value = model.getObjectiveValue();
    if (!Number.isFinite(value)) return undefined;
    const isOptimal = model.getModelStatus() === highs.constants.modelStatus.optimal;
    return { value, weights: Float64Array.from(model.getSolution().colValue.subarray(0, milp.names)), isOptimal };
  } finally {
    model.dispose();
  }
}

/** Variables in this order: weights, binary variables (1 if the security is held), trades, losses. */
function formulateMilp(milp: ChoiceMilp): { readonly columns: readonly Column[]; readonly rows: readonly Row[] } {
  const { names: n, goal, maximum, threshold, cap, groups = [], turnover } = milp;
  const columns: Column[] = [];
  const add = (count: number, cost: (i: number) => number, lower: number, upper: number, isWhole = false): number => {
    for (let i = 0; i < count; i++) columns.push({ cost: cost(i), lower, upper, isWhole });
    return columns.length - count;
  };
  const positions = Array.from({ length: n }, (_, i) => i);
  add(n, (i) => (goal.kind === 'return' ? -goal.returns[i]! : 0), 0, cap);
  const firstHeld = add(n, () => 0, 0, 1, true);
  const rows: Row[] = [
    { entries: positions.map((i) => [i, 1]), lower: 1, upper: 1 },
    { entries: positions.map((i) => [firstHeld + i, 1]), lower: 0, upper: maximum },
    ...positions.flatMap((i): Row[] => [
      {
        entries: [
          [i, 1],
          [firstHeld + i, -cap],
        ],
        lower: -Infinity,
        upper: 0,
      },
      {
        entries: [
          [i, 1],
          [firstHeld + i, -threshold],
        ],
        lower: 0,
        upper: Infinity,
      },
    ]),
    ...groups.map(({ members, upper }): Row => ({ entries: members.map((i) => [i, 1]), lower: 0, upper })),
  ];
  if (turnover !== undefined) {
    const trade = add(n, () => 0, 0, Infinity);
    const { from, limit } = turnover;
    for (const i of positions)
      rows.push(
        {
          entries: [
            [trade + i, 1],
            [i, -1],
          ],
          lower: -from[i]!,
          upper: Infinity,
        },
        {
          entries: [
            [trade + i, 1],
            [i, 1],
          ],
          lower: from[i]!,
          upper: Infinity,
        },
      );
    rows.push({ entries: positions.map((i) => [trade + i, 1]), lower: 0, upper: 2 * limit });
  }
  if (goal.kind === 'tail') {
    // Formulation of Rockafellar & Uryasev (2000): one variable for the threshold of the loss, and one variable per
    // scenario for the loss above it.
    const scenarios = goal.returns.length / n;
    const excessColumn = add(1, () => 1, -Infinity, Infinity);
    const excess = add(scenarios, () => 1 / ((1 - goal.confidence) * scenarios), 0, Infinity);
    for (let t = 0; t < scenarios; t++)
      rows.push({
        entries: [[excess + t, 1], [excessColumn, 1], ...positions.map((i) => [i, goal.returns[t * n + i]!] as const)],
        lower: 0,
        upper: Infinity,
      });
  }
  return { columns, rows };
}

function buildRowMatrix(rows: readonly Row[]) {
  const starts = [0];
  for (const { entries } of rows) starts.push(starts.at(-1)! + entries.length);
  const all = rows.flatMap(({ entries }) => entries);
  return {
    starts: Int32Array.from(starts),
    indices: Int32Array.from(all, ([column]) => column),
    values: Float64Array.from(all, ([, value]) => value),
  };
}
