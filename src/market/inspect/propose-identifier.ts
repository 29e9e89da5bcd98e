import { isAssetIdentifier } from '#domain/schema/shape.js';
import { replaceSlashes } from '../tables/slashless-names.js';
import { readText, type Cell } from '../formats/cells.js';
import { findFileIdentifier, findLabelledValue } from '../mapping/market-tables.js';
import { ask, isPlainNumber, listTexts, type ProposalDraft } from './draft.js';
import { findRole } from './roles.js';
import type { TableNameSource, Sample } from './sample.js';

/** A long table with its header, and the other tables. */
interface Tables {
  readonly header: readonly string[];
  /** Name of the date column. */
  readonly date: string;
  readonly column: (name: string) => readonly (Cell | undefined)[];
  readonly samples: readonly Sample[];
  readonly namedBy: TableNameSource;
}

/** Returns true for an identifier, in which slashes are replaced. */
const isIdentifier = (text: string): boolean => isAssetIdentifier(replaceSlashes(text));

/**
 * Proposes the source of the identifier: a column, a cell above the header, or the file names. Returns false if no
 * source is found.
 */
export function proposeIdentifier(draft: ProposalDraft, named: string | undefined, tables: Tables): boolean {
  if (/^(file|heading):/.test(draft.answers.identifier_from ?? '')) return true;
  if (named === undefined)
    return (
      proposeHeadingIdentifier(draft, tables) ||
      proposeTextIdentifier(draft, tables) ||
      proposeFileIdentifier(draft, tables)
    );
  if (draft.answers.identifier_from !== undefined || !isIdentifiedByFile(named, tables.column(named), tables.samples))
    return true;
  const { identifier: _written, ...others } = draft.mapping.columns!; // set together with the roles
  if (proposeFileIdentifier(draft, tables)) draft.mapping.columns = others;
  return true;
}

/**
 * Matches headings of text columns that are not identifiers, such as currency, exchange or other attributes of a
 * security.
 */
const ATTRIBUTE_HEADING = /curr|w(ä|ae)hrung|devise|exchange|b(ö|oe)rse|sector|industry|country|type|status|exdiv/i;

/** Matches a change in percent, which is not an identifier. */
const PERCENT_TEXT = /^[+-]?[\d.,]+ ?%$/;

/**
 * Proposes a text column with an unknown heading. If days repeat, it is the column that best distinguishes the rows of
 * a day. Otherwise it is the only text column of the only table.
 */
function proposeTextIdentifier(draft: ProposalDraft, { header, date, column, samples }: Tables): boolean {
  const listTexts = (name: string) => column(name).map((cell) => readText(cell) ?? '');
  const days = listTexts(date);
  const countKeys = (name: string) => new Set(listTexts(name).map((text, i) => `${text} ${days[i]}`)).size;
  const areRepeated = new Set(days).size < days.length;
  const [name, ...others] = header
    .filter(
      (each) =>
        each !== '' &&
        findRole(each) === undefined &&
        !Object.values(draft.mapping.columns!).includes(each) && // set together with the roles
        !ATTRIBUTE_HEADING.test(each) &&
        isWorded(column(each)) &&
        !listTexts(each).some((text) => PERCENT_TEXT.test(text)) &&
        listTexts(each).every(isIdentifier) &&
        (!areRepeated || countKeys(each) > new Set(days).size),
    )
    .toSorted((a, b) => countKeys(b) - countKeys(a));
  if (name === undefined || (!areRepeated && (others.length > 0 || samples.length > 1))) return false;
  draft.mapping.columns = { ...draft.mapping.columns, identifier: name };
  ask(draft, {
    field: 'columns',
    question: `No column has the name of an identifier. ${name} is used, which contains texts such as ${listTexts(name)[0]}. Is it the identifier?`,
    taken: `identifier=${name}`,
    others: others.map((other) => `identifier=${other}`),
  });
  return true;
}

/** Returns true if a column contains texts and no number. */
export const isWorded = (cells: readonly (Cell | undefined)[]) =>
  cells.some((cell) => readText(cell) !== null) && !cells.some(isPlainNumber);

/**
 * Returns true if a column with an identifier heading contains no valid identifiers. Each file then contains one
 * security, and the column contains its company name.
 */
const isIdentifiedByFile = (name: string, cells: readonly (Cell | undefined)[], samples: readonly Sample[]) =>
  samples.length > 1 && findRole(name) === 'identifier' && cells.every((cell) => !isIdentifier(readText(cell) ?? ''));

