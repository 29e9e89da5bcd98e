import type { DocumentVersion, VersionList } from '#clients/typescript/divisor.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { formatOverviewKey, readOverview } from '../../state/run-questions.js';
import { formatMoment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import { Badge, type BadgeKind } from '../badge.js';
import { Section } from '../page.js';
import { Table } from '../table/table.js';
import type { Column } from '../table/columns.js';
import { Answered } from '../wait.js';
import { useChangeSummaries } from './change-summary.js';
import { Difference, Document, VersionFields } from './difference.js';
import { listVersions, type VersionedFamily, type VersionsProps } from './families.js';
import { VersionFacts } from './version-facts.js';
import './versions.css';

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

/** Number of versions above which they can be searched. */
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
    <div class="versions">
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
    value: ({ version }) => version,
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
    value: ({ action }) => action,
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
  { id: 'at', title: 'When', width: 196, value: ({ at }) => at, show: ({ at }) => formatMoment(at, true) },
  {
    id: 'author',
    title: 'Who',
    width: 100,
    priority: 3,
    value: ({ author }) => author,
    showBelow: ({ author }) => `by ${author}`,
  },
  {
    id: 'note',
    title: 'Reason',
    width: 120,
    grow: 3,
    priority: 2,
    value: ({ note }) => note,
    show: ({ note }) => <span title={note ?? undefined}>{note}</span>,
  },
];
