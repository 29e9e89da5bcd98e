import { suggestName } from '#base/nearest-name.js';
import type { Finding } from '../base/findings.js';
import { checkShape, formatPath } from '../base/schema.js';
import { formatDay, parseValidDay } from '../base/time.js';
import { locateInTable, type AccountTableSource } from './account-table.js';
import { Account, type AccountDefaults } from './account.js';
import { type BatchCommon, indexSecurities, listOtherSecurities, type PartLines } from './batch.js';
import { applyTransactions, checkTax } from './tax-regime.js';

/** Account as sent, or a finding that its line is not JSON. */
export type AccountLine = { readonly value: unknown } | { readonly finding: Finding };

export type PartAccount = AccountLine & {
  /** Index of the account in the batch. */
  readonly position: number;
  /** Line of the upload; null if the accounts were not sent as lines. */
  readonly line: number | null;
};

/** Parses a line of JSON. A syntax error becomes a finding with line and column. */
export function parseLine(text: string, line: number): AccountLine {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    const { message } = error as SyntaxError;
    const column = Number(/position (\d+)/.exec(message)?.[1] ?? text.length) + 1;
    const path = `line ${line}, column ${column}`;
    return { finding: { severity: 'error', code: 'WRONG_TYPE', path, message: `${path}: not JSON: ${message}` } };
  }
}

export function* parseAccounts({ text: lines, position, line: first }: PartLines): Generator<PartAccount> {
  let linePosition = position;
  for (const [number, text] of lines.split('\n').entries()) {
    const line = first === null ? null : first + number;
    if (text.trim() !== '') yield { ...parseLine(text, line ?? number + 1), position: linePosition++, line };
  }
}

const ID_KEY = Buffer.from('"account_id"');

/**
 * Returns the id in a line of JSON without parsing the lots. Returns undefined if there is no id of at most 64
 * characters. In the line of a valid account the key occurs once. It never occurs within a string, because quotes are
 * escaped there.
 * @param line UTF-8 @cost one search from the end of the line
 */
export function findAccountId(line: Buffer): string | undefined {
  const position = line.lastIndexOf(ID_KEY);
  const text = position < 0 ? '' : line.toString('utf8', position + ID_KEY.length, position + ID_KEY.length + ID_SPAN);
  const accountId = /^\s*:\s*"([^"\\]{1,64})"/.exec(text)?.[1];
  return accountId ?? (position < 0 && !line.includes(ESCAPE) ? undefined : findParsedId(line.toString()));
}

/** Number of characters after the key that are searched for the id. */
const ID_SPAN = 512;
const ESCAPE = Buffer.from('\\u');

/** Returns the id of a line in which the key or id has an unusual form, such as escapes. */
function findParsedId(text: string): string | undefined {
  const parsedLine = parseLine(text, 1);
  const id = 'value' in parsedLine ? (parsedLine.value as { account_id?: unknown } | null)?.account_id : undefined;
  return typeof id === 'string' && id.length <= 64 ? id : undefined;
}

/** Returns a line that is refused because an earlier account has the same id. */
export function refuseRepeatedAccount(id: string): string {
  return JSON.stringify({ account_id: id, is_repeated: true });
}

/** Yields the lines of a text that arrives in chunks, without line ends. */
export async function* splitLines(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  let openPieces: Buffer[] = [];
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    let from = 0;
    for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
      const endBytes = bytes.subarray(from, to);
      yield openPieces.length === 0 ? endBytes : Buffer.concat([...openPieces, endBytes]);
      openPieces = [];
      from = to + 1;
    }
    if (from < bytes.length) openPieces.push(bytes.subarray(from));
  }
  if (openPieces.length > 0) yield Buffer.concat(openPieces);
}

const NEWLINE = 10;

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

export function readAccount(common: BatchCommon, value: unknown, place: AccountSource): ParsedAccount {
  const { source, account: sentAccount } = splitSource(value);
  if (readMember(sentAccount, ['is_repeated']) === true)
    return { account: undefined, findings: [createRepeatedFinding(sentAccount, place)] };
  const { value: account, findings } = checkShape(Account, addDefaults(sentAccount, common.terms.defaults));
  const accountFindings = [...(account === undefined ? findings : checkStatedAccount(common, account))];
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
    account: count === 0 && account !== undefined ? applyTransactions(account, common.asOf) : undefined,
    findings: limitFindings([...rows, ...locatedFindings], count, place.path),
  };
}

function splitSource(value: unknown): { readonly source?: AccountTableSource; readonly account: unknown } {
  if (typeof value !== 'object' || value === null || !('source' in value)) return { account: value };
  const { source, ...account } = value;
  const { lines, recent, columns, own, problems } = (source ?? {}) as Readonly<Record<string, unknown>>;
  const isTable = [lines, recent, columns, problems].every(Array.isArray) && typeof own === 'object' && own !== null;
  // `parseAccountTable` wrote the locations. If a client sends such a value, it affects only the client's own findings.
  return isTable ? { source: source as AccountTableSource, account } : { account: value };
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
  readonly source: AccountTableSource | undefined;
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

/** Checks an account, and the lots that follow from its transactions. */
function checkStatedAccount(common: BatchCommon, account: Account): Finding[] {
  const taxFindings = checkTax(account, common.asOf);
  const findings = checkAccount(common, taxFindings.length > 0 ? account : applyTransactions(account, common.asOf));
  return [...findings, ...taxFindings];
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
  for (const field of ['recent', 'transactions'] as const)
    account[field].forEach(({ identifier, date }, trade) => {
      isKnown(identifier, `${field}[${trade}].identifier`);
      isPast(date, `${field}[${trade}].date`);
    });
  if (findings.length === 0 && !(value > 0)) addError('OUT_OF_RANGE', 'lots', 'the account has no value.');
  return findings;
}
