import './versions.css';
import { useState } from 'preact/hooks';
import type { DocumentVersion, VersionDifference, VersionList } from '#clients/typescript/divisor.js';
import { tryAction } from '../../state/actions.js';
import { getParameter, setParameters } from '../../state/location.js';
import { usePlainSentences } from '../../state/market.js';
import { formatOverviewKey, readOverview } from '../../state/runs.js';
import { createTrouble, may, notifyChange, useResource } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatMoment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { Button } from '../controls/button.js';
import { Select } from '../controls/choice.js';
import { Answered, Badge, type BadgeKind } from '../feedback.js';
import { Field } from '../form/field.js';
import { JsonDocument } from '../layout/facts.js';
import { Section } from '../layout/page.js';
import type { Column } from '../table/model.js';
import { Table } from '../table/table.js';
import { ChangeTable, FieldTable, Sentences } from './change-table.js';
import { useChangeSummaries } from './changed-fields.js';
import {
  getScope,
  listVersions,
  readDifference,
  readVersion,
  restoreVersion,
  useTypes,
  type VersionedFamily,
  type VersionsProps,
} from './history.js';

/** Renders the date, author and reason of a version. A narrow table hides these columns. */
const VersionFacts = ({ version: { at, author, note, action } }: { readonly version: DocumentVersion }) => (
  <p>
    {/* The reason of a restoration already says so. */}
    {`${action === 'restored' ? 'Saved' : action.charAt(0).toUpperCase() + action.slice(1)} ${formatMoment(at, true)} by ${author}`}
    {note === null ? <span class="quiet">, without a reason.</span> : `: ${note}`}
  </p>
);

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
function Difference({ of, version: shown, newest, all, onRestored }: DifferenceProps) {
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
      } else await tryAction(() => Promise.reject(thrown));
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
      <div class="flow gap-3 version-restore">
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

function VersionFields({ of, version }: { readonly of: VersionedFamily; readonly version: number }) {
  const read = useResource(`version ${of.kind} ${of.id} ${version}`, (signal) => readVersion(of, version, signal));
  const types = useTypes(of);
  if (read.data === undefined) return null;
  return <FieldTable label={`Version ${version} of ${of.id}`} document={read.data as JsonObject} types={types} />;
}

/** Renders the document at a version as JSON. It is folded at first. */
function Document({ of, version }: { readonly of: VersionedFamily; readonly version: number }) {
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

/** Renders the author, date, reason and changes of each version, and restores an earlier version. */
export function Versions({ kind, id, onRestored }: VersionsProps) {
  const family = { kind, id };
  const list = useResource(`versions ${family.kind} ${family.id}`, (signal) => listVersions(family, signal));
  return (
    <Answered resource={list} what="the versions">
      {(found) => (
        <VersionRows
          of={family}
          list={found}
          onReload={() => {
            list.reload();
            onRestored?.();
          }}
        />
      )}
    </Answered>
  );
}

const SEARCHED_MIN = 8;

interface VersionRowsProps {
  readonly of: VersionedFamily;
  readonly list: VersionList;
  onReload(): void;
}

function VersionRows({ of, list: { versions, total }, onReload }: VersionRowsProps) {
  // The newest version is open by default. If it is the first version, nothing is open, because there is no version to
  // compare it with.
  const openVersion =
    versions.find(({ version }) => String(version) === getParameter('version')) ??
    (versions.length > 1 ? versions[0] : undefined);
  const summaries = useChangeSummaries(of, versions);
  const runVersion = useRunVersion(of);
  return (
    <div class="stack gap-4 versions">
      <Table
        label={`versions of ${of.id}`}
        name="versions"
        columns={createColumns(summaries, runVersion)}
        rows={versions}
        getKey={({ version }) => String(version)}
        openKey={openVersion === undefined ? null : String(openVersion.version)}
        onOpen={({ version }) => setParameters({ version: String(version), against: null })}
        {...(versions.length > SEARCHED_MIN
          ? { searchIn: ({ author, note, action }: DocumentVersion) => `${author} ${note ?? ''} ${action}` }
          : {})}
        height={360}
      />
      {total > versions.length && (
        <p class="quiet">
          The newest {versions.length} of {countValues(total, 'version')}.
        </p>
      )}
      {openVersion === undefined ? (
        versions[0] !== undefined && <OnlyVersion of={of} version={versions[0]} />
      ) : (
        <Difference
          key={openVersion.version}
          of={of}
          version={openVersion}
          newest={versions[0]!}
          all={versions}
          onRestored={onReload}
        />
      )}
    </div>
  );
}

/** Returns the version of the displayed run of an index or strategy. Returns null if there is none. */
function useRunVersion({ kind, id }: VersionedFamily): number | null {
  const hasRuns = kind === 'index' || kind === 'strategy';
  const run = useResource(hasRuns ? formatOverviewKey(id) : null, (signal) => readOverview(id, signal));
  return run.data?.index_version ?? null;
}

/** Renders the document of a first version. It has no changes. */
function OnlyVersion({ of, version: only }: { readonly of: VersionedFamily; readonly version: DocumentVersion }) {
  const { version } = only;
  return (
    <Section title={`Version ${version}`} aside="all fields with a value, and the defaults of the rules">
      <VersionFacts version={only} />
      <VersionFields of={of} version={version} />
      <Document of={of} version={version} />
    </Section>
  );
}

const ACTIONS: Readonly<Record<string, BadgeKind>> = { created: 'good', deleted: 'bad', restored: 'info' };

/** @param runVersion version of the displayed run; null if there is none */
const createColumns = (
  summaries: ReadonlyMap<number, string>,
  runVersion: number | null,
): readonly Column<DocumentVersion>[] => [
  {
    id: 'version',
    title: 'Version',
    width: runVersion === null ? 76 : 96,
    show: ({ version }) => (
      <>
        <strong>{version}</strong> {version === runVersion && <Badge kind="info">run</Badge>}
      </>
    ),
  },
  {
    id: 'action',
    title: 'Action',
    width: 92,
    show: ({ action }) => <Badge kind={ACTIONS[action] ?? 'plain'}>{action}</Badge>,
  },
  {
    id: 'fields',
    title: 'Changed fields',
    width: 150,
    grow: 4,
    priority: 4,
    value: ({ version }) => summaries.get(version) ?? null,
    show: ({ version }) => <span title={summaries.get(version)}>{summaries.get(version)}</span>,
  },
  { id: 'at', title: 'When', width: 196, show: ({ at }) => formatMoment(at, true) },
  { id: 'author', title: 'Who', width: 100, priority: 3, showBelow: ({ author }) => `by ${author}` },
  {
    id: 'note',
    title: 'Reason',
    width: 120,
    grow: 3,
    priority: 2,
    show: ({ note }) => <span title={note ?? undefined}>{note}</span>,
  },
];
