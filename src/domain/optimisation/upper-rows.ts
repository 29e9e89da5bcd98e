import type { Program } from '#kernels/optimisation/program/program.js';

/** Weighted sum of the variables with an upper bound. */
export interface UpperRow {
  readonly coefficients: Float64Array;
  readonly upper: number;
}

/**
 * Appends upper-bound rows without a penalty to a program.
 * @cost a copy of the rows
 */
export function addUpperRows(program: Program, further: readonly UpperRow[]): Program {
  const { n, rows } = program;
  const coefficients = new Float64Array((rows.count + further.length) * n);
  coefficients.set(rows.coefficients);
  further.forEach((row, k) => coefficients.set(row.coefficients, (rows.count + k) * n));
  return {
    ...program,
    rows: {
      count: rows.count + further.length,
      coefficients,
      lower: Float64Array.of(...rows.lower, ...further.map(() => -Infinity)),
      upper: Float64Array.of(...rows.upper, ...further.map(({ upper }) => upper)),
      penalty: Float64Array.of(...rows.penalty, ...further.map(() => Infinity)),
    },
  };
}

/** Returns a program with only its first rows. */
export function selectFirstRows(program: Program, count: number): Program {
  const { coefficients, lower, upper, penalty } = program.rows;
  return {
    ...program,
    rows: {
      count,
      coefficients: coefficients.subarray(0, count * program.n),
      lower: lower.subarray(0, count),
      upper: upper.subarray(0, count),
      penalty: penalty.subarray(0, count),
    },
  };
}
