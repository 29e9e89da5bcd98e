import { createHash } from 'node:crypto';
import type { PublishRequest } from '#contract/publication.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { parseValidDay } from '#domain/base/time.js';
import type { Calendar } from '#domain/calendars/calendar.js';
import {
  type ComparedClose,
  type DecidedError,
  decideError,
  type ErrorPolicy,
  findAgreements,
  type IndexCloses,
  type LevelChange,
  type PublicationEntry,
  type PublicationHead,
  PublishedError,
} from '#domain/definition/publication.js';
import type { RunDocument } from '#domain/definition/runs.js';
import type { Authorship } from '#domain/definition/versions.js';
import { isPartial } from '#market/judge/market-warnings.js';
import { type DocumentReader, type DocumentTransaction, formatNumberedId, parseStored } from '#store/port.js';
import type { Context } from '../shared/context.js';
import { requireColumnsFile } from '../shared/run-documents.js';

/** Date on which a run and the valid published entry differ. */
export interface Disagreement {
  readonly date: string;
  /** Position of the date in the run; null if the run does not have the session. */
  readonly position: number | null;
}

const LEVELS = ['price', 'total', 'net'] as const;

interface DisagreementSizes {
  /**
   * Number of dates on which a level differs by more than rounding. On the other dates only the divisor, the
   * composition or the last digits differ.
   */
  readonly levels_changed: number;
  /** Earliest of the largest relative changes within rounding; null if only divisor or composition differ. */
  readonly largest: LevelChange | null;
}

const COMPARED_NUMBERS = ['price', 'total', 'net', 'divisor'] as const;

/**
 * Returns the dates on which a run and the valid published entries differ, in ascending order. Levels are rounded as the
 * index rounds them; a difference within rounding errors is none. Compares only dates that both cover.
 * @param entriesInForce entries by date
 */
export function findDisagreements(
  closes: IndexCloses,
  entriesInForce: ReadonlyMap<string, PublicationEntry>,
): Disagreement[] {
  const publishedDates = [...entriesInForce.keys()].toSorted();
  const [first, last] = [closes.dates[0], closes.dates.at(-1)];
  if (first === undefined || last === undefined || publishedDates.length === 0) return [];
  const from = first > publishedDates[0]! ? first : publishedDates[0]!;
  const to = last < publishedDates.at(-1)! ? last : publishedDates.at(-1)!;
  const positions = new Map(closes.dates.map((date, i) => [date, i]));
  const agreements = findAgreements(closes.dates.map((date, i) => compareClose(closes, i, entriesInForce.get(date))));
  return [...new Set([...publishedDates, ...closes.dates])]
    .filter((date) => date >= from && date <= to)
    .toSorted()
    .flatMap((date) => {
      const position = positions.get(date) ?? null;
      return position !== null && agreements[position]! ? [] : [{ date, position }];
    });
}

function compareClose(closes: IndexCloses, position: number, entry: PublicationEntry | undefined): ComparedClose {
  const isSame = (member: (typeof COMPARED_NUMBERS)[number]): boolean =>
    isSameNumber(closes[member][position]!, entry![member]);
  return {
    hasSameFigures: entry !== undefined && COMPARED_NUMBERS.every(isSame),
    hasSameComposition: entry !== undefined && closes.composition_hash[position] === entry.composition_hash,
    isRounded: closes.rounded[position]!,
    isTraded: closes.traded[position]!,
  };
}

/** Measures the differences of the levels that exist both in the run and in the entry. */
export function measureDisagreements(
  disagreements: readonly Disagreement[],
  closes: IndexCloses,
  entriesInForce: ReadonlyMap<string, PublicationEntry>,
): DisagreementSizes {
  let changedLevels = 0;
  let largest: LevelChange | null = null;
  for (const { date, position } of disagreements) {
    const changes = listLevelChanges(
      date,
      entriesInForce.get(date),
      position === null ? undefined : closeAt(closes, position),
    );
    if (changes.some(isBeyondRounding)) changedLevels++;
    for (const levelChange of changes) if (isLarger(levelChange, largest)) largest = levelChange;
  }
  return { levels_changed: changedLevels, largest };
}

/**
 * Maximum relative difference of two levels that only the order of additions can explain. After a price correction,
 * later closes differ by such amounts.
 */
const ROUNDING = 1e-12;

/** Returns true if two numbers are equal, or differ only by rounding errors. */
const isSameNumber = (run: number | null, published: number | null): boolean =>
  run === null || published === null ? run === published : Math.abs(run - published) <= ROUNDING * Math.abs(published);

