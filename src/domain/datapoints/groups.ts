import type { Day } from '../time/days.js';
import type { ReferenceValue } from '../market/market-data.js';
import { findSpell, type ReferenceSpell } from '../market/reference-spells.js';
import { readGroup } from './field-use.js';

/** Assignment of securities to groups. */
export interface Grouping {
  /** Group of each security, [n]. */
  readonly of: Int32Array;
  /** Groups in the order of their first members; null for securities without a value. */
  readonly names: readonly (string | null)[];
}

/**
 * Function that returns the groups of securities on a day. A security whose value never changes is looked up only once.
 */
export type DatedGroups = (day: Day, columns: Int32Array) => Grouping;

/** Creates the groups of a reference column. @param spells spells of each column of the market */
export function createDatedGroups(spells: readonly (readonly ReferenceSpell[])[]): DatedGroups {
  const numbers = createNumbering();
  const changingCode = -1;
  const constantGroups = Int32Array.from(spells, (ownReferenceSpells) => {
    if (ownReferenceSpells.length === 0) return numbers.of(null);
    return ownReferenceSpells.length === 1 && ownReferenceSpells[0]!.from === -Infinity
      ? numbers.of(ownReferenceSpells[0]!.value)
      : changingCode;
  });
  return (day, columns) => {
    const codes = new Int32Array(columns.length);
    for (let i = 0; i < columns.length; i++) {
      const code = constantGroups[columns[i]!]!;
      codes[i] = code === changingCode ? numbers.of(findSpell(spells[columns[i]!]!, day)) : code;
    }
    return renumberByOccurrence(codes, numbers.texts);
  };
}

/** Returns the groups of values: one group per different value, and one for missing values. */
export function groupByValue(values: readonly ReferenceValue[]): Grouping {
  const numbers = createNumbering();
  return { of: Int32Array.from(values, numbers.of), names: numbers.texts };
}

interface Numbering {
  readonly texts: (string | null)[];
  of(value: ReferenceValue): number;
}

/** Creates a numbering of texts in order of first occurrence. */
function createNumbering(): Numbering {
  const numberByText = new Map<string | null, number>();
  const texts: (string | null)[] = [];
  return {
    texts,
    of(value) {
      const text = readGroup(value);
      const number = numberByText.get(text) ?? texts.push(text) - 1;
      numberByText.set(text, number);
      return number;
    },
  };
}

/** Renumbers codes in order of first occurrence, in place. */
function renumberByOccurrence(codes: Int32Array, texts: readonly (string | null)[]): Grouping {
  const numberByCode = new Int32Array(texts.length).fill(-1);
  const names: (string | null)[] = [];
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (numberByCode[code]! < 0) numberByCode[code] = names.push(texts[code]!) - 1;
    codes[i] = numberByCode[code]!;
  }
  return { of: codes, names };
}
