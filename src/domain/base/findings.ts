import { maskUrlPasswords } from '#base/addresses.js';
import { suggestName } from '#base/nearest-name.js';
import { removeNumberNoise } from './numbers.js';
import { LIMITS } from './limits.js';
import { type Day, formatDay } from './time.js';

/** Result of a check about one location in a document, a request or a dataset. */
export interface Finding {
  readonly severity: Severity;
  readonly code: FindingCode;
  /** Sentence with the refused value and the accepted values. If numbers are compared, both are numbers. */
  readonly message: string;
  /** Path as written by the client, such as `pipeline.selection[0].params.count`; empty for the whole document. */
  readonly path: string;
  /** Id of the affected rule or constraint row. */
  readonly row_id?: string | null;
  /** Accepted values of a closed set. */
  readonly accepted?: readonly string[] | null;
  /** Refused value, if it is small: see `keepSmallValue`. */
  readonly value?: unknown;
  /** Number of problems that the finding represents, if more than one. */
  readonly count?: number;
  /** Locations of the first of these problems. */
  readonly places?: readonly string[];
  /** First and last affected date of a run, YYYY-MM-DD. */
  readonly first_date?: string;
  readonly last_date?: string;
  /** Affected characters of an expression sent as text; `end` is exclusive. */
  readonly position?: { readonly start: number; readonly end: number };
  /** Name of the file, sheet or archive member with the problem. */
  readonly file?: string;
}

export type Severity = 'error' | 'warning' | 'info';

export const FINDING_CODES = [
  'REQUIRED',
  'WRONG_TYPE',
  'OUT_OF_RANGE',
  'NOT_IN_CHOICES',
  'UNKNOWN_FIELD',
  'UNKNOWN_TYPE',
  'UNKNOWN_PARAMETER',
  'MISSING_PARAMETER',
  'DUPLICATE_ID',
  'DUPLICATE_ROW_ID',
  'BAD_DATE',
  'BAD_IDENTIFIER',
  'ID_MISMATCH',
  'INVALID_RANGE',
  'PIPELINE_XOR_DERIVATION',
  'IMMUTABLE_FIELD',
  'UNKNOWN_OBJECTIVE',
  'UNKNOWN_CALENDAR',
  'UNKNOWN_INDEX',
  'RUN_NOT_FOUND',
  'RISK_MODEL_NOT_FOUND',
  'NO_DATA_IN_RANGE',
  'CIRCULAR_REFERENCE',
  'EMPTY_RANGE',
  'NO_EFFECT',
  'DEFAULT_TAKEN',
  'WEIGHTS_NOT_ONE',
  'RETURNS_DIFFER',
  'CURRENCIES_DIFFER',
  'VALUE_TYPE_MISMATCH',
  'UNKNOWN_FIELD_NAME',
  'BAD_EXPRESSION',
  'BAD_QUERY',
  'UNKNOWN_FUNCTION',
  'UNIT_MISMATCH',
  'CAP_INFEASIBLE',
  'NOT_IN_INDEX',
  'UNKNOWN_IDENTIFIER',
  'BENCHMARK_IS_SELF',
  'UNKNOWN_BLOCK_KIND',
  'PARENT_CHANGED',
  'NO_WEIGHT_DATA',
  'REBALANCE_HELD',
  'NO_REPLACEMENT',
  'CONSTRAINT_RELAXED',
  'LIMIT_NOT_KEPT',
  'SILENT_DELISTING',
  'RISK_FALLBACK_IDENTITY',
  'CHOICE_NOT_PROVEN',
  'SCENARIOS_WEIGHED',
  'FX_MISSING',
  'NO_RATE',
  'RIGHTS_NOT_ADJUSTED',
  'MISSING_COLUMN',
  'COLUMN_IGNORED',
  'ADJUSTMENT_UNEXPLAINED',
  'NOT_A_NUMBER',
  'NON_POSITIVE_PRICE',
  'DUPLICATE_KEY',
  'UNKNOWN_ACTION_TYPE',
  'BAD_RATIO',
  'OVERLAPPING_MEMBERSHIP',
  'EMPTY_DATASET',
  'UNREADABLE_FILE',
  'DAMAGED_FILE',
  'LOCATION_NOT_ALLOWED',
  'CALLBACK_NOT_ALLOWED',
  'TARGET_NOT_ALLOWED',
  'LOCATION_NOT_FOUND',
  'MORE_FINDINGS',
  'CONSTRAINT_SET_NOT_FOUND',
  'WATCHLIST_NOT_FOUND',
  'PLUGIN_NOT_FOUND',
  'PLUGIN_FAULT',
  'PRICE_JUMP',
  'GAP_LONG',
  'ACTION_WITHOUT_PRICE',
  'ACTION_CONFLICT',
  'ACTION_DATES',
  'ACTION_SIZE',
  'UNKNOWN_CURRENCY',
  'STALE_TAIL',
  'PARTIAL_DATE',
  'PRICE_BASIS',
  'NO_DIVIDENDS',
  'CURRENCY_ASSUMED',
  'FX_CROSSED',
  'HISTORY_CHANGED',
  'DATES_ADDED',
  'SPLIT_RESTATED',
  'LATE_BARS',
  'BAR_CORRECTED',
  'NOT_A_SESSION',
  'DIFFERENT_DATA',
  'WINDOW_CUT',
  'STALE_FILL',
  'NOT_ANNOUNCED',
  'TOO_FEW_NAMES',
  'JOINT_ESTIMATE',
  'FRONTIER_SCOPE',
  'LOOK_AHEAD',
  'MODEL_LACKS_NAMES',
] as const;
export type FindingCode = (typeof FINDING_CODES)[number];

const SEVERITY_RANKS: Record<Severity, number> = { error: 0, warning: 1, info: 2 };