const isBeyondRounding = ({ change, published }: LevelChange): boolean =>
  Math.abs(change) > ROUNDING * Math.abs(published);

const isLarger = ({ change, change_bps: bps }: LevelChange, largest: LevelChange | null): boolean =>
  largest === null ? change !== 0 : Math.abs(bps) > Math.abs(largest.change_bps) + 1e4 * ROUNDING;

/** Returns the changes of the levels of one close. @param position position of the date in the closes */
const listChangesOn = (
  date: string,
  position: number,
  {
    closes,
    entriesInForce,
  }: { readonly closes: IndexCloses; readonly entriesInForce: ReadonlyMap<string, PublicationEntry> },
): readonly LevelChange[] => listLevelChanges(date, entriesInForce.get(date), closeAt(closes, position));

type Levels = Pick<PublicationEntry, (typeof LEVELS)[number]>;

const closeAt = ({ price, total, net }: IndexCloses, position: number): Levels => ({
  price: price[position]!,
  total: total[position]!,
  net: net[position]!,
});

function listLevelChanges(date: string, entry: Levels | undefined, close: Levels | undefined): readonly LevelChange[] {
  return LEVELS.flatMap((variant) => {
    const [published, run] = [entry?.[variant] ?? null, close?.[variant] ?? null];
    if (published === null || run === null) return [];
    const change = run - published;
    return [{ date, variant, published, run, change, change_bps: (1e4 * change) / published }];
  });
}

/** Close for which some securities of the index have no bar. Its level uses earlier prices of these securities. */
interface PartialClose {
  readonly date: string;
  /** Number of securities that are held, and how many of them have no bar. */
  readonly held: number;
  readonly without_bar: number;
}

/** Maximum number of closes in the details of a refusal, and in its message. */
const LISTED_MAX = 100;
const NAMED_MAX = 5;

/**
 * Returns the partial closes of a run by date. On the last session, one security without a bar is enough, because its
 * bar may still arrive. On earlier dates the rule for partial dates of a store applies, because a single security may
 * be halted.
 */
export function findPartialCloses({
  dates,
  held,
  without_bar: missingPositions,
}: Pick<IndexCloses, 'dates' | 'held' | 'without_bar'>): ReadonlyMap<string, PartialClose> {
  const results = new Map<string, PartialClose>();
  for (const [i, date] of dates.entries()) {
    const isLast = i === dates.length - 1;
    if (isPartial(missingPositions[i]!, held[i]!) || (isLast && missingPositions[i]! > 0))
      results.set(date, { date, held: held[i]!, without_bar: missingPositions[i]! });
  }
  return results;
}

/** Refuses to publish partial closes unless the request permits them. @throws Refusal PARTIAL_CLOSES */
export function assertNoPartialClose(
  appendedCloses: readonly AppendedClose[],
  partialCloses: ReadonlyMap<string, PartialClose>,
  { allow_partial: isAllowed }: { readonly allow_partial: boolean },
): void {
  const refusals = appendedCloses.flatMap(({ date }) => partialCloses.get(date) ?? []);
  if (isAllowed || refusals.length === 0) return;
  const listedCloses = refusals.slice(0, NAMED_MAX).map((close) => `${close.date} (${formatCoverage(close)})`);
  const omissionNote =
    refusals.length > listedCloses.length ? ` and ${refusals.length - listedCloses.length} more` : '';
  throw new Refusal(
    'PARTIAL_CLOSES',
    `Constituents have no price on a date to publish: ${listedCloses.join(', ')}${omissionNote}. \`allow_partial\` (--allow-partial) publishes them anyway, and the log records it.`,
    { closes: refusals.slice(0, LISTED_MAX), total: refusals.length },
  );
}

/** Returns the reason of an entry with a partial close. @param reason reason in the request */
function formatPartialReason(close: PartialClose, reason: string | undefined): string {
  const message = `Published with ${formatCoverage(close)} of that date.`;
  return reason === undefined || reason.trim() === '' ? message : `${reason} (${message})`;
}

const formatCoverage = ({ held, without_bar: missingCount }: PartialClose): string =>
  `${missingCount} of ${held} names without a bar`;

export interface Log {
  readonly head: PublicationHead | undefined;
  /** Last entry of each published date. */
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
  /** Time of the last entry. */
  readonly lastAt: string | undefined;
}

