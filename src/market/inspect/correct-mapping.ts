import { ENCODINGS, type Mapping } from '#domain/documents/mapping.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { Problems } from '../tables/problems.js';
import type { RowConflict } from '../tables/row-conflicts.js';
import { isWholeName } from '../mapping/market-tables.js';
import { isGroupedCount, findThousandsMark, splitUnits } from '../mapping/written-numbers.js';
import { hasAnswer } from './draft.js';
import { createCountsQuestion, createUnitsQuestion } from './number-marks.js';
import type { Answers, Question } from './question.js';
import { isOfEncoding, DEFAULT_ENCODING } from './sample.js';

interface CorrectedMapping {
  readonly mapping: Mapping;
  readonly question?: Question;
}

/**
 * Returns a corrected mapping for rejected data, with the questions about it. Returns undefined if no finding implies a
 * correction.
 */
export function correctMapping(
  mapping: Mapping,
  problems: Pick<Problems, 'findings' | 'conflicts' | 'files'>,
  answers: Answers,
): CorrectedMapping | undefined {
  const findings = problems.findings();
  const errors = findings.filter(({ severity }) => severity === 'error');
  const listFindings = (code: Finding['code']) => errors.filter((finding) => finding.code === code);
  const isFree = (field: keyof Mapping) => !hasAnswer(answers, field);
  if (
    isFree('zero_prices') &&
    mapping.zero_prices === 'refuse' &&
    listFindings('NON_POSITIVE_PRICE').some(({ value }) => value === 0)
  )
    return {
      mapping: { ...mapping, zero_prices: 'missing' },
      question: {
        field: 'zero_prices',
        question: `${countText(listFindings('NON_POSITIVE_PRICE'), 'price is', 'prices are')} 0 and read as missing.`,
        taken: 'missing',
        others: ['refuse'],
        required: false,
      },
    };
  const encodingFinding = listFindings('UNREADABLE_FILE').find(isOfEncoding);
  if (encodingFinding !== undefined && isFree('encoding') && mapping.encoding === null)
    return addEncoding(mapping, encodingFinding);
  const correctedMapping = correctNumbers(mapping, findings, isFree);
  if (correctedMapping !== undefined) return correctedMapping;
  // Several tables of one security give a separate finding. The choice between their rows is not a question of
  // duplicates.
  const repeatedFinding =
    isFree('on_duplicate') && listFindings('DUPLICATE_ID').length === 0
      ? listFindings('DUPLICATE_KEY').find(({ path }) => path.startsWith('market'))
      : undefined;
  const uniqueMapping =
    repeatedFinding &&
    correctRepeated(mapping, repeatedFinding, listFindings('DUPLICATE_KEY'), {
      conflicts: problems.conflicts(),
      spellings: listSpellings(findings),
    });
  if (uniqueMapping !== undefined) return uniqueMapping;
  const isFreeColumn = (column: string) =>
    column !== '' && !Object.values(mapping.columns).includes(column) && !mapping.ignore.includes(column);
  const numberFindings = listFindings('NOT_A_NUMBER').filter((finding) => isFreeColumn(getColumn(finding)));
  return numberFindings.length === 0
    ? undefined
    : ignoreColumns(mapping, { nonNumeric: numberFindings, files: problems.files() }, answers);
}

/**
 * Sets the treatment of repeated rows of a security and date. If the rows are equal, one of them is read; otherwise the
 * last row is read.
 */
