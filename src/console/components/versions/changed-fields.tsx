import type { ComponentChildren } from 'preact';
import { useExchanges } from '../../state/exchanges.js';
import { useResource } from '../../state/resource.js';
import { countValues } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { formatChangedField } from './change-summary.js';
import { listVersions, readDifference, readVersion, useTypes, type VersionedFamily } from './families.js';
import { createFieldFormatter } from './field-words.js';

export interface ChangedFieldsProps extends VersionedFamily {
  /** Version from which changes are listed. */
  readonly since: number;
  /** Address of the comparison of two versions. */
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
