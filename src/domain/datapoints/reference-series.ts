import type { Day } from '../time/days.js';
import { createReferenceSpells } from '../market/reference-spells.js';
import type { SessionMarket } from '../market/session-market.js';

/** Creates a series of values known on the day of each session (point in time). */
export function createReferenceSeries({ market, sessions }: SessionMarket, name: string) {
  const spells = createReferenceSpells(market, name);
  /** Last value read for each security, and the range of days for which it applies. */
  const values = new Float64Array(spells.length);
  const from = new Float64Array(spells.length).fill(Infinity);
  const spellEnds = new Float64Array(spells.length).fill(-Infinity);
  const seekSpell = (column: number, day: Day): void => {
    const columnSpells = spells[column]!;
    const position = columnSpells.findLastIndex((spell) => spell.from <= day);
    const value = columnSpells[position]?.value;
    values[column] = typeof value === 'number' ? value : NaN;
    from[column] = columnSpells[position]?.from ?? -Infinity;
    spellEnds[column] = columnSpells[position + 1]?.from ?? Infinity;
  };
  return {
    fill(session: number, columns: Int32Array, out: Float64Array): void {
      const day = sessions[session]!;
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!;
        if (day >= spellEnds[column]! || day < from[column]!) seekSpell(column, day);
        out[i] = values[column]!;
      }
    },
  };
}
