import { describe, expect, test } from 'vitest';
import { CannotResumeError } from '#domain/definition/runs.js';
import {
  type ArraySource,
  createFieldGroup,
  createFields,
  type Packing,
  type RecordExtension,
} from '#domain/backtest/record-fields.js';
import type { Numbers } from '#domain/base/numbers.js';

interface Source {
  readonly name: string;
  readonly values: Float64Array;
}

const field = createFields<Source, Source>();
const FIRST = createFieldGroup({ name: field.fixed(({ name }) => name) });
const values = field.f64({ whole: ({ values: all }) => all, added: ({ values: all }) => all });
const SECOND_GROUP = createFieldGroup({ name: field.fixed(({ name }) => name), values: field.later(values) });

/** Creates storage in memory. The id of an array is its position in a list. */
function createMemory() {
  const arrays: Numbers[] = [];
  const into: Packing = {
    place(numbers) {
      arrays.push(numbers);
      return { block: 'recordF64', kind: 'f64', from: arrays.length - 1, to: arrays.length };
    },
    isOfPortfolio: () => false,
  };
  const reading: ArraySource = {
    numbers: (place) => arrays['from' in place ? place.from : 0]!,
    portfolioFrame: () => {
      throw new Error('no frame');
    },
  };
  return { into, reading };
}

const names = { stored: [], replayed: [] };
const run: Source = { name: 'X', values: Float64Array.of(1, 2) };

describe('a field that records of earlier versions lack', () => {
  test('is packed and read as any other', () => {
    const { into, reading } = createMemory();
    const read = SECOND_GROUP.read(SECOND_GROUP.pack(SECOND_GROUP.whole(run), into), reading);
    expect(read).toEqual({ name: 'X', values: Float64Array.of(1, 2) });
    expect(SECOND_GROUP.differs(read, SECOND_GROUP.whole({ ...run, values: Float64Array.of(1, 3) }), names)).toBe(
      '.values',
    );
  });

  test('is null in a record without it, and no difference to a replay that has it', () => {
    const { into, reading } = createMemory();
    const read = SECOND_GROUP.read(FIRST.pack(FIRST.whole(run), into), reading);
    expect(read).toEqual({ name: 'X', values: null });
    expect(SECOND_GROUP.differs(read, SECOND_GROUP.whole(run), names)).toBeNull();
    expect(SECOND_GROUP.differs(read, SECOND_GROUP.whole({ ...run, name: 'Y' }), names)).toBe('.name');
  });

  test('makes a run without it run as a whole instead of being extended', () => {
    const { into } = createMemory();
    const packedFields = FIRST.pack(FIRST.whole(run), into);
    expect(() => SECOND_GROUP.extend(packedFields, run, into as RecordExtension)).toThrow(CannotResumeError);
  });
});

test('a record with another field has another shape', () => {
  expect(FIRST.shape).not.toBe(SECOND_GROUP.shape);
});
