import type { PublishRequest } from '#contract/publication.js';
import type { PublicationEntry } from '#domain/documents/publication-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { measureDisagreements, type Closes, type Disagreement } from './disagreements.js';

/** Maximum number of dates that a refusal names. */
const NAMED_DATES_MAX = 100;

/** Closes of a run, and the published entries. */
interface ComparedCloses {
  readonly closes: Closes;
  /** Valid entry of each published date. This is the last entry for that date. */
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
}

/**
 * Refuses a run that differs from published closes, unless the request restates them. A session that is missing in the
 * run is always refused. Closes are also refused if the log would get a jump that no index had.
 * @throws Refusal RESTATEMENT
 */
export function assertAllowed(
  disagreements: readonly Disagreement[],
  { restate }: PublishRequest,
  comparedCloses: ComparedCloses,
): void {
  assertPublishedUnchanged(disagreements, restate, comparedCloses);
  assertStartOverlaps(disagreements, comparedCloses);
  assertEndReached(disagreements, comparedCloses);
}

function assertPublishedUnchanged(
  disagreements: readonly Disagreement[],
  restate: PublishRequest['restate'],
  comparedCloses: ComparedCloses,
): void {
  const refusedDisagreements = restate ? disagreements.filter(({ position }) => position === null) : disagreements;
  if (refusedDisagreements.length === 0) return;
  const dates = refusedDisagreements.map(({ date }) => date);
  const message = restate
    ? `The run has no close on ${refusedDisagreements.length} published dates, the first on ${dates[0]}: a session cannot be restated away. After a recorded closure, publish with an error policy.`
    : `The run disagrees with ${describeCloses(refusedDisagreements, comparedCloses)}. A published close changes only by a restatement with a reason.`;
  throw refuseRestatement(message, { dates, disagreements: refusedDisagreements }, comparedCloses);
}

/** Describes the closes that differ, and how many of them differ in a level by more than rounding. */
function describeCloses(disagreements: readonly Disagreement[], { closes, entriesInForce }: ComparedCloses): string {
  const { length } = disagreements;
  const { date } = disagreements[0]!;
  const { levels_changed: changed } = measureDisagreements(disagreements, closes, entriesInForce);
  const closesText =
    length === 1 ? `1 published close, that of ${date}` : `${length} published closes, the first on ${date}`;
  return changed === length ? closesText : `${closesText}; of which ${changed} in a level by more than rounding`;
}

/**
 * Refuses a run that starts after the first published close, unless it agrees with the log on the dates that both have.
 * Otherwise the log would contain a jump that no index had.
 */
function assertStartOverlaps(disagreements: readonly Disagreement[], comparedCloses: ComparedCloses): void {
  const { closes, entriesInForce } = comparedCloses;
  const firstDate = closes.dates[0]!; // a run has at least one close
  const dates = [...entriesInForce.keys()].filter((date) => date < firstDate).toSorted();
  const hasNoOverlap = dates.length === entriesInForce.size;
  if (dates.length === 0 || (disagreements.length === 0 && !hasNoOverlap)) return;
  const message = `The run begins on ${firstDate}, the published log on ${dates[0]!}: its closes do not continue the ${dates.length} before them. Run the index from ${dates[0]!} on.`;
  throw refuseRestatement(message, { dates, disagreements }, comparedCloses);
}

/**
 * Refuses closes that end before the last published close and differ there. The later closes come from another run, so
 * the log would contain a jump that no index had.
 */
function assertEndReached(disagreements: readonly Disagreement[], comparedCloses: ComparedCloses): void {
  const { closes, entriesInForce } = comparedCloses;
  const end = closes.dates.at(-1)!; // a run has at least one close
  const dates = [...entriesInForce.keys()].filter((date) => date > end).toSorted();
  if (dates.length === 0 || disagreements.at(-1)?.date !== end) return;
  const lastDate = dates.at(-1)!;
  const message = `The closes end on ${end}, the published log on ${lastDate}: the ${dates.length} after them do not continue them. Restate with a run through ${lastDate}.`;
  throw refuseRestatement(message, { dates, disagreements }, comparedCloses);
}

interface RefusedDates {
  /** Published dates that the refusal concerns, ascending. */
  readonly dates: readonly string[];
  /** Differences, of which the refusal states the sizes. */
  readonly disagreements: readonly Disagreement[];
}

function refuseRestatement(
  message: string,
  { dates, disagreements }: RefusedDates,
  { closes, entriesInForce }: ComparedCloses,
): Refusal {
  return new Refusal('RESTATEMENT', message, {
    dates: dates.slice(0, NAMED_DATES_MAX),
    total: dates.length,
    ...measureDisagreements(disagreements, closes, entriesInForce),
  });
}
