import type { Measure } from '../../objectives/objective-class.js';
import type { Problem } from '../problem.js';

/** Digits of a change in a sentence. */
const DIGITS = 3;

/** What a change of the objective comes to, as the end of a sentence: `lowers the tracking error by 3.1 basis points`. */
export function changeSentence({ objective: { entry } }: Problem, before: number, after: number): string {
  const { name, unit, of } = entry.measure;
  const change = of(after) - of(before);
  if (Math.abs(change) < NOTHING[unit]) return `leaves ${name} as it is`;
  const amount = Number(Math.abs(change).toPrecision(DIGITS));
  return `${change < 0 ? 'lowers' : 'raises'} ${name} by ${amount}${unit === 'number' ? '' : ` ${unit}`}`;
}

/** Changes that are rounding. */
const NOTHING: Readonly<Record<Measure['unit'], number>> = { 'basis points': 1e-6, number: 1e-10 };

/** A value of the objective as it is made small, in its own terms. */
export function ownTerms({ objective: { entry } }: Problem, value: number): number {
  return entry.sense === 'maximise' ? -value : value;
}
