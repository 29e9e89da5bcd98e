import { findBreachRule } from '../compliance/breach-watch.js';
import { changesMembers } from '../documents/events-spec.js';
import { findCountedShares } from '../documents/share-terms.js';
import { findOverlayType } from '../overlays/catalogue.js';
import { AMENDABLE_MEMBERS, FIXED_TREATMENT } from '../documents/amendment.js';
import { amendText } from '../documents/amended-texts.js';
import {
  IndexDocument,
  isOverlayDocument,
  listSources,
  listWatchlists,
  type UniverseSpec,
} from '../documents/index-document.js';
import type { Finding } from '../refusals/findings.js';
import { createError, isObject, type UncheckedBody } from './index-context.js';

/**
 * Reports amendments out of order, members that cannot be amended, and amended documents that are invalid.
 * @param check returns the findings of a document without amendments
 */
export function checkAmendments(body: UncheckedBody, check: (text: UncheckedBody) => readonly Finding[]): Finding[] {
  const { amendments, ...first } = body;
  if (!Array.isArray(amendments) || !amendments.every(isAmendment)) return [];
  const findings = [
    ...reportOrder(amendments, first),
    ...amendments.flatMap(reportAnnouncement),
    ...amendments.flatMap(reportMembers),
  ];
  if (findings.length > 0) return findings;
  let text: UncheckedBody = first;
  const reportedKeys = new Set(check(first).map(getKey));
  return amendments.flatMap((amendment, k) => {
    const before = text;
    text = amendText(before, amendment) as UncheckedBody; // The result of patching an object is an object.
    const matches = [...check(text), ...findFixedMembers(first, text)].filter(
      (finding) => finding.severity === 'error' && !reportedKeys.has(getKey(finding)),
    );
    for (const finding of matches) reportedKeys.add(getKey(finding)); // Later versions contain the invalid change as well.
    return [
      ...matches.map((finding) => moveToChanges(finding, k)),
      ...reportIdleAmendment({ before, text, amendment }, k),
    ];
  });
}

/** Warns of an amendment that changes nothing, and of an amendment without a later review. */
function reportIdleAmendment(
  {
    before,
    text,
    amendment,
  }: { readonly before: UncheckedBody; readonly text: UncheckedBody; readonly amendment: RequestedAmendment },
  k: number,
): Finding[] {
  const path = `amendments[${k}]`;
  const about = { severity: 'warning', code: 'NO_EFFECT' } as const;
  if (JSON.stringify(before) === JSON.stringify(text)) {
    const message = `${path}.changes changes nothing, because the document already has these values.`;
    return [{ ...about, path: `${path}.changes`, message }];
  }
  const { rebalance, reviews, overlay } = text;
  const isReviewed = !isObject(rebalance) || rebalance['frequency'] !== 'none' || reviews !== undefined;
  if (isReviewed || overlay !== undefined || amendment.rebalance === true) return [];
  const message = `${path} never takes effect, because the index has no review on or after ${amendment.effective_from}. Set rebalance to true, or add a schedule to the amendment.`;
  return [{ ...about, path: `${path}.effective_from`, message }];
}

/** Returns a finding of an amended document with the path in the amendment, also in its message. */
function moveToChanges({ path, message, ...finding }: Finding, k: number): Finding {
  const sentPath = path === '' ? `amendments[${k}].changes` : `amendments[${k}].changes.${path}`;
  const isNamed = path !== '' && message.startsWith(`${path} `);
  return { ...finding, path: sentPath, message: isNamed ? `${sentPath}${message.slice(path.length)}` : message };
}

const getKey = ({ code, path, message }: Finding): string => JSON.stringify([code, path, message]);

interface RequestedAmendment {
  readonly effective_from: string;
  readonly announced?: unknown;
  readonly rebalance?: unknown;
  readonly changes: UncheckedBody;
}

const isAmendment = (value: unknown): value is RequestedAmendment =>
  isObject(value) && typeof value['effective_from'] === 'string' && isObject(value['changes']);

function reportOrder(amendments: readonly RequestedAmendment[], { base_date: base }: UncheckedBody): Finding[] {
  return amendments.flatMap(({ effective_from: date }, k) => {
    const [before, what] =
      k === 0 ? [base, 'the base date'] : [amendments[k - 1]!.effective_from, 'the date of the previous amendment'];
    if (typeof before !== 'string' || date > before) return [];
    const path = `amendments[${k}].effective_from`;
    return [
      createError('INVALID_RANGE', path, `${path} is ${date}; it must be after ${what}, ${before}.`, { value: date }),
    ];
  });
}

