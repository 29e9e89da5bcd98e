import { formatDay } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { Membership } from '#domain/market/market-data.js';
import { readText, type Cell } from '../formats/cells.js';
import { nameFileColumns } from '../tables/named-columns.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import { readDate, readIdentifier, type CheckedRows } from './table-rows.js';

interface Spell extends Membership {
  readonly path: string;
  readonly row: number;
}

/** Maximum length of the name of a universe, equal to the limit in documents. */
const UNIVERSE_NAME_MAX = 64;

export function createUniverseRows(problems: Problems): CheckedRows<readonly Membership[]> {
  const spells: Spell[] = [];
  let rows = 0;

  function beginFile(label: string, written: readonly string[]) {
    const names = nameFileColumns('universes', label, written, problems);
    if (names === undefined) return undefined;
    let fileRow = 0;

    return (cells: readonly (Cell | undefined)[] | null) => {
      rows += 1;
      fileRow += 1;
      if (cells === null) return;
      const findCell = (name: string) => cells[names.indexOf(name)];
      const formatPath = (name: string) =>
        formatCellPath(label, fileRow, names.includes(name) ? written[names.indexOf(name)]! : name);
      const universe = readText(findCell('universe'));
      const isNamed = universe !== null && universe.length <= UNIVERSE_NAME_MAX;
      if (!isNamed && names.includes('universe')) {
        problems.error({
          code: 'BAD_IDENTIFIER',
          path: formatPath('universe'),
          message: `The universe is ${universe === null ? 'empty' : `${universe.length} characters long`}; it must have 1 to ${UNIVERSE_NAME_MAX} characters.`,
        });
      }
      const identifier = names.includes('identifier')
        ? readIdentifier(findCell('identifier'), () => formatPath('identifier'), problems)
        : undefined;
      const start = readDate(findCell('start'), () => formatPath('start'), problems);
      const end = readDate(findCell('end'), () => formatPath('end'), problems);
      if (start === undefined || end === undefined) return;
      if (start !== null && end !== null && start >= end) {
        problems.error({
          code: 'INVALID_RANGE',
          path: formatPath('end'),
          message: `The membership ends on ${formatDay(end)}; the end must be after the start, ${formatDay(start)}.`,
        });
        return;
      }
      if (!isNamed || identifier === undefined) return;
      spells.push({ universe, identifier, start, end, path: formatPath(''), row: rows });
    };
  }

  function toTable(): readonly Membership[] {
    const sortedSpells = spells.toSorted(compareMemberships);
    sortedSpells.forEach((spell, i) => {
      const previous = sortedSpells[i - 1];
      if (previous?.universe !== spell.universe || previous.identifier !== spell.identifier) return;
      if (previous.end !== null && (spell.start ?? -Infinity) >= previous.end) return;
      const laterSpell = previous.row > spell.row ? previous : spell;
      problems.error({
        code: 'OVERLAPPING_MEMBERSHIP',
        path: laterSpell.path,
        message: `${spell.identifier} is in ${spell.universe} ${formatSpell(previous)} and again ${formatSpell(spell)}.`,
      });
    });
    return sortedSpells.map(({ universe, identifier, start, end }) => ({ universe, identifier, start, end }));
  }

  return {
    beginFile,
    toTable,
    get rows() {
      return rows;
    },
  };
}

/** Compares memberships in their canonical order: universe, identifier, start, end. */
export function compareMemberships(a: Membership, b: Membership): number {
  return (
    compareText(a.universe, b.universe) ||
    compareText(a.identifier, b.identifier) ||
    compareDays(a.start, b.start) ||
    compareDays(a.end, b.end)
  );
}

const compareDays = (a: number | null, b: number | null) => (a === b ? 0 : (a ?? -Infinity) - (b ?? -Infinity));
const formatSpell = ({ start, end }: Membership) =>
  `from ${start === null ? 'the beginning' : formatDay(start)} to ${end === null ? 'the present' : formatDay(end)}`;