/** Close that a publication appends to the log. */
export interface AppendedClose {
  /** Position in the closes of the run. */
  readonly position: number;
  readonly date: string;
  readonly kind: PublicationEntry['kind'];
}

/** Returns the closes to publish: first the restated closes, then the closes after the last published date. */
export function listAppendedCloses(
  { dates }: IndexCloses,
  log: Log,
  disagreements: readonly Disagreement[],
): AppendedClose[] {
  const last = findLastDate(log);
  const restatedCloses = disagreements.map(
    ({ date, position }) => ({ position: position!, date, kind: 'restatement' }) as const, // a missing session was refused
  );
  const newCloses = dates.flatMap((date, position) =>
    last === null || date > last ? [{ position, date, kind: 'close' } as const] : [],
  );
  return [...restatedCloses, ...newCloses];
}

interface EntryTerms {
  readonly run: RunDocument;
  readonly partialCloses: ReadonlyMap<string, PartialClose>;
  readonly request: PublishRequest;
  /** Reason for the first new close if it corrects a difference from earlier closes; otherwise null. */
  readonly correction: string | null;
  readonly by: Authorship;
  readonly at: string;
}

/** Place of an entry in its log, and the key that signs it. */
type EntryPlace = Pick<PublicationEntry, 'seq' | 'previous' | 'key_id'>;

/** Returns a function that creates the entry of a close without its hash and signature. */
export function createEntryWriter(closes: IndexCloses, appendedCloses: readonly AppendedClose[], terms: EntryTerms) {
  const { run, partialCloses, request, correction, by, at } = terms;
  const firstNew = appendedCloses.find(({ kind }) => kind === 'close');
  const findReason = (close: AppendedClose): string | null => {
    const partialClose = partialCloses.get(close.date);
    if (partialClose !== undefined) return formatPartialReason(partialClose, request.reason);
    if (close.kind === 'restatement') return request.reason!; // assertReasoned has ensured that the request has a reason
    return close === firstNew ? correction : null;
  };
  return (close: AppendedClose, place: EntryPlace): Omit<PublicationEntry, 'hash' | 'signature'> => ({
    index_id: run.index_id,
    date: close.date,
    kind: close.kind,
    price: closes.price[close.position]!,
    total: closes.total[close.position]!,
    net: closes.net[close.position]!,
    divisor: closes.divisor[close.position]!,
    composition_hash: closes.composition_hash[close.position]!,
    data_hash: run.store_content_hash ?? null,
    index_version: run.index_version ?? null,
    ...(run.calendar_version === undefined ? {} : { calendar_version: run.calendar_version }),
    engine: run.engine_version ?? null,
    reason: findReason(close),
    at,
    author: by.author,
    ...place,
  });
}

/** Returns the latest published date; null if no date is published. */
export function findLastDate(
  { entriesInForce }: Pick<Log, 'entriesInForce'>,
  entries: readonly PublicationEntry[] = [],
): string | null {
  let last: string | null = null;
  for (const { date } of [...entriesInForce.values(), ...entries]) if (last === null || date > last) last = date;
  return last;
}

interface ClosesTerms {
  readonly through: string | undefined;
  readonly calendar: Calendar | undefined;
  readonly signal: AbortSignal;
}

/** Returns the closes of a run up to a date. @throws Refusal NO_DATA_IN_RANGE */
export async function readCloses(
  { jobs, artifacts }: Context,
  run: RunDocument,
  { through, calendar, signal }: ClosesTerms,
): Promise<IndexCloses> {
  if (through !== undefined) assertReached(run, through, calendar);
  return jobs.query('run-closes', { columns: await requireColumnsFile(artifacts, run), through }, signal);
}

/**
 * Refuses a last date that the run does not reach: a session up to that date has no close, or the first close is later.
 * @throws Refusal NO_DATA_IN_RANGE
 */
function assertReached(
  { start: first, end: last }: RunDocument,
  through: string,
  calendar: Calendar | undefined,
): void {
  const detail = { through, first, last };
  if (through < first)
    throw new Refusal('NO_DATA_IN_RANGE', `through ${through} is before the first close of the run, ${first}.`, detail);
  const { sessions } = calendar ?? {};
  const next = sessions?.[findLastAtMost(sessions, parseValidDay(last)) + 1];
  // On a closed day after the last session, no close is missing.
  if (through <= last || (next !== undefined && next > parseValidDay(through))) return;
  const message = `through ${through} is after the last close of the run, ${last}: run the index up to it first, or publish through ${last}.`;
  throw new Refusal('NO_DATA_IN_RANGE', message, detail);
}

