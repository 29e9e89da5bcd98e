import type { ComponentChildren } from 'preact';
import type { DocumentVersion, VersionDifference } from '#clients/typescript/divisor.js';
import { useExchanges } from '../../state/market.js';
import { useResource } from '../../state/service.js';
import { parsePointer } from '../../words/labels.js';
import { countValues } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { createFieldFormatter, type FieldFormatter, formatField } from './field-words.js';
import { listVersions, readDifference, readVersion, useTypes, type VersionedFamily } from './history.js';

type Change = VersionDifference['changes'][number];

/** Number of newest versions whose changes are read. Each needs a request. */
const READ_MAX = 30;
/** Maximum number of changes that are stated of a version. */
const STATED_MAX = 2;

/** Formats a change of a field, for example `Base value from 500 points to 700 points`. */
function formatChangedField(
  { path: pointer, op, before, after }: Change,
  words: FieldFormatter,
  document: JsonObject,
): string {
  const path = parsePointer(pointer);
  const formatValue = (value: unknown) => words.value(path, value as Json, document); // values of a JSON document
  const name = formatField(words, path, document);
  if (op === 'add') return `${name} added`;
  if (op === 'remove') return `${name} removed`;
  return `${name} from ${formatValue(before)} to ${formatValue(after)}`;
}

/** Returns what each of the newest versions changed, by version number. Empty until the changes are known. */
export function useChangeSummaries(
  family: VersionedFamily,
  versions: readonly DocumentVersion[],
): ReadonlyMap<number, string> {
  const { kind, id } = family;
  const stored = versions.filter(({ action }) => action !== 'deleted').slice(0, READ_MAX);
  const newest = stored[0]?.version;
  const types = useTypes(family);
  const exchanges = useExchanges();
  const changes = useResource(
    stored.length < 2 ? null : `changes of ${kind} ${id} ${newest}`,
    (signal) => readChanges(family, stored, signal),
    { isLater: true },
  );
  const document = useResource(stored.length < 2 ? null : `version ${kind} ${id} ${newest}`, (signal) =>
    readVersion(family, newest!, signal),
  ).data as JsonObject | undefined;
  if (changes.data === undefined || document === undefined) return new Map();
  const words = createFieldFormatter(types, exchanges);
  return new Map(changes.data.map(([version, list]) => [version, formatChanges(list, words, document)]));
}

const readChanges = (family: VersionedFamily, versions: readonly DocumentVersion[], signal: AbortSignal) =>
  Promise.all(
    versions.slice(0, -1).map(async ({ version }, k) => {
      const query = { from: versions[k + 1]!.version, to: version };
      const { changes } = await readDifference(family, query, signal);
      return [version, changes] as const;
    }),
  );

function formatChanges(changes: readonly Change[], words: FieldFormatter, document: JsonObject): string {
  if (changes.length === 0) return 'no field';
  const texts = changes.slice(0, STATED_MAX).map((change) => formatChangedField(change, words, document));
  const more = changes.length - texts.length;
  return `${texts.join('; ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export interface ChangedFieldsProps extends VersionedFamily {
  /** Version from which changes are listed. */
  readonly since: number;
  readonly formatAddress: (from: number, to: number) => string;
  /** Text shown until the changes are known, and if the document has no newer version. */
  readonly otherwise: ComponentChildren;
}

/** Maximum number of changes in the sentence. */
const LISTED_MAX = 3;

/** Renders the first changes since a version in a sentence, and a link to the comparison with the newest version. */
export function ChangedFields({ since, formatAddress, otherwise, ...family }: ChangedFieldsProps) {
  const { kind, id } = family;
  const newest = useResource(`versions ${kind} ${id}`, (signal) => listVersions(family, signal)).data?.versions[0];
  const to = newest !== undefined && newest.version > since ? newest.version : null;
  const difference = useResource(to === null ? null : `difference ${kind} ${id} ${since} ${to}`, (signal) =>
    readDifference(family, { from: since, to: to! }, signal),
  );
  const document = useResource(to === null ? null : `version ${kind} ${id} ${to}`, (signal) =>
    readVersion(family, to!, signal),
  ).data as JsonObject | undefined;
  const types = useTypes(family);
  const exchanges = useExchanges();
  const changes = difference.data?.changes ?? [];
  if (to === null || changes.length === 0 || document === undefined || types === undefined) return <>{otherwise}</>;
  const words = createFieldFormatter(types, exchanges);
  const texts = changes.slice(0, LISTED_MAX).map((change) => formatChangedField(change, words, document));
  const more = changes.length - texts.length;
  return (
    <>
      Version {to} changes {texts.join('; ')}
      {more > 0 && `; and ${countValues(more, 'more field')}`}.{' '}
      <a href={formatAddress(since, to)}>
        Compare versions {since} and {to}
      </a>
    </>
  );
}