/** Reports an amendment that is announced after its effective date. */
function reportAnnouncement({ announced, effective_from: date }: RequestedAmendment, k: number): Finding[] {
  if (typeof announced !== 'string' || announced <= date) return [];
  const path = `amendments[${k}].announced`;
  const message = `${path} is ${announced}; it must be on or before effective_from, ${date}.`;
  return [createError('INVALID_RANGE', path, message, { value: announced })];
}

function reportMembers({ changes }: RequestedAmendment, k: number): Finding[] {
  const path = `amendments[${k}].changes`;
  const unknownMembers = Object.keys(changes).filter(
    (member) => !(AMENDABLE_MEMBERS as readonly string[]).includes(member),
  );
  const { pipeline, universe } = changes;
  return [
    ...unknownMembers.map((member) =>
      createError('UNKNOWN_FIELD', `${path}.${member}`, describeUnknownMember(member), {
        accepted: [...AMENDABLE_MEMBERS],
      }),
    ),
    ...findFixedTreatment(isObject(pipeline) ? pipeline['treatment'] : undefined, `${path}.pipeline.treatment`),
    ...(isObject(universe) && listWatchlists(universe as unknown as UniverseSpec).length > 0
      ? [
          createError(
            'NOT_IN_CHOICES',
            `${path}.universe`,
            'An amendment needs a list of identifiers; a watchlist is not allowed because it can change.',
          ),
        ]
      : []),
  ];
}

/** Reports changes of return variant and reinvestment. These determine the series of an index on all sessions. */
function findFixedTreatment(treatment: unknown, path: string): Finding[] {
  if (treatment === undefined) return [];
  if (!isObject(treatment)) return [createError('IMMUTABLE_FIELD', path, 'An amendment cannot remove treatment.')];
  return FIXED_TREATMENT.filter((member) => member in treatment).map((member) =>
    createError(
      'IMMUTABLE_FIELD',
      `${path}.${member}`,
      `An amendment cannot change ${member}, which must be constant over all sessions.`,
    ),
  );
}

/** Reports changes of members that must be equal in all versions. */
function findFixedMembers(first: UncheckedBody, text: UncheckedBody): Finding[] {
  return [...findFixedOverlay(first, text), ...requireFixedCounts(first, text), ...requireSingleWatch(first, text)];
}

/** Reports changes of the type, the currencies or the underlying indices of an overlay. */
function findFixedOverlay(first: UncheckedBody, text: UncheckedBody): Finding[] {
  const [before, after] = [first, text].map((one) => IndexDocument.safeParse(one).data);
  if (before === undefined || after === undefined) return []; // The checks of that version report a missing overlay.
  if (!isOverlayDocument(before) && !isOverlayDocument(after)) return [];
  const readUnchanged = (document: IndexDocument): string => {
    if (!isOverlayDocument(document)) return '';
    const type = findOverlayType(document.overlay);
    const { overlay } = document;
    return JSON.stringify([overlay.type, listSources(document), type.currency(overlay), type.weighed(overlay)]);
  };
  if (readUnchanged(before) === readUnchanged(after)) return [];
  const message = 'An amendment cannot change the type, the currencies or the underlying indices of an overlay.';
  return [createError('IMMUTABLE_FIELD', 'overlay', message)];
}

/** Requires that all versions follow the same share counts between reviews: with free float, or without. */
function requireFixedCounts(first: UncheckedBody, text: UncheckedBody): Finding[] {
  const [before, after] = [first, text].map((one) => {
    const { data } = IndexDocument.safeParse(one);
    return data?.events?.share_changes === 'effective' ? findCountedShares(data.pipeline?.weighting) : null;
  });
  if (before === null || after === null || before === after) return [];
  const message = 'An amendment cannot change if share counts between reviews include free float.';
  return [createError('IMMUTABLE_FIELD', 'pipeline.weighting', message)];
}

/** Requires that changes between reviews have the same trigger in all versions: breaches or events. */
function requireSingleWatch(first: UncheckedBody, text: UncheckedBody): Finding[] {
  const [before, after] = [first, text].map((one) => IndexDocument.safeParse(one).data);
  const hasBreachRule = (one: IndexDocument | undefined): boolean => findBreachRule(one?.pipeline?.treatment) !== null;
  const hasMemberChanges = (one: IndexDocument | undefined): boolean => changesMembers(one?.events);
  const isMixed =
    (hasBreachRule(before) && hasMemberChanges(after)) || (hasBreachRule(after) && hasMemberChanges(before));
  if (!isMixed) return [];
  const message =
    'One version rebalances on breaches, and another version changes constituents by events. An index can use only one of these.';
  return [createError('IMMUTABLE_FIELD', 'pipeline.treatment.on_breach', message)];
}

function describeUnknownMember(member: string): string {
  const hint = member === 'treatment' ? ' treatment is a member of pipeline.' : '';
  return `An amendment cannot change ${member}; it can change ${AMENDABLE_MEMBERS.join(', ')}.${hint}`;
}
