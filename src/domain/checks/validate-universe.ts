import { isSetKind, isTooDeep, SET_KINDS, UniverseSpec } from '../documents/index-document.js';
import type { Finding } from '../refusals/findings.js';
import { createError, isObject, type IndexContext, type UncheckedBody } from './index-context.js';
import { findUnknownMembers } from './unknown-members.js';
import { checkReference } from './validate-reference.js';

/** Checks the universe of a document: its kind, the members that the kind requires, and the indices it refers to. */
export function checkUniverse(body: UncheckedBody, { indexOf }: IndexContext): Finding[] {
  const universe = body['universe'];
  if (universe === undefined) return [];
  if ((isObject(body['derivation']) || isObject(body['overlay'])) && !isObject(body['pipeline'])) {
    const indexKind = isObject(body['derivation']) ? 'A derived index' : 'An overlay';
    return [
      createError(
        'PIPELINE_XOR_DERIVATION',
        'universe',
        `${indexKind} has the constituents of its source, so it cannot have a universe.`,
      ),
    ];
  }
  if (isTooDeep(universe))
    return [createError('OUT_OF_RANGE', 'universe', 'The sets of the universe are nested too deeply.')];
  return listUniverseFields(universe, { path: 'universe', ownId: body['id'], indexOf });
}

interface UniverseLocation {
  readonly path: string;
  readonly ownId: unknown;
  readonly indexOf: IndexContext['indexOf'];
}

function listUniverseFields(universe: unknown, place: UniverseLocation): Finding[] {
  if (!isObject(universe)) return [];
  const { path, ownId, indexOf } = place;
  const { kind, id, identifiers } = universe;
  const foreignMembers = Object.entries(KINDS_OF_MEMBER).filter(
    ([member, kinds]) => isPresent(universe[member]) && !kinds.includes(kind as string),
  );
  if (kind === undefined && foreignMembers.length > 0) return [createMissingKindFinding(path, ...foreignMembers[0]!)];
  if (isKind(kind) && foreignMembers.length > 0)
    return foreignMembers.map(([member, kinds]) => reportOtherKind(kind, { path, member, kinds }));
  if (kind === 'list' && (!Array.isArray(identifiers) || identifiers.length === 0)) {
    return [
      createError(
        'REQUIRED',
        `${path}.identifiers`,
        `${path}.identifiers must contain at least 1 identifier for a list.`,
      ),
    ];
  }
  if (kind === 'watchlist' && (universe['watchlist_id'] === undefined || universe['watchlist_id'] === null))
    return [createError('REQUIRED', `${path}.watchlist_id`, `${path}.watchlist_id is required by the kind watchlist.`)];
  if ((kind === 'named' || kind === 'index') && (id === undefined || id === null))
    return [createError('REQUIRED', `${path}.id`, `${path}.id is required by the kind ${kind}.`)];
  if (isSetKind(kind)) return reportSet(universe, kind, place);
  return kind === 'index' && typeof id === 'string' ? checkReference(id, ownId, `${path}.id`, indexOf) : [];
}

/** Checks the members and parts of a set of universes. */
function reportSet(universe: UncheckedBody, kind: string, place: UniverseLocation): Finding[] {
  const { path } = place;
  const parts = universe['of'];
  if (!Array.isArray(parts))
    return [createError('REQUIRED', `${path}.of`, `${path}.of is required by the kind ${kind}.`)];
  const unknownFindings = [universe, ...parts].flatMap((part, i) =>
    findUnknownMembers(part, Object.keys(UniverseSpec.shape), i === 0 ? path : `${path}.of[${i - 1}]`),
  );
  return [
    ...unknownFindings,
    ...parts.flatMap((part, i) => listUniverseFields(part, { ...place, path: `${path}.of[${i}]` })),
  ];
}

/**
 * Kinds of universes that accept each member. The kind `watchlist` accepts identifiers, because runs add its
 * securities.
 */
const KINDS_OF_MEMBER: Readonly<Record<string, readonly string[]>> = {
  id: ['named', 'index'],
  watchlist_id: ['watchlist'],
  identifiers: ['list', 'watchlist'],
  of: SET_KINDS,
};

const isKind = (kind: unknown): kind is UniverseSpec['kind'] => UniverseSpec.shape.kind.safeParse(kind).success;

const isPresent = (value: unknown) =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

const createMissingKindFinding = (path: string, member: string, kinds: readonly string[]): Finding =>
  createError(
    'REQUIRED',
    `${path}.kind`,
    `${path}.kind (${kinds.join(' or ')}) is required together with ${path}.${member}. Without ${path}.kind, the universe contains all securities.`,
    { accepted: [...kinds] },
  );

interface ForeignMember {
  readonly path: string;
  readonly member: string;
  readonly kinds: readonly string[];
}

const reportOtherKind = (kind: string, { path, member, kinds }: ForeignMember): Finding =>
  createError(
    'NOT_IN_CHOICES',
    `${path}.kind`,
    `${path}.${member} applies only to the kind ${kinds.join(' or ')}, but ${path}.kind is ${kind}.`,
    { accepted: [...kinds], value: kind },
  );