function correctRepeated(
  mapping: Mapping,
  repeated: Finding,
  findings: readonly Finding[],
  { conflicts, spellings }: { readonly conflicts: readonly RowConflict[]; readonly spellings: Spellings },
): CorrectedMapping | undefined {
  if (mapping.on_duplicate === 'refuse')
    return {
      mapping: { ...mapping, on_duplicate: 'identical' },
      question: {
        field: 'on_duplicate',
        question: `${countText(findings, 'row repeats', 'rows repeat')} the identifier and date of an earlier row. Equal rows are read once.`,
        taken: 'identical',
        others: ['first', 'last', 'refuse'],
        required: false,
      },
    };
  if (mapping.on_duplicate === 'identical')
    return {
      mapping: { ...mapping, on_duplicate: 'last' },
      question: {
        field: 'on_duplicate',
        question: `Rows with the same identifier and date differ (${[repeated.file, repeated.path].filter((place) => place !== undefined).join(' ')}: ${repeated.message}) ${describeConflicts(conflicts, spellings)}The last row is used. Is it correct?${explainMissingIdentifier(mapping)}`,
        taken: 'last',
        others: ['first', 'refuse'],
        required: true,
        ...(conflicts.length === 0 ? {} : { conflicts }),
      },
    };
  return undefined;
}

/** Maximum number of securities with conflicts that a question names. */
const CONFLICTS_NAMED_MAX = 50;

/** Other spellings of identifiers in the data, by identifier. */
type Spellings = ReadonlyMap<string, string>;

/** Returns the spellings with slashes, which are read as other identifiers. */
const listSpellings = (findings: readonly Finding[]): Spellings =>
  new Map(
    findings.flatMap(({ code, path, value }) =>
      code === 'BAD_IDENTIFIER' && typeof value === 'string' ? [[path.slice('market.'.length), value] as const] : [],
    ),
  );

/** Describes the conflicting values of each security. */
function describeConflicts(conflicts: readonly RowConflict[], spellings: Spellings): string {
  if (conflicts.length === 0) return '';
  const conflictTexts = conflicts
    .slice(0, CONFLICTS_NAMED_MAX)
    .map(({ identifier, rows, date, column, first, other }) => {
      const valuesText = `${column} ${first ?? 'none'} and ${other ?? 'none'} on ${date}`;
      const spelling = spellings.get(identifier);
      const spellingText = spelling === undefined ? '' : `; ${spelling} is also read as ${identifier}`;
      return `${identifier} ${rows} ${rows === 1 ? 'row' : 'rows'} (${valuesText}${spellingText})`;
    });
  const remainingCount = conflicts.length - conflictTexts.length;
  const securitiesText = conflicts.length === 1 ? '1 security' : `${conflicts.length} securities`;
  return `Different rows of ${securitiesText}: ${conflictTexts.join(', ')}${remainingCount > 0 ? ` and ${remainingCount} more` : ''}. `;
}

function addEncoding(mapping: Mapping, { file, path }: Finding): CorrectedMapping {
  const question = `The text of ${file ?? path} is not UTF-8. It is read as ${DEFAULT_ENCODING}.`;
  const otherEncodings = ENCODINGS.filter((encoding) => encoding !== DEFAULT_ENCODING && encoding !== 'utf-8');
  return {
    mapping: { ...mapping, encoding: DEFAULT_ENCODING },
    question: { field: 'encoding', question, taken: DEFAULT_ENCODING, others: otherEncodings, required: false },
  };
}

/** Adapts the number format of a mapping to the rejected texts. */
function correctNumbers(
  mapping: Mapping,
  findings: readonly Finding[],
  isFree: (field: keyof Mapping) => boolean,
): CorrectedMapping | undefined {
  const texts = findings.flatMap(({ code, value }) =>
    code === 'NOT_A_NUMBER' && typeof value === 'string' ? [value] : [],
  );
  const unitsText = texts.find((text) => splitUnits(text) !== undefined);
  if (isFree('units') && mapping.units === 'refuse' && unitsText !== undefined)
    return { mapping: { ...mapping, units: 'read' }, question: createUnitsQuestion(unitsText) };
  if (!isFree('thousands') || mapping.thousands !== null) return undefined;
  if (mapping.decimal === '.') {
    const markedTexts = texts.filter((text) => findThousandsMark(text) !== undefined);
    return markedTexts.length === 0 ? undefined : addThousands(mapping, markedTexts);
  }
  const counts = texts.filter((text) => isGroupedCount(text, ','));
  return counts.length === 0
    ? undefined
    : { mapping: { ...mapping, thousands: ',' }, question: createCountsQuestion(',', counts) };
}