/** Closes of a run, the published entries, and the dates on which they differ. */
interface DifferingCloses {
  readonly closes: IndexCloses;
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
  readonly disagreements: readonly Disagreement[];
}

/** Treatment of the differences between a run and its log under a policy. */
interface ErrorTreatment {
  readonly decided: DecidedError;
  /** Dates to publish again. */
  readonly restated: readonly Disagreement[];
}

/**
 * Applies a policy to the differences between a run and the published entries. If the exchange was closed on a
 * published session, the difference of that session is its move from the previous session; it cannot be restated.
 * @param isClosed returns true for a recorded closure of the calendar
 * @returns undefined if nothing differs, or if another published session is missing in the run
 */
export function treatErrors(
  policy: ErrorPolicy,
  differingCloses: DifferingCloses,
  isClosed: (date: string) => boolean = () => false,
): ErrorTreatment | undefined {
  const { disagreements, closes } = differingCloses;
  if (disagreements.length === 0) return undefined;
  if (disagreements.some(({ date, position }) => position === null && !isClosed(date))) return undefined;
  const differences = disagreements.map(({ date, position }) => {
    const row = position ?? closes.dates.findLastIndex((other) => other < date); // the run begins before a session that it lacks
    const sizes = listChangesOn(date, row, differingCloses).map(({ change_bps }) => Math.abs(change_bps));
    return { date, bps: Math.max(0, ...sizes), age: closes.dates.length - row };
  });
  const decidedError = decideError(policy, differences);
  const { decision, materialFrom } = decidedError;
  if (decision !== 'restated') return { decided: decidedError, restated: [] };
  const restatements = disagreements.filter(({ date, position }) => position !== null && date >= materialFrom!);
  if (restatements.length > 0) return { decided: decidedError, restated: restatements };
  const reason = `${decidedError.reason} A close on a day without a session cannot be restated.`;
  return { decided: { ...decidedError, decision: 'announced', reason }, restated: restatements };
}

/**
 * Returns the publication request that a policy requires. Closes within the policy's window are restated, with the
 * reason of the policy unless the request has one.
 */
export function createTreatedRequest(request: PublishRequest, treatment: ErrorTreatment | undefined): PublishRequest {
  if (treatment === undefined) return request;
  const { decision, reason } = treatment.decided;
  return decision === 'restated' ? { ...request, restate: true, reason: request.reason ?? reason } : request;
}

/** Error before it is numbered. */
export type NewError = Omit<PublishedError, 'seq'>;

interface TreatedErrors extends Omit<DifferingCloses, 'disagreements'> {
  readonly disagreements: readonly Disagreement[];
  readonly treatment: ErrorTreatment | undefined;
  readonly request: PublishRequest;
}

interface RegisterTerms {
  readonly indexId: string;
  readonly runId: string;
  readonly restated: number;
  readonly at: string;
  readonly by: Authorship;
}

/** Returns the register entry for a publication. Returns null if the run agrees with the published entries. */
export function createLevelError(
  { disagreements: allDisagreements, treatment, request, ...pair }: TreatedErrors,
  terms: RegisterTerms,
): NewError | null {
  if (allDisagreements.length === 0) return null;
  const differingCloses = { ...pair, disagreements: allDisagreements };
  const { indexId, runId, restated, at, by } = terms;
  // Without a policy, this statement is reached only if a person restates closes.
  const decision = treatment?.decided.decision ?? 'restated';
  const reason = treatment?.decided.reason ?? request.reason!;
  const [first, last] = [allDisagreements[0]!.date, allDisagreements.at(-1)!.date];
  const { largest } = measureDisagreements(allDisagreements, pair.closes, pair.entriesInForce);
  // A policy restates closes from the first material difference on. Earlier closes keep their entries.
  const disagreements = decision === 'restated' && treatment !== undefined ? treatment.restated : allDisagreements;
  const unchangedCount =
    disagreements.length - measureDisagreements(disagreements, pair.closes, pair.entriesInForce).levels_changed;
  const span = { first: disagreements[0]!.date, last: disagreements.at(-1)!.date };
  return {
    index_id: indexId,
    at,
    author: by.author,
    decision,
    policy: (treatment && request.error_policy) ?? null,
    first,
    last,
    dates: allDisagreements.length,
    material_from: treatment?.decided.materialFrom ?? null,
    restated,
    largest,
    run_id: runId,
    reason,
    notice: formatNotice({ indexId, decision, ...span, same: unchangedCount, largest, reason }),
    digest: computeDigest(differingCloses),
  };
}

