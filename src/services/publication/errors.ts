import { createHash } from 'node:crypto';
import type { PublishRequest } from '#contract/publication.js';
import {
  type IndexCloses,
  type DecidedError,
  decideError,
  type ErrorPolicy,
  type PublicationEntry,
  PublishedError,
} from '#domain/definition/publication.js';
import type { Authorship } from '#domain/definition/versions.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { formatNumberedId } from '#store/document-identity.js';
import { type DocumentReader, type DocumentTransaction, parseStored } from '#store/port.js';
import { type Disagreement, listChangesOn, measureDisagreements } from './closes.js';

/** Closes of a run, the published entries, and the dates on which they differ. */
export interface DifferingCloses {
  readonly closes: IndexCloses;
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
  readonly disagreements: readonly Disagreement[];
}

/** Treatment of the differences between a run and its log under a policy. */
export interface ErrorTreatment {
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
