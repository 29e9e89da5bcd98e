import type { Measure } from '../../objectives/objective-class.js';
import type { Problem } from '../problem.js';

/** Number of significant digits of a change in a sentence. */
const DIGITS = 3;

/** Describes a change of the objective, for the end of a sentence: `lowers the tracking error by 3.1 basis points`. */
export function describeChange({ objective: { entry } }: Problem, before: number, after: number): string {
  const { name, unit, of } = entry.measure;
  const change = of(after) - of(before);
  if (Math.abs(change) < NO_CHANGE[unit]) return `leaves ${name} unchanged`;
  const amount = Number(Math.abs(change).toPrecision(DIGITS));
  return `${change < 0 ? 'lowers' : 'raises'} ${name} by ${amount}${unit === 'number' ? '' : ` ${unit}`}`;
}

/** Changes below which a value counts as unchanged, by unit. */
const NO_CHANGE: Readonly<Record<Measure['unit'], number>> = { 'basis points': 1e-6, number: 1e-10 };

/** Converts a minimised value to the unit of the objective. */
export function convertToObjectiveTerms({ objective: { entry } }: Problem, value: number): number {
  return entry.sense === 'maximise' ? -value : value;
}
