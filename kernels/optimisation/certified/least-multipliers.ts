import { FREE, IDLE, LOWER, UPPER, type ActiveState, type Iterate } from '../active-set/active-state.js';
import type { Program } from '../program/program.js';
import { computeLastDigit } from './last-digit.js';
import { computeExactGradient } from './residuals.js';

/** Maximum rounding error of the multiplier of a bound, below the tolerance of a solution. */
const ROUNDING_MAX = 5e-10;

/** Number of passes over the rows: the least multiplier of a row depends on those of other rows. */
const PASSES = 3;

/**
 * Makes the multipliers of rows without a free variable as small as possible while the multipliers of bounds keep their
 * signs. Otherwise these multipliers are not unique. If the feasible set has no interior, they grow to 1e9 in the
 * interior-point method, and the last digit of such a number exceeds the tolerance of a solution.
 * @cost  m n for each of three passes
 */
export function solveLeastMultipliers(program: Program, state: ActiveState, { x, rowMultipliers }: Iterate): void {
  const { n, rows } = program;
  const looseRows = listRowsWithoutFree(program, state);
  for (let pass = 0; pass < PASSES && looseRows.length > 0; pass++) {
    const gradient = computeExactGradient(program, { x, rowMultipliers, boundMultipliers: new Float64Array(n) });
    for (const r of looseRows) {
      const [least, most] = findPermittedRange(program, state, gradient, r, rowMultipliers[r]!);
      if (least > most) continue;
      const change = Math.min(Math.max(0, least), most) - rowMultipliers[r]!;
      rowMultipliers[r]! += change;
      for (let i = 0; i < n; i++) gradient[i]! += rows.coefficients[r * n + i]! * change;
    }
  }
}

/**
 * Reduces the rounding error of the multiplier of a bound if the multiplier is so large that the error exceeds the
 * tolerance. Changes last digits of the multipliers of rows without a free variable until the multiplier of the bound
 * is almost exactly a double.
 * @param rowMultipliers  Multipliers of the rows, [m], updated in place.
 * @cost                  m n, and one pass over the program per move.
 */
export function reduceRounding(
  program: Program,
  state: ActiveState,
  x: Float64Array,
  rowMultipliers: Float64Array,
): void {
  const { n, rows, lower, upper } = program;
  const boundMultipliers = new Float64Array(n);
  const computeGradient = () => computeExactGradient(program, { x, rowMultipliers, boundMultipliers });
  let gradient = computeGradient();
  if (!gradient.some((force) => computeLastDigit(force) > 2 * ROUNDING_MAX)) return;
  const looseRows = listRowsWithoutFree(program, state);
  for (let i = 0; i < n; i++) {
    const digit = computeLastDigit(gradient[i]!);
    if (!(digit > 2 * ROUNDING_MAX) || (state.names[i] === FREE && lower[i] !== upper[i])) continue;
    boundMultipliers[i] = -gradient[i]!;
    const remainder = computeGradient()[i]!;
    boundMultipliers[i] = 0;
    if (Math.abs(remainder) <= ROUNDING_MAX) continue;
    const r = looseRows.find(
      (row) =>
        computeLastDigit(rowMultipliers[row]!) * Math.abs(rows.coefficients[row * n + i]!) < ROUNDING_MAX &&
        rows.coefficients[row * n + i] !== 0,
    );
    if (r === undefined) continue;
    const [least, most] = findPermittedRange(program, state, gradient, r, rowMultipliers[r]!);
    const neededChange = [-remainder, digit - remainder, -digit - remainder]
      .map((force) => rowMultipliers[r]! + force / rows.coefficients[r * n + i]!)
      .find((multiplier) => multiplier >= least && multiplier <= most);
    if (neededChange === undefined) continue;
    rowMultipliers[r] = neededChange;
    gradient = computeGradient();
  }
}

/** Returns the active rows that contain no free variable. */
function listRowsWithoutFree({ n, rows, lower, upper }: Program, { names, rows: sides }: ActiveState): number[] {
  const looseRows: number[] = [];
  for (let r = 0; r < rows.count; r++) {
    if (sides[r] === IDLE) continue;
    let i = 0;
    while (i < n && (rows.coefficients[r * n + i] === 0 || names[i] !== FREE || lower[i] === upper[i])) i++;
    if (i === n) looseRows.push(r);
  }
  return looseRows;
}

/** Returns the smallest and the largest multiplier of a row at which the multipliers of bounds keep their signs. */
function findPermittedRange(
  { n, rows, lower, upper }: Program,
  { names, rows: sides }: ActiveState,
  gradient: Float64Array,
  r: number,
  multiplier: number,
): readonly [number, number] {
  let leastChange = sides[r] === UPPER ? 0 : -Infinity;
  let mostChange = sides[r] === LOWER ? 0 : Infinity;
  for (let i = 0; i < n; i++) {
    const entry = rows.coefficients[r * n + i]!;
    if (entry === 0 || lower[i] === upper[i]) continue;
    const end = multiplier - gradient[i]! / entry;
    if ((names[i] === LOWER) === entry > 0) leastChange = Math.max(leastChange, end);
    else mostChange = Math.min(mostChange, end);
  }
  return [leastChange, mostChange];
}
