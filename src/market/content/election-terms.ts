import { suggestName } from '#base/text/nearest-name.js';
import { ELECTIONS, type ActionType, type CorporateAction, type ElectionDefault } from '#domain/market/market-data.js';
import { readNumber, readText, formatWrittenCell, type Cell } from '../formats/cells.js';
import { quoteText } from '../tables/key-problems.js';
import type { Problems } from '../tables/problems.js';
import { readDate, type CellLocation } from './table-rows.js';

/** Terms of an action in which its holder chooses between cash and shares. */
export type ElectionTerms = Pick<CorporateAction, 'scripRatio' | 'electionDay' | 'electionDefault'>;

interface ElectionCell {
  readonly cell: Cell | undefined;
  readonly path: CellLocation;
}

interface ElectionCells {
  readonly ratio: ElectionCell;
  readonly date: ElectionCell;
  readonly byDefault: ElectionCell;
}

const DIVIDENDS: ReadonlySet<ActionType> = new Set(['DIVIDEND', 'SPECIAL_DIVIDEND']);

/**
 * Returns the election terms of an action. They are empty if the action has no election, and undefined if one of their
 * cells is invalid.
 */
export function readElection(
  type: ActionType,
  { ratio, date, byDefault }: ElectionCells,
  problems: Problems,
): ElectionTerms | undefined {
  const scripRatio = readRatio(ratio, problems);
  const electionDay = readDate(date.cell, date.path, problems);
  const electionDefault = readDefault(type, byDefault, problems);
  if (scripRatio === undefined || electionDay === undefined || electionDefault === undefined) return undefined;
  const isDividend = DIVIDENDS.has(type);
  const refuse = (path: CellLocation, message: string): undefined => {
    problems.error({ code: 'NOT_IN_CHOICES', path: path(), message });
    return undefined;
  };
  if (scripRatio !== null && !isDividend)
    return refuse(ratio.path, `A ${type} has a scrip_ratio; only a DIVIDEND or SPECIAL_DIVIDEND can have one.`);
  for (const [value, { path }] of [
    [electionDay, date],
    [electionDefault, byDefault],
  ] as const) {
    if (value === null) continue;
    if (!ELECTIONS.has(type)) return refuse(path, formatElectionError(type));
    if (isDividend && scripRatio === null)
      return refuse(
        path,
        `A ${type} has an election but no scrip_ratio; scrip_ratio must be the number of new shares per share held.`,
      );
  }
  return {
    ...(scripRatio === null ? {} : { scripRatio }),
    ...(electionDay === null ? {} : { electionDay }),
    ...(electionDefault === null ? {} : { electionDefault }),
  };
}

const formatElectionError = (type: ActionType): string =>
  `A ${type} has an election; only ${[...ELECTIONS.keys()].join(', ')} can have one.`;

function readRatio({ cell, path }: ElectionCell, problems: Problems): number | null | undefined {
  const value = readNumber(cell);
  if (value !== undefined && Number.isNaN(value)) return null;
  if (value !== undefined && value > 0) return value;
  problems.error({
    code: value === undefined ? 'NOT_A_NUMBER' : 'BAD_RATIO',
    path: path(),
    message: `The scrip_ratio is ${JSON.stringify(formatWrittenCell(cell))}; it must be the number of new shares per share held, greater than 0.`,
    value: formatWrittenCell(cell),
  });
  return undefined;
}

function readDefault(
  type: ActionType,
  { cell, path }: ElectionCell,
  problems: Problems,
): ElectionDefault | null | undefined {
  const text = readText(cell);
  if (text === null) return null;
  const acceptedDefaults = ELECTIONS.get(type);
  const acceptedName = acceptedDefaults?.find((name) => name === text);
  if (acceptedName !== undefined) return acceptedName;
  const message =
    acceptedDefaults === undefined
      ? formatElectionError(type)
      : `The election_default of a ${type} is ${quoteText(text)}; the accepted set is ${acceptedDefaults.join(', ')}.${suggestName(text, acceptedDefaults)}`;
  problems.error({
    code: 'NOT_IN_CHOICES',
    path: path(),
    message,
    value: text,
    ...(acceptedDefaults === undefined ? {} : { accepted: [...acceptedDefaults] }),
  });
  return undefined;
}
