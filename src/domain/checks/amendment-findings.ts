import { AMENDABLE } from '../documents/amendment.js';
import { amended } from '../documents/amended-texts.js';
import { IndexDocument, watchlistsIn, type UniverseSpec } from '../documents/index-document.js';
import { countedShares, holdsPrices } from '../documents/share-terms.js';
import type { Finding } from '../refusals/findings.js';
import { error, isObject, type Raw } from './index-context.js';

/** Treatment decides how levels follow from prices, which a run does in one way from its first session to its last. */
const FIXED = 'treatment is the same from the first session to the last';

/**
 * Amendments out of order, members that none can change, and texts that are no valid document.
 * @param check findings of a document without amendments
 */
export function amendmentFindings(body: Raw, check: (text: Raw) => readonly Finding[]): Finding[] {
  const { amendments, ...first } = body;
  if (!Array.isArray(amendments) || !amendments.every(isAmendment)) return [];
  if (isObject(body['overlay']) && amendments.length > 0)
    return [error('NO_EFFECT', 'amendments', 'An overlay cannot be amended: amend the index beneath it.')];
  const findings = [...orderFindings(amendments, first), ...amendments.flatMap(memberFindings)];
  if (findings.length > 0) return findings;
  let text: Raw = first;
  return amendments.flatMap((amendment, k) => {
    text = amended(text, amendment) as Raw; // A patch of an object is one.
    return [...check(text).filter(({ severity }) => severity === 'error'), ...bookFindings(first, text)].map(
      (finding) => ({ ...finding, path: `amendments[${k}].changes.${finding.path}` }),
    );
  });
}

/** Members that say what prices and actions do to index shares: a run does it in one way. */
function bookFindings(first: Raw, text: Raw): Finding[] {
  const [before, after] = [IndexDocument.safeParse(first), IndexDocument.safeParse(text)];
  if (!before.success || !after.success) return [];
  const [had, has] = [before.data, after.data].map(({ events, pipeline }) => ({
    share_changes: events?.share_changes ?? 'review',
    threshold: events?.share_changes === 'effective' ? events.threshold : null,
    acquirer: events?.acquirer ?? 'convert',
    counted: events?.share_changes === 'effective' ? countedShares(pipeline?.weighting) : null,
    prices: holdsPrices(pipeline?.weighting),
  }));
  const fixed = (path: string, name: string): Finding =>
    error('IMMUTABLE_FIELD', path, `An amendment cannot change ${name}: it ${SHARES_FIXED}.`);
  return [
    ...(['share_changes', 'threshold', 'acquirer'] as const)
      .filter((member) => had![member] !== has![member])
      .filter((member, _, changed) => member !== 'threshold' || !changed.includes('share_changes'))
      .map((member) => fixed(`events.${member}`, `events.${member}`)),
    ...(had!.prices !== has!.prices || had!.counted !== has!.counted
      ? [fixed('pipeline.weighting', 'between fixed index shares, share counts followed between reviews and others')]
      : []),
  ];
}

const SHARES_FIXED = 'decides what becomes of index shares from the first session to the last';

interface Sent {
  readonly effective_from: string;
  readonly changes: Raw;
}

const isAmendment = (value: unknown): value is Sent =>
  isObject(value) && typeof value['effective_from'] === 'string' && isObject(value['changes']);

function orderFindings(amendments: readonly Sent[], { base_date: base }: Raw): Finding[] {
  return amendments.flatMap(({ effective_from: date }, k) => {
    const [before, what] = k === 0 ? [base, 'the base date'] : [amendments[k - 1]!.effective_from, 'the one before'];
    if (typeof before !== 'string' || date > before) return [];
    const path = `amendments[${k}].effective_from`;
    return [error('INVALID_RANGE', path, `${path} is ${date}; it must be after ${what}, ${before}.`, { value: date })];
  });
}

function memberFindings({ changes }: Sent, k: number): Finding[] {
  const path = `amendments[${k}].changes`;
  const unknown = Object.keys(changes).filter((member) => !(AMENDABLE as readonly string[]).includes(member));
  const { pipeline, universe } = changes;
  return [
    ...unknown.map((member) =>
      error('UNKNOWN_FIELD', `${path}.${member}`, unknownMessage(member), { accepted: [...AMENDABLE] }),
    ),
    ...(isObject(pipeline) && 'treatment' in pipeline
      ? [error('IMMUTABLE_FIELD', `${path}.pipeline.treatment`, `An amendment cannot change treatment: ${FIXED}.`)]
      : []),
    ...(isObject(universe) && watchlistsIn(universe as unknown as UniverseSpec).length > 0
      ? [
          error(
            'NOT_IN_CHOICES',
            `${path}.universe`,
            'An amendment names a list instead of a watchlist, which can change.',
          ),
        ]
      : []),
  ];
}

function unknownMessage(member: string): string {
  const where = member === 'treatment' ? ' treatment is a member of pipeline.' : '';
  return `An amendment cannot change ${member}; it can change ${AMENDABLE.join(', ')}.${where}`;
}
