import { didYouMean } from '#base/text/nearest-name.js';
import { dayFrom, formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { checkShape } from '../schema/shape.js';
import { Account } from './account-request.js';
import { placesIn, type BatchCommon } from './batch-common.js';
import { placeInTable, type LotSource } from './lot-table.js';

export interface ReadAccount {
  readonly account: Account | undefined;
  readonly findings: readonly Finding[];
}

/** Maximum number of findings listed for one account. Further findings are counted. */
const FINDINGS_MAX = 50;

/** Reads one account of a batch. @param path path of the account in the request */
export function readAccount(common: BatchCommon, value: unknown, path: string): ReadAccount {
  if (typeof value === 'object' && value !== null && 'unreadable' in value && typeof value.unreadable === 'string')
    return {
      account: undefined,
      findings: [{ severity: 'error', code: 'WRONG_TYPE', path, message: value.unreadable }],
    };
  const { source, account: sent } = splitSource(value);
  const { value: account, findings } = checkShape(Account, sent, { path });
  const found = account === undefined ? findings : accountFindings(common, account, path);
  return {
    account: found.length === 0 ? account : undefined,
    findings: found.slice(0, FINDINGS_MAX).map((finding) => inTable(finding, source)),
  };
}

/** Separates an account from the places of its lots in a table. */
function splitSource(value: unknown): { readonly source?: LotSource; readonly account: unknown } {
  if (typeof value !== 'object' || value === null || !('source' in value)) return { account: value };
  const { source, ...account } = value;
  const isPlace = typeof source === 'object' && source !== null && 'lines' in source && 'columns' in source;
  return isPlace && Array.isArray(source.lines) && Array.isArray(source.columns)
    ? { source: source as LotSource, account } // `accountsOfLots` wrote it; a client's own only changes its messages
    : { account: value };
}

/** Adds line and column to a finding about a lot from a table. */
function inTable(finding: Finding, source: LotSource | undefined): Finding {
  const place = source && placeInTable(source, finding.path);
  return place === undefined ? finding : { ...finding, message: `${place}: ${finding.message}` };
}

function accountFindings(common: BatchCommon, account: Account, path: string): Finding[] {
  const places = placesIn(common);
  const findings: Finding[] = [];
  const error = (code: Finding['code'], at: string, message: string, value?: unknown): void =>
    void findings.push({ severity: 'error', code, path: `${path}.${at}`, message: `${path}.${at}: ${message}`, value });
  const unknown = (name: string): string =>
    `${name} has no price or no estimate in the risk model on ${formatDay(common.asOf)}.${didYouMean(name, common.identifiers)}`;
  let value = account.cash;
  account.lots.forEach(({ identifier, shares, acquired }, at) => {
    const place = places.get(identifier);
    if (place === undefined) return error('BAD_IDENTIFIER', `lots[${at}].identifier`, unknown(identifier), identifier);
    value += shares * common.prices[place]!;
    if (dayFrom(acquired) > common.asOf)
      error('BAD_DATE', `lots[${at}].acquired`, `${acquired} is after ${formatDay(common.asOf)}.`, acquired);
  });
  for (const name of Object.keys(account.tilts))
    if (!places.has(name)) error('BAD_IDENTIFIER', `tilts.${name}`, unknown(name), name);
  account.recent.forEach(({ date }, at) => {
    if (dayFrom(date) > common.asOf)
      error('BAD_DATE', `recent[${at}].date`, `${date} is after ${formatDay(common.asOf)}.`, date);
  });
  const { short_rate: short, long_rate: long } = account.tax;
  if (long > short)
    error('OUT_OF_RANGE', 'tax.long_rate', `${long} is above short_rate ${short}; it must be at most that.`, long);
  if (findings.length === 0 && !(value > 0)) error('OUT_OF_RANGE', 'lots', 'the account has no value.');
  return findings;
}