/** Values of a session that was not published. */
const ABSENT_CLOSE = { price: null, total: null, net: null, composition_hash: null };

/**
 * Returns a digest of the figures that differ. It does not depend on the run that produced them, nor on later closes.
 */
function computeDigest({ disagreements, closes, entriesInForce }: DifferingCloses): string {
  const pairs = disagreements.map(({ date, position }) => {
    const { price, total, net, composition_hash } = entriesInForce.get(date) ?? ABSENT_CLOSE;
    if (position === null) return [date, [price, total, net, composition_hash], null];
    const run = [closes.price[position], closes.total[position], closes.net[position]];
    return [date, [price, total, net, composition_hash], [...run, closes.composition_hash[position]]];
  });
  return createHash('sha256').update(toCanonicalJson(pairs)).digest('hex');
}

function formatNotice({
  indexId,
  decision,
  first,
  last,
  same,
  largest,
  reason,
}: Pick<NewError, 'decision' | 'first' | 'last' | 'largest' | 'reason'> & {
  readonly indexId: string;
  /** Number of closes whose levels differ at most by rounding. */
  readonly same: number;
}): string {
  const isSingle = first === last;
  const datesText = isSingle ? `the close of ${first}` : `closes from ${first} to ${last}`;
  const [were, differ, stand] = isSingle ? ['was', 'differs', 'stands'] : ['were', 'differ', 'stand'];
  const kindText = {
    restated: `${indexId}: ${datesText} ${were} published again.`,
    announced: `${indexId}: ${datesText} ${were} wrong and ${stand} as published. Later closes are correct.`,
    left: `${indexId}: ${datesText} ${differ} immaterially and ${stand} as published.`,
  }[decision];
  if (largest === null) return `${kindText} ${reason}`;
  const sizeText = `Largest change: ${largest.variant} return level of ${largest.date} from ${roundShown(largest.published)} to ${roundShown(largest.run)}.`;
  const equalLevels = same === 0 ? '' : ` The levels of ${same} of them are the same within rounding.`;
  return `${kindText} ${sizeText}${equalLevels} ${reason}`;
}

/** Rounds a level to eight significant digits. A difference of a ten-thousandth of a basis point remains visible. */
const roundShown = (level: number | null): number | null => level && Number(level.toPrecision(8));

const KIND = 'publication-error';

/**
 * Returns the reason to add to the first new close if earlier closes differ but are not restated. Returns null if the
 * register already contains the difference.
 */
export async function readCorrection(
  reader: Pick<DocumentReader, 'get' | 'lastNumber'>,
  error: NewError | null,
): Promise<string | null> {
  if (error === null || error.decision === 'restated' || (await isRegistered(reader, error))) return null;
  return error.notice;
}

/**
 * Returns true if the last registered error of an index has the same figures and the same decision. A restatement
 * always counts as new.
 */
async function isRegistered(
  reader: Pick<DocumentReader, 'get' | 'lastNumber'>,
  { index_id: indexId, digest, decision }: Pick<NewError, 'index_id' | 'digest' | 'decision'>,
): Promise<boolean> {
  if (decision === 'restated') return false;
  const last = await reader.lastNumber(KIND, indexId);
  const error = last > 0 ? await readError(reader, indexId, last) : undefined;
  return error?.digest === digest && error.decision === decision;
}

/** Adds an error to the register of its index, unless the last registered error has the same figures and decision. */
export async function registerError(tx: DocumentTransaction, error: NewError): Promise<void> {
  if (await isRegistered(tx, error)) return;
  const seq = (await tx.lastNumber(KIND, error.index_id)) + 1;
  await tx.put(KIND, formatNumberedId(error.index_id, seq), { seq, ...error } satisfies PublishedError);
}

export async function listRegisteredErrors(
  reader: Pick<DocumentReader, 'get' | 'lastNumber'>,
  indexId: string,
  limit: number,
): Promise<readonly PublishedError[]> {
  const last = await reader.lastNumber(KIND, indexId);
  const numbers = Array.from({ length: Math.min(limit, last) }, (_, k) => last - k);
  const storedErrors = await Promise.all(numbers.map((seq) => readError(reader, indexId, seq)));
  return storedErrors.filter((error) => error !== undefined);
}

async function readError(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  seq: number,
): Promise<PublishedError | undefined> {
  const storedDocument = await reader.get(KIND, formatNumberedId(indexId, seq));
  return parseStored(storedDocument, PublishedError);
}
