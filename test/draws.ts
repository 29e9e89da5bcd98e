import * as fastCheck from 'fast-check';
import { IS_SOAK } from './soak.js';

/** `npm test` always draws the same cases; `npm run soak` draws new cases and prints the seed of a failure. */
if (!IS_SOAK) fastCheck.configureGlobal({ ...fastCheck.readConfigureGlobal(), seed: 20_240_229 });

/** Fraction of the stated number of cases that `npm test` draws. The soak draws all cases. */
const DRAWN_FRACTION = IS_SOAK ? 1 : 0.5;
const RUNS_BY_DEFAULT = 100;

export * from 'fast-check';

export const countDraws = (stated: number): number => Math.ceil(DRAWN_FRACTION * stated);

/** Asserts a property as fast-check does, with a share of the stated number of cases. */
export function assert<T>(property: fastCheck.IAsyncProperty<T>, terms?: fastCheck.Parameters<T>): Promise<void>;
export function assert<T>(property: fastCheck.IProperty<T>, terms?: fastCheck.Parameters<T>): void;
export function assert<T>(
  property: fastCheck.IRawProperty<T>,
  terms: fastCheck.Parameters<T> = {},
): void | Promise<void> {
  const numRuns = countDraws(terms.numRuns ?? RUNS_BY_DEFAULT);
  return fastCheck.assert(property, { ...terms, numRuns });
}

/** Number of surrogates, which are not valid code points in text. */
const SURROGATES = 0xe000 - 0xd800;
const CODE_POINT = fastCheck.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (n) => String.fromCodePoint(n < 0xd800 ? n : n + SURROGATES),
  (text) => {
    const code = typeof text === 'string' && [...text].length === 1 ? text.codePointAt(0)! : 0xd800;
    if (code >= 0xd800 && code < 0xe000) throw new Error('not a code point');
    return code < 0xd800 ? code : code - SURROGATES;
  },
);

/**
 * Returns strings of any code points. The unit `binary` of fast-check would draw equal strings. But it lists every code
 * point in a map, which costs a second of processor time and 130 MB in each process.
 */
export const createBinaryText = (
  constraints: Omit<fastCheck.StringConstraints, 'unit'> = {},
): fastCheck.Arbitrary<string> => fastCheck.string({ ...constraints, unit: CODE_POINT });