/** Returns the column of a finding: the text after its row number. Column names may contain points (Vol.). */
const getColumn = ({ path }: Finding) => /\[row \d+\]\.(.*)$/.exec(path)?.[1] ?? path.slice(path.indexOf('.') + 1);

/** Explains why a source has several rows per day: its identifier column was not recognised. */
const explainMissingIdentifier = (mapping: Mapping) =>
  isWholeName(mapping) ? ' If a column contains the identifiers, set columns to identifier=COLUMN.' : '';

/** Formats the total count of some findings with its noun. */
function countText(findings: readonly Finding[], one: string, many: string): string {
  const total = findings.reduce((sum, { count = 1 }) => sum + count, 0);
  return `${total} ${total === 1 ? one : many}`;
}

function addThousands(mapping: Mapping, apart: readonly string[]): CorrectedMapping {
  const mark = findThousandsMark(apart[0])!; // each text has a thousands mark
  const name = { ',': 'commas', "'": 'apostrophes', ' ': 'spaces' }[mark];
  return {
    mapping: { ...mapping, thousands: mark },
    question: {
      field: 'thousands',
      question: `Some numbers contain ${name}, for example ${apart[0]}. They are read as thousands separators.`,
      taken: mark,
      others: ['none'],
      required: mark === ',' && !apart.some((text) => /\.|,.*,/.test(text)),
    },
  };
}

/**
 * Ignores columns that contain values other than numbers. If adjusted closes are ignored, no dividends are derived from
 * them.
 */
function ignoreColumns(
  mapping: Mapping,
  { nonNumeric, files }: { readonly nonNumeric: readonly Finding[]; readonly files: readonly string[] },
  answers: Answers,
): CorrectedMapping | undefined {
  const columns = [...new Set(nonNumeric.map(getColumn))];
  const reducedMapping = { ...mapping, ignore: [...mapping.ignore, ...columns] };
  const { adjusted_close: adjusted } = mapping;
  if (adjusted !== null && columns.includes(adjusted)) {
    const finding = nonNumeric.find((finding) => getColumn(finding) === adjusted)!; // `adjusted` is one of these columns
    const question = `Some values of ${adjusted} are not finite numbers (${formatLocation(finding)}). The column is ignored, and no dividends are derived.${formatFileHint(mapping, files)}`;
    if (hasAnswer(answers, 'adjusted_close')) return undefined;
    return {
      mapping: { ...reducedMapping, adjusted_close: null },
      question: { field: 'adjusted_close', question, taken: null, others: [], required: true },
    };
  }
  const namesText = columns.join(',');
  const question = `Some values of ${columns.join(', ')} are not numbers (${formatLocation(nonNumeric[0]!)}). ${columns.length === 1 ? 'The column is' : 'The columns are'} ignored.${formatFileHint(mapping, files)}`;
  return {
    mapping: reducedMapping,
    question: { field: 'ignore', question, taken: namesText, others: [], required: true },
  };
}

/** Formats the location of a finding and its text. */
function formatLocation({ file, path, value }: Finding): string {
  const text = value === undefined ? '' : `, for example ${JSON.stringify(String(value).slice(0, 40))}`;
  return `${[file, path].filter((place) => place !== undefined).join(' ')}${text}`;
}

/** Returns a hint to ignore damaged files. Returns it only if some of many files are damaged. */
function formatFileHint({ identifier_from: from }: Mapping, files: readonly string[]): string {
  if (files.length === 0 || from?.startsWith('file:') !== true) return '';
  const ignoredFiles = files.length === 1 ? 'this file' : `these ${files.length} files`;
  return ` To ignore ${ignoredFiles} instead, use --ignore ${files.join(',')}.`;
}
