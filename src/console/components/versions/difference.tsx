import type { DocumentVersion, VersionDifference } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { attempt } from '../../state/actions.js';
import { getParameter, setParameters } from '../../state/location.js';
import { usePlainSentences } from '../../state/plain-sentences.js';
import { may } from '../../state/principal.js';
import type { JsonObject } from '../../words/paths.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { createTrouble } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { Button } from '../button.js';
import { Select } from '../choice.js';
import { Field } from '../form/field.js';
import { JsonDocument } from '../json-document.js';
import { Section } from '../page.js';
import { Answered } from '../wait.js';
import { ChangeTable, FieldTable, Sentences } from './change-table.js';
import { readDifference, readVersion, restoreVersion, getScope, useTypes, type VersionedFamily } from './families.js';
import { VersionFacts } from './version-facts.js';

interface DifferenceProps {
  readonly of: VersionedFamily;
  readonly version: DocumentVersion;
  readonly newest: DocumentVersion;
  readonly all: readonly DocumentVersion[];
  /** Called after a version was restored. */
  onRestored(): void;
}

/**
 * Renders the changes since another version, by default the previous one. Also renders the document at the selected
 * version, and the button that restores it.
 */
export function Difference({ of, version: shown, newest, all, onRestored }: DifferenceProps) {
  const { version, action } = shown;
  const earlier = all.find((one) => one.version < version);
  const against = all.find((one) => String(one.version) === getParameter('against')) ?? earlier;
  const query = against === undefined ? null : { from: against.version, to: version };
  const difference = useResource(
    query === null ? null : `difference ${of.kind} ${of.id} ${query.from} ${query.to}`,
    (signal) => readDifference(of, query!, signal),
    { keeps: true },
  );
  const isWhole = action !== 'deleted';
  return (
    <>
      <Section
        title={`Version ${version}`}
        aside={
          against !== undefined && (
            <Select
              label="Changed since"
              isLabelShown
              options={all
                .filter((one) => one.version !== version)
                .map((one) => ({ value: String(one.version), text: `version ${one.version}` }))}
              value={String(against.version)}
              onChoose={(chosen) => setParameters({ against: chosen === String(earlier?.version) ? null : chosen })}
            />
          )
        }
      >
        <VersionFacts version={shown} />
        {against === undefined ? (
          <p class="quiet">The oldest version that is kept.</p>
        ) : (
          <Answered resource={difference} what="the difference">
            {(found) => <Changes of={of} difference={found} />}
          </Answered>
        )}
      </Section>
      {isWhole && version !== newest.version && may(getScope(of.kind)) && (
        <Restore of={of} version={version} newest={newest} onRestored={onRestored} />
      )}
      {isWhole && (of.kind === 'index' || of.kind === 'strategy') && (
        <Section title={`All fields of version ${version}`}>
          <VersionFields of={of} version={version} />
        </Section>
      )}
      {isWhole && <Document of={of} version={version} />}
    </>
  );
}

interface ChangesProps {
  readonly of: VersionedFamily;
  readonly difference: VersionDifference;
}

function Changes({ of, difference: { to, changes, sentences } }: ChangesProps) {
  const { added, removed } = sentences;
  // Rows of lists have the names that the document contains.
  const hasRows = changes.some(({ path }) => /\/\d/.test(path));
  const document = useResource(hasRows ? `version ${of.kind} ${of.id} ${to}` : null, (signal) =>
    readVersion(of, to, signal),
  );
  const types = useTypes(of);
  const formatSentence = usePlainSentences();
  if (changes.length === 0) return <p class="quiet">No differences.</p>;
  return (
    <>
      <Sentences removed={removed.map(formatSentence)} added={added.map(formatSentence)} />
      <ChangeTable
        label="Changes by field"
        changes={changes}
        document={document.data as JsonObject | undefined}
        types={types}
      />
    </>
  );
}

interface RestoreProps extends Pick<DifferenceProps, 'of' | 'newest' | 'onRestored'> {
  readonly version: number;
}

/**
 * Renders the form that restores a version. The request fails if a newer version was stored since the page was loaded.
 */
function Restore({ of, version, newest, onRestored }: RestoreProps) {
  const [note, setNote] = useState('');
  const [isBusy, setBusy] = useState(false);
  const difference = useResource(
    newest.action === 'deleted' ? null : `difference ${of.kind} ${of.id} ${newest.version} ${version}`,
    (signal) => readDifference(of, { from: newest.version, to: version }, signal),
  );
  const restore = async () => {
    setBusy(true);
    try {
      const ifMatch = newest.action === 'deleted' ? undefined : newest.etag;
      const why = note === '' ? `Restored version ${version}` : `Restored version ${version}: ${note}`;
      await restoreVersion(of, { version, ifMatch, note: why });
      showToast('good', `${of.id} is restored to version ${version}.`);
      setParameters({ version: null, against: null });
      notifyChange();
      onRestored();
    } catch (thrown) {
      if (createTrouble(thrown).code === 'PRECONDITION_FAILED') {
        showToast('bad', 'Someone saved another version in the meantime. Review it first.');
        onRestored();
      } else await attempt(() => Promise.reject(thrown));
    }
    setBusy(false);
  };
  return (
    <Section
      title={`Restore version ${version}`}
      aside={`what this changes in version ${newest.version}, the current one`}
    >
      {newest.action === 'deleted' ? (
        <p class="quiet">The document was deleted. Restoring brings back all of it.</p>
      ) : (
        <Answered resource={difference} what="the changes">
          {(found) => <Changes of={of} difference={found} />}
        </Answered>
      )}
      <div class="version-restore">
        <Field
          spec={{ name: 'note', label: 'Reason', kind: 'text' }}
          value={note}
          findings={[]}
          onChange={(value) => setNote(typeof value === 'string' ? value : '')}
        />
        <Button disabled={isBusy} onClick={() => void restore()}>
          Restore version {version}
        </Button>
      </div>
    </Section>
  );
}

/** Renders the fields of the document at a version. */
export function VersionFields({ of, version }: { readonly of: VersionedFamily; readonly version: number }) {
  const read = useResource(`version ${of.kind} ${of.id} ${version}`, (signal) => readVersion(of, version, signal));
  const types = useTypes(of);
  if (read.data === undefined) return null;
  return <FieldTable label={`Version ${version} of ${of.id}`} document={read.data as JsonObject} types={types} />;
}

/** Renders the document at a version as JSON. It is folded at first. */
export function Document({ of, version }: { readonly of: VersionedFamily; readonly version: number }) {
  const [isOpen, setOpen] = useState(false);
  const document = useResource(isOpen ? `version ${of.kind} ${of.id} ${version}` : null, (signal) =>
    readVersion(of, version, signal),
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Document at version {version}</summary>
      {isOpen && (
        <Answered resource={document} what="the document">
          {(value) => <JsonDocument label={`Version ${version} as JSON`} value={value} />}
        </Answered>
      )}
    </details>
  );
}