/**
 * Proposes a label above the header, such as `Security | AAPL US Equity`, if it states the identifier in every table.
 */
function proposeHeadingIdentifier(draft: ProposalDraft, { samples }: Tables): boolean {
  const { skip_rows: above = 0 } = draft.mapping;
  const headings = samples.map(({ rows }) => rows.slice(0, above).map(listTexts));
  const labels = (headings[0] ?? []).flatMap((row) => row.filter((text) => findRole(text) === 'identifier'));
  const label = labels.find((each) =>
    headings.every((heading) => isIdentifier(findLabelledValue(each, heading) ?? '')),
  );
  if (label === undefined) return false;
  draft.mapping.identifier_from = `heading:${removeColon(label)}`;
  return true;
}

function removeColon(label: string): string {
  const text = label.trimEnd();
  return text.endsWith(':') ? text.slice(0, -1).trimEnd() : text;
}

/** Matches default sheet names of Excel in several languages. */
const UNNAMED_SHEET = /^(sheet|tabelle|blatt|feuil|hoja|foglio|blad|ark|planilha|arkusz) ?\d+$/i;

/**
 * Returns true if a file name looks like a ticker, such as AAPL, BRK-B or ^GSPC, and not like data, prices or EXPORT.
 */
const isLikeTicker = (name: string) =>
  /^[A-Z0-9^][A-Z0-9.^=-]{0,11}$/.test(name) &&
  !/^(DATA|PRICES?|EXPORT|TABLE|MARKET|HISTORY|DOWNLOAD|CLOSES?)/.test(name);

/** Proposes the file names if no column contains the identifier. Parts common to all names are removed. */
function proposeFileIdentifier(draft: ProposalDraft, { date, column, samples, namedBy }: Tables): boolean {
  if (namedBy === null) return false;
  const names = samples.map(({ name }) => name);
  const pattern = `file:${findCommonPattern(names, namedBy)}`;
  if (!names.every((name) => isIdentifier(findFileIdentifier(pattern, name) ?? ''))) return false;
  draft.mapping.identifier_from = pattern;
  const fileIdentifier = names.length === 1 ? findFileIdentifier(pattern, names[0]!) : null;
  const question = `No column contains the identifier. The name of the ${namedBy} is used: ${fileIdentifier}.`;
  const unnamedSheets = namedBy === 'sheet' ? names.filter((name) => UNNAMED_SHEET.test(name)) : [];
  const days = column(date).map((cell) => readText(cell));
  if (fileIdentifier != null)
    ask(draft, {
      field: 'identifier_from',
      question,
      taken: pattern,
      required:
        !isLikeTicker(pattern.endsWith('_d.csv') ? fileIdentifier.toUpperCase() : fileIdentifier) ||
        UNNAMED_SHEET.test(fileIdentifier) ||
        new Set(days).size < days.length,
    });
  else if (unnamedSheets.length > 0)
    ask(draft, {
      field: 'identifier_from',
      question: `No column contains the identifier. The names of the sheets are used, for example ${unnamedSheets.slice(0, 3).join(', ')}, which are default names of Excel. Are they identifiers?`,
      taken: pattern,
    });
  return true;
}

/** Matches suffixes that vendors add to the name of an instrument: Stooq, Investing.com. */
const NAME_SUFFIX = /(_[a-z]{2}_d| (?:Historical Data|Stock Price History)(?: \(\d+\))?)\.csv$/;

function findCommonPattern(names: readonly string[], namedBy: TableNameSource): string {
  if (namedBy === 'sheet' && names.length === 1) return '{identifier}';
  const fileExtension = /(\.[a-z]+(\.gz)?)$/i.exec(names[0]!)?.[0] ?? '';
  if (names.length === 1) return `{identifier}${NAME_SUFFIX.exec(names[0]!)?.[0] ?? fileExtension}`;
  const countSharedLetters = (a: string, b: string) => {
    let length = 0;
    while (length < Math.min(a.length, b.length) && a[length] === b[length]) length += 1;
    return a.slice(0, length);
  };
  const reverse = (text: string) => [...text].toReversed().join('');
  const sharedStart = names.reduce(countSharedLetters);
  const sharedEnd = reverse(names.map(reverse).reduce(countSharedLetters));
  // Letters that all identifiers have in common belong to the identifiers. A pattern therefore begins and ends at a
  // separator.
  const prefix = /^.*[_\-. ]/.exec(sharedStart)?.[0] ?? '';
  const suffix = /[_\-. ].*$/.exec(sharedEnd)?.[0] ?? '';
  return `${prefix}{identifier}${suffix}`;
}
