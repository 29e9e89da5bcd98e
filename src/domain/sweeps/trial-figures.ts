import type { FoldRanking } from './rankings.js';
import { hasGroup } from './splits.js';
import { createEmptyStretch, joinStretch, computeMetric, createStretch, type Stretch } from './stretch.js';

/** Numbers of sessions that a sample excludes next to a test. */
export interface Trim {
  /** Number of sessions at the end of a group, before a test. */
  readonly before: number;
  /** Number of sessions at the start of a group, after a test. */
  readonly after: number;
}

/**
 * Figures of trials by group in one block of memory. There are figures for the whole group, and for the group without
 * the sessions next to a test.
 */
export interface TrialFigures {
  /** Adds a trial. @param returns returns of all groups */
  add(trial: number, returns: Float64Array): void;
  /** Returns a metric of a trial over some groups. */
  metric(trial: number, over: FiguresRange): number;
}

export interface FiguresRange {
  /** Bit mask of the groups to join. */
  readonly mask: number;
  /** Bit mask of the test groups. Sessions next to these groups are excluded. */
  readonly test: number;
  readonly metric: FoldRanking;
  /** Number of sessions per year. */
  readonly periods: number;
}

export interface FigureTerms {
  readonly groups: number;
  /** Number of returns per group. */
  readonly length: number;
  readonly left: Trim;
}

const TRIMMED_HEAD = 1;
const TRIMMED_TAIL = 2;
const TRIMS = [0, TRIMMED_HEAD, TRIMMED_TAIL, TRIMMED_HEAD | TRIMMED_TAIL] as const;
const FIGURES = ['count', 'sum', 'squares', 'growth', 'high', 'low', 'drawdown'] as const satisfies (keyof Stretch)[];
const STRIDE = FIGURES.length;

/** Returns the number of bytes for the figures of a trial. */
export const computeTrialFigureBytes = (groupCount: number): number => 8 * (1 + groupCount * TRIMS.length * STRIDE);

export function createTrialFigures(trialCount: number, { groups, length, left }: FigureTerms): TrialFigures {
  const means = new Float64Array(trialCount);
  const values = new Float64Array(trialCount * groups * TRIMS.length * STRIDE);
  const findOffset = (trial: number, group: number, trims: number): number =>
    ((trial * groups + group) * TRIMS.length + trims) * STRIDE;
  const [stretch, later] = [createEmptyStretch(), createEmptyStretch()];
  const emptyStretch = createEmptyStretch();

  return {
    add(trial, returns) {
      let total = 0;
      for (const value of returns) total += value;
      const mean = total / returns.length;
      means[trial] = mean;
      for (let group = 0; group < groups; group++)
        for (const trims of TRIMS) {
          const stretch = createStretch(returns, {
            from: group * length + ((trims & TRIMMED_HEAD) === 0 ? 0 : left.after),
            to: (group + 1) * length - ((trims & TRIMMED_TAIL) === 0 ? 0 : left.before),
            mean,
          });
          FIGURES.forEach((figure, i) => (values[findOffset(trial, group, trims) + i] = stretch[figure]));
        }
    },
    metric(trial, { mask, test, metric, periods }) {
      Object.assign(stretch, emptyStretch);
      for (let group = 0; group < groups; group++) {
        if (!hasGroup(mask, group)) continue;
        const head = group > 0 && hasGroup(test, group - 1) ? TRIMMED_HEAD : 0;
        const tail = group + 1 < groups && hasGroup(test, group + 1) ? TRIMMED_TAIL : 0;
        readInto(later, values, findOffset(trial, group, head | tail));
        joinStretch(stretch, later);
      }
      return computeMetric(stretch, { mean: means[trial]!, metric, periods });
    },
  };
}

/** Reads values in the order of `FIGURES`. */
function readInto(stretch: Stretch, values: Float64Array, position: number): void {
  stretch.count = values[position]!;
  stretch.sum = values[position + 1]!;
  stretch.squares = values[position + 2]!;
  stretch.growth = values[position + 3]!;
  stretch.high = values[position + 4]!;
  stretch.low = values[position + 5]!;
  stretch.drawdown = values[position + 6]!;
}
