import type { Calendars } from '#domain/calendars/calendar.js';
import { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { PriceOverride } from '#domain/documents/price-override.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { readTable, type CheckInputDependencies } from '../daily-plans/check-input.js';
import { findReferencedStore } from '../indices/on-store.js';
import { findRun } from '../stored/run-documents.js';

interface ActiveOverridesDependencies {
  readonly documents: DocumentStore;
  readonly exports: CheckInputDependencies['exports'];
  readonly markets: Pick<Markets, 'served'>;
  readonly calendars: Calendars;
}

interface OverridesTerms {
  readonly date: string;
  readonly sessions: Int32Array;
  readonly signal: AbortSignal;
}

/** Returns the overridden prices of the securities that an index holds at a close or buys at that close. */
export async function listActiveOverrides(
  { documents, exports, markets, calendars }: ActiveOverridesDependencies,
  document: IndexDocument,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<PriceOverride[]> {
  const run = await findRun(documents, document.id);
  if (run === undefined) return [];
  const storeId = (await findReferencedStore(documents, document)) ?? markets.served()?.identity.datasetId;
  const store = storeId === undefined ? undefined : parseStored(await documents.get('store', storeId), DatasetDocument);
  const overridesOfRun = (store?.price_overrides ?? []).filter(({ date }) => date >= run.start && date <= run.end);
  const { sessions = new Int32Array() } = calendars.get(document.calendar) ?? {};
  const heldByDate = new Map<string, ReadonlySet<string>>();
  const listedOverrides: PriceOverride[] = [];
  for (const override of overridesOfRun.toReversed()) {
    const { date, identifier } = override;
    const heldIdentifiers =
      heldByDate.get(date) ?? (await readActiveOverrides(exports, run, { date, sessions, signal }));
    heldByDate.set(date, heldIdentifiers);
    if (heldIdentifiers.has(identifier)) listedOverrides.push(override);
    if (listedOverrides.length === limit) break;
  }
  return listedOverrides;
}

/** Returns the securities that a run holds at a close, and the securities that it buys at that close. */
async function readActiveOverrides(
  exports: CheckInputDependencies['exports'],
  run: RunDocument,
  { date, sessions, signal }: OverridesTerms,
): Promise<ReadonlySet<string>> {
  const next = sessions[findLastAtMost(sessions, parseValidDay(date)) + 1];
  const files = [
    await readTable(exports, run, { table: 'closing', end: date }, signal),
    next === undefined || formatDay(next) > run.end
      ? null
      : await readTable(exports, run, { table: 'opening', end: formatDay(next) }, signal),
  ];
  return new Set(files.flatMap((rows) => (rows ?? []).map(({ identifier }) => String(identifier))));
}
