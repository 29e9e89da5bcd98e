import { suggestName } from '#base/text/nearest-name.js';
import { parseValidDay, formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { checkShape, formatPath } from '../schema/shape.js';
import { Account, type AccountDefaults } from './account-request.js';
import { locateInTable, type TableSource } from './account-table.js';
import { listOtherSecurities, indexSecurities, type BatchCommon } from './batch-common.js';

export interface ParsedAccount {
  readonly account: Account | undefined;
  readonly findings: readonly Finding[];
}

/** Location of an account in its request. */
export interface AccountSource {
  /** Path in the body, such as `accounts[3]`. */
  readonly path: string;
  /** Line of the body; null if the accounts are not sent as lines. */
  readonly line: number | null;
}

/** Maximum number of findings that are listed per account; further findings are counted. */
const FINDINGS_MAX = 50;

/** Reads an account of a batch. */
export function readAccount(common: BatchCommon, value: unknown, place: AccountSource): ParsedAccount {
  const { source, account: sentAccount } = splitSource(value);
  if (readMember(sentAccount, ['is_repeated']) === true)
    return { account: undefined, findings: [createRepeatedFinding(sentAccount, place)] };
  const { value: account, findings } = checkShape(Account, addDefaults(sentAccount, common.terms.defaults));
  const accountFindings = [...(account === undefined ? findings : checkAccount(common, account))];
  const rows = (source?.problems ?? []).map((message): Finding => ({
    severity: 'error',
    code: 'WRONG_TYPE',
    path: place.path,
    message,
  }));
  const locatedFindings = accountFindings.map((finding) =>
    addLocation(finding, { ...place, id: readId(sentAccount), source }),
  );
  const count = locatedFindings.length + (source?.problem_count ?? 0);
  return {
    account: count === 0 ? account : undefined,
    findings: limitFindings([...rows, ...locatedFindings], count, place.path),
  };
}

/** Separates an account from the locations of its values in a table. */
function splitSource(value: unknown): { readonly source?: TableSource; readonly account: unknown } {
  if (typeof value !== 'object' || value === null || !('source' in value)) return { account: value };
  const { source, ...account } = value;
  const { lines, recent, columns, own, problems } = (source ?? {}) as Readonly<Record<string, unknown>>;
  const isTable = [lines, recent, columns, problems].every(Array.isArray) && typeof own === 'object' && own !== null;
  // `parseAccountTable` wrote the locations. If a client sends such a value, it affects only the client's own findings.
  return isTable ? { source: source as TableSource, account } : { account: value };
}

/** Adds the defaults of the batch to an account. The values of the account take precedence, in taxes field by field. */
function addDefaults(value: unknown, defaults: AccountDefaults | undefined): unknown {
  if (defaults === undefined || !isObject(value)) return value;
  const account: Record<string, unknown> = { ...defaults, ...value };
  for (const path of [['tax'], ['tax', 'realised']] as const) {
    const [general, stated] = [readMember(defaults, path), readMember(value, path)];
    if (!isObject(general) || !isObject(stated)) continue;
    if (path.length === 1) account['tax'] = { ...general, ...stated };
    else account['tax'] = { ...(account['tax'] as object), realised: { ...general, ...stated } };
  }
  return account;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const readMember = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);

const readId = (value: unknown): string | null => {
  const id = readMember(value, ['account_id']);
  return typeof id === 'string' && id !== '' ? id.slice(0, 64) : null;
};

function createRepeatedFinding(sentAccount: unknown, place: AccountSource): Finding {
  const message = 'an earlier account has the same id, and only the earlier account is solved.';
  const finding: Finding = { severity: 'error', code: 'DUPLICATE_ID', path: 'account_id', message };
  return addLocation(finding, { ...place, id: readId(sentAccount), source: undefined });
}

interface FindingLocation extends AccountSource {
  readonly id: string | null;
  readonly source: TableSource | undefined;
}

/**
 * Adds the path of the account to the path of a finding. The message then begins with the line or path, and the
 * account.
 */
function addLocation(finding: Finding, { path, line, id, source }: FindingLocation): Finding {
  const location = source === undefined ? (line === null ? path : `line ${line}`) : locateInTable(source, finding.path);
  const wholePath = finding.path === '' ? path : formatPath(path, [finding.path]);
  const accountText = id === null ? '' : `, account ${id}`;
  return { ...finding, path: wholePath, message: `${location}${accountText}: ${finding.message}` };
}

function limitFindings(findings: readonly Finding[], count: number, path: string): readonly Finding[] {
  if (count <= FINDINGS_MAX) return findings;
  const firstFindings = findings.slice(0, FINDINGS_MAX);
  const left = count - firstFindings.length;
  const message = `${left} further findings of this account are not listed; the limit is ${FINDINGS_MAX}.`;
  return [...firstFindings, { severity: 'error', code: 'MORE_FINDINGS', path, message, count: left }];
}

function checkAccount(common: BatchCommon, account: Account): Finding[] {
  const positionByName = indexSecurities(common);
  const findings: Finding[] = [];
  const addError = (code: Finding['code'], path: string, message: string, value?: unknown): void =>
    void findings.push({ severity: 'error', code, path, message: `${path}: ${message}`, value });
  const describeMissing = (name: string): string =>
    `${name} has no price or no estimate in the risk model on ${formatDay(common.asOf)}.${suggestName(name, common.identifiers)}`;
  const isPast = (day: string, path: string): void => {
    if (parseValidDay(day) > common.asOf) addError('BAD_DATE', path, `${day} is after ${formatDay(common.asOf)}.`, day);
  };
  const isKnown = (name: string, path: string): void => {
    if (positionByName.has(name) || listOtherSecurities(common).has(name)) return;
    addError(
      'UNKNOWN_IDENTIFIER',
      path,
      `the data contains no security ${name}.${suggestName(name, common.identifiers)}`,
      name,
    );
  };
  let value = account.cash;
  account.lots.forEach(({ identifier, shares, acquired, bought }, lot) => {
    const position = positionByName.get(identifier);
    if (position === undefined)
      addError('BAD_IDENTIFIER', `lots[${lot}].identifier`, describeMissing(identifier), identifier);
    else value += shares * common.prices[position]!;
    isPast(acquired, `lots[${lot}].acquired`);
    if (bought === undefined) return;
    isPast(bought, `lots[${lot}].bought`);
    if (bought < acquired)
      addError('BAD_DATE', `lots[${lot}].bought`, `${bought} is before acquired ${acquired}; it must not be.`, bought);
  });
  for (const name of Object.keys(account.tilts))
    if (!positionByName.has(name)) addError('BAD_IDENTIFIER', `tilts.${name}`, describeMissing(name), name);
  account.exclusions.forEach((name, at) => isKnown(name, `exclusions[${at}]`));
  account.substitutes.forEach((group, at) => group.forEach((name, i) => isKnown(name, `substitutes[${at}][${i}]`)));
  account.recent.forEach(({ identifier, date }, trade) => {
    isKnown(identifier, `recent[${trade}].identifier`);
    isPast(date, `recent[${trade}].date`);
  });
  const { short_rate: short, long_rate: long } = account.tax;
  if (long > short)
    addError('OUT_OF_RANGE', 'tax.long_rate', `${long} is above short_rate ${short}; it must be at most that.`, long);
  if (findings.length === 0 && !(value > 0)) addError('OUT_OF_RANGE', 'lots', 'the account has no value.');
  return findings;
}