/**
 * Sorts findings into the order of responses: severity, then path, then code. A finding that counts further problems
 * follows the findings that it continues. Numbers in their messages have no noise.
 */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const isRest = ({ code }: Finding) => Number(code === 'MORE_FINDINGS');
  return findings
    .map(removeNoise)
    .toSorted(
      (a, b) =>
        SEVERITY_RANKS[a.severity] - SEVERITY_RANKS[b.severity] ||
        isRest(a) - isRest(b) ||
        compareText(a.path, b.path) ||
        compareText(a.code, b.code),
    );
}

/** Findings of a response, and the number of problems that they do not list. */
export interface ListedFindings {
  readonly findings: Finding[];
  readonly more: number;
}

/** Selects and sorts the findings of a response: at most `MAX_FINDINGS`, errors first. */
export function selectFindings(findings: readonly Finding[]): ListedFindings {
  const all = findings.filter((finding) => !isOmission(finding));
  const omitted = findings.filter(isOmission).reduce((sum, { count = 1 }) => sum + count, 0);
  if (all.length <= LIMITS.MAX_FINDINGS) return { findings: limitTexts(sortFindings(all)), more: omitted };
  const ranked = [0, 1, 2].flatMap((rank) => all.filter(({ severity }) => SEVERITY_RANKS[severity] === rank));
  const rest = ranked.slice(LIMITS.MAX_FINDINGS).reduce((sum, { count = 1 }) => sum + count, 0);
  return { findings: limitTexts(sortFindings(ranked.slice(0, LIMITS.MAX_FINDINGS))), more: omitted + rest };
}

/** Bytes of the texts of all findings of a response, as JSON. */
const TEXTS_BYTES_MAX = 100_000;
const TEXT_LENGTH_MAX = 4000;

/** Members of a finding that can contain text of a client, such as the name of an unknown field. */
const TEXT_MEMBERS = ['message', 'path', 'row_id', 'file'] as const;

/** Shortens the longest texts of findings if all texts together are too long for a response. */
function limitTexts(findings: Finding[]): Finding[] {
  const texts = findings.flatMap((finding) => TEXT_MEMBERS.map((member) => finding[member] ?? ''));
  const measure = (length: number): number =>
    new TextEncoder().encode(JSON.stringify(texts.map((text) => text.slice(0, length)))).length;
  let length = TEXT_LENGTH_MAX;
  while (measure(length) > TEXTS_BYTES_MAX) length = Math.floor(length / 2);
  if (texts.every((text) => text.length <= length)) return findings;
  const shorten = (text: string): string => (text.length <= length ? text : `${text.slice(0, length)}...`);
  return findings.map((finding) => ({
    ...finding,
    ...Object.fromEntries(
      TEXT_MEMBERS.flatMap((member) =>
        typeof finding[member] === 'string' ? [[member, shorten(finding[member])]] : [],
      ),
    ),
  }));
}

/**
 * Returns the findings of a report in order. If there are more than `MAX_FINDINGS`, the last one counts the others.
 * @param omitted number of findings that were left out before
 */
export function reportFindings(findings: readonly Finding[], omitted = 0): Finding[] {
  const { findings: listed, more: rest } = selectFindings(findings);
  const more = rest + omitted;
  if (more === 0) return listed;
  const rank = Math.max(...listed.map(({ severity }) => SEVERITY_RANKS[severity]));
  const severity = (['error', 'warning', 'info'] as const)[rank]!;
  return [...listed, createOmission(severity, more)];
}

/** Path of the finding that counts those that a report leaves out. */
const OMITTED = 'findings';

/** Returns the finding that counts findings which are not listed. A refusal states them as `more` instead. */
export function createOmission(severity: Finding['severity'], count: number): Finding {
  return { severity, code: 'MORE_FINDINGS', path: OMITTED, message: `${count} more are not listed.`, count };
}

const isOmission = ({ code, path }: Finding): boolean => code === 'MORE_FINDINGS' && path === OMITTED;

function removeNoise(finding: Finding): Finding {
  const message = removeNumberNoise(finding.message);
  return message === finding.message ? finding : { ...finding, message };
}

/** Sets the first and last date of findings to the date of a rebalance. */
export function addRebalanceDate(findings: readonly Finding[], rebalance: Day): Finding[] {
  const date = formatDay(rebalance);
  return findings.map((finding) => ({ ...finding, first_date: date, last_date: date }));
}

export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.severity === 'error');
}

/**
 * Returns the refused value for a finding. Its JSON must have at most 200 characters and contain no URL password.
 * Otherwise returns no value.
 */
export function keepSmallValue(value: unknown): { readonly value?: unknown } {
  const text = JSON.stringify(value);
  return text !== undefined && text.length <= 200 && maskUrlPasswords(text) === text ? { value } : {};
}

/** Compares texts by code points, the only order of identifiers, ids and paths in the API. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) {
      const areBothPlain = x < 0xd800 && y < 0xd800;
      return areBothPlain ? x - y : (a.codePointAt(i) ?? 0) - (b.codePointAt(i) ?? 0) || x - y;
    }
  }
  return a.length - b.length;
}

interface RequestedField {
  readonly name: string;
  readonly accepted: readonly string[];
  /** Text as written by the client, if it differs from the name. */
  readonly value?: string;
}

/** Describes an unknown field and suggests the most similar known field, such as SECTOR for `sector`. */
export function describeUnknownField(
  sentence: string,
  { name, accepted, value = name }: RequestedField,
): Pick<Finding, 'code' | 'message' | 'accepted' | 'value'> {
  return { code: 'UNKNOWN_FIELD_NAME', message: `${sentence}${suggestName(name, accepted)}`, accepted, value };
}
