import type { GovernanceOverview, Procedure } from '#clients/typescript/divisor.js';
import { countValues } from '../../words/numbers.js';

/** Parts of a client that its delivery requires. */
interface ClientParts {
  readonly enabled: boolean;
  readonly entitlements: readonly unknown[];
  readonly targets: readonly unknown[];
}

/**
 * Returns the state of delivery to a client. A delivery needs something that the client may receive, and a destination.
 */
export function getClientState({ enabled, entitlements, targets }: ClientParts): {
  readonly text: string;
  readonly kind: 'plain' | 'warning' | 'good';
} {
  if (!enabled) return { text: 'disabled', kind: 'plain' };
  if (entitlements.length === 0) return { text: 'not entitled', kind: 'warning' };
  return targets.length === 0 ? { text: 'no target', kind: 'warning' } : { text: 'enabled', kind: 'good' };
}

/** Returns true if an enabled client can receive nothing. */
export const isIncomplete = (client: ClientParts): boolean => getClientState(client).kind === 'warning';

export const KIND_TEXTS: Readonly<Record<Procedure['kind'], string>> = {
  cessation: 'Cessation of an index, or transition to another index: conditions, notice, successor.',
  errors: 'Errors in published closes: threshold, window, notice.',
  judgement: 'Expert judgement: who exercises it, in which order, and how it is recorded.',
  inputs: 'Input data: sources, their hierarchy, checks.',
  review: 'Review of methodologies: interval, participants, consultation of clients.',
  complaints: 'Complaints: recipient, deadlines, records.',
  conflicts: 'Conflicts of interest: identification, separation, disclosure.',
  oversight: 'Oversight function: members, terms of reference, meetings.',
  controls: 'Control framework: business continuity, access, outsourcing.',
};

export const WORK_KINDS = Object.keys(KIND_TEXTS) as readonly Procedure['kind'][]; // Object.keys returns plain strings.

/** Returns the kinds without a procedure, in the order of the principles. */
export const listMissingKinds = (procedures: readonly Pick<Procedure, 'kind'>[]): readonly Procedure['kind'][] =>
  WORK_KINDS.filter((kind) => !procedures.some((procedure) => procedure.kind === kind));

export const listUncoveredIndices = (
  kind: Procedure['kind'],
  procedures: readonly Pick<Procedure, 'kind' | 'indices'>[],
  ids: readonly string[],
): readonly string[] =>
  ids.filter(
    (id) => !procedures.some((one) => one.kind === kind && (one.indices === null || one.indices.includes(id))),
  );

/** Returns the procedures whose review was due before a day. */
export const listOverdue = <P extends Pick<Procedure, 'review_by'>>(procedures: readonly P[], today: string) =>
  procedures.filter(({ review_by: date }) => date != null && date < today);

type StatementState = GovernanceOverview['statements'][number];

/** Returns true if the published closes follow an earlier version of the definition than the newest. */
export const hasUnpublishedVersion = ({
  version,
  published_version: published,
}: Pick<StatementState, 'version' | 'published_version'>): boolean =>
  version !== null && published !== null && version !== published;

/** Describes what a statement lacks, for example `version 2 not published`. Returns an empty list if it is complete. */
export const listMissingParts = (state: Pick<StatementState, 'version' | 'published_version' | 'to_complete'>) => [
  ...(hasUnpublishedVersion(state) ? [`version ${state.version} not published`] : []),
  ...(state.to_complete.length === 0 ? [] : [`${countValues(state.to_complete.length, 'section')} to complete`]),
];
