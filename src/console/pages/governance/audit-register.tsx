import type { AuditLog } from '#clients/typescript/divisor.js';
import { Button } from '../../components/button.js';
import { createNumericColumn } from '../../components/table/columns.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { service } from '../../state/service.js';
import { formatMoment, createMomentFigure } from '../../words/dates.js';
import { formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { AuditChain } from './audit-chain.js';
import { formatDocumentAddress } from './audited-documents.js';
import type { Range, Register } from './register.js';

/** Audit entry with the part of the log that contains it. */
type AuditEntry = AuditLog['entries'][number] & {
  readonly log: AuditLog;
  /** Change that the request of an approval asks for; null for other entries. */
  readonly requested: string | null;
  /** True if the document was deleted by this or a later entry of the range. */
  readonly isDeleted: boolean;
};

/** Maximum number of entries that the page lists. The exported file contains the full range. */
const LISTED_MAX = 5000;
const LOG_MEDIA = 'application/x-ndjson';

/** Creates the query for a range of whole days. */
const createQuery = ({ from, to }: Range) => ({ start: from, end: `${to}T23:59:59.999Z` });

async function saveExtract(range: Range): Promise<void> {
  const bytes = await service.value.download('getAudit', LOG_MEDIA, { query: createQuery(range) });
  saveFile(`audit-${range.from}-${range.to}.ndjson`, bytes);
}

/** Formats a kind with spaces, for example `data version` for `data-version`. */
const formatKind = (kind: string): string => kind.replaceAll('-', ' ');

/** Formats an id without leading zeros, for example `EVEN, entry 3` for the third entry of a log, or `5` for an approval. */
const formatId = (kind: string, id: string): string =>
  id.replace(/^(.*)\/0*(\d+)$/, (_, of: string, number: string) => (of === kind ? number : `${of}, entry ${number}`));

/** Reads the changes that the approvals of a log ask for. */
async function readRequests({ entries }: AuditLog, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const entryByNumber = new Map(
    entries.flatMap(({ kind, id }) => (kind === 'approval' ? [[Number(id.split('/').at(-1)), id] as const] : [])),
  );
  if (entryByNumber.size === 0) return new Map();
  const { approvals } = await service.value.call('listApprovals', { query: { limit: REQUESTS_MAX }, signal });
  return new Map(approvals.map(({ approval_id: id, summary }) => [`approval ${entryByNumber.get(id)}`, summary]));
}

/** Maximum number of approvals in a response. */
const REQUESTS_MAX = 500;

export const auditRegister: Register<AuditEntry> = {
  title: 'Audit log',
  guide: 'governance',
  brief: 'Each write and each publication, in a signed chain of hashes.',
  label: 'audit log',
  empty: ['No entry in this range', 'Choose other dates.'],
  sort: { column: 'seq', direction: 'desc' },
  hasRange: true,
  scope: 'audit',
  async read(range, signal) {
    const log = await service.value.call('getAudit', { query: { ...createQuery(range), limit: LISTED_MAX }, signal });
    const requests = await readRequests(log, signal);
    const lastActions = new Map(log.entries.map(({ kind, id, action }) => [`${kind} ${id}`, action])); // oldest first
    return log.entries.map((entry) => {
      const key = `${entry.kind} ${entry.id}`;
      return {
        ...entry,
        log,
        requested: requests.get(key) ?? null,
        isDeleted: lastActions.get(key) === 'deleted',
      };
    });
  },
  above: ([first]) => first && <AuditChain log={first.log} />,
  getKey: ({ seq }) => String(seq),
  searchIn: ({ author, action, kind, id, note, requested }) =>
    `${author} ${action} ${kind} ${formatKind(kind)} ${formatId(kind, id)} ${requested ?? ''} ${note ?? ''}`,
  groupLabel: 'Document',
  formatGroup: ({ kind }) => formatKind(kind),
  summarise(rows) {
    const last = rows
      .map(({ at }) => at)
      .toSorted()
      .at(-1);
    const endFigure = last === undefined ? { value: MISSING_TEXT } : createMomentFigure(last);
    return [
      {
        term: 'Entries',
        value: formatCount(rows.length),
        note: rows.length < LISTED_MAX ? 'in the range' : 'the first of the range',
      },
      { term: 'Authors', value: formatCount(new Set(rows.map(({ author }) => author)).size) },
      { term: 'Documents', value: formatCount(new Set(rows.map(({ kind, id }) => `${kind} ${id}`)).size) },
      { term: 'Latest entry', ...endFigure },
    ];
  },
  actions: (range) => <Button onClick={() => void attempt(() => saveExtract(range))}>Download the extract</Button>,
  columns: [
    createNumericColumn({
      id: 'seq',
      title: 'No.',
      width: 58,
      priority: 0,
      of: ({ seq }) => seq,
      write: formatCount,
    }),
    { id: 'at', title: 'Time', width: 180, value: ({ at }) => at, show: ({ at }) => formatMoment(at, true) },
    { id: 'author', title: 'Author', width: 68, ideal: 80, priority: 5, value: ({ author }) => author },
    { id: 'action', title: 'Action', width: 76, ideal: 84, priority: 2, value: ({ action }) => action },
    { id: 'kind', title: 'Document', width: 100, ideal: 116, value: ({ kind }) => formatKind(kind) },
    {
      id: 'id',
      title: 'Id',
      width: 190,
      below: 'titled',
      value: ({ kind, id }) => formatId(kind, id),
      show: (entry) => <DocumentLink {...entry} />,
      showBelow: ({ kind, id }) => formatId(kind, id),
    },
    { id: 'version', title: 'Version', width: 76, align: 'right', priority: 6, value: ({ version }) => version },
    {
      id: 'note',
      title: 'Note',
      width: 120,
      ideal: 300,
      grow: 60,
      priority: 3,
      value: ({ note, requested }) => requested ?? note ?? '',
    },
  ],
  listFacts: ({
    requested,
    at,
    author,
    key_id: key,
    action,
    kind,
    id,
    version,
    request_id: request,
    etag,
    hash,
    run_id: run,
  }) => [
    ['Time', formatMoment(at, true)],
    ['Author', author],
    ['Key', key ?? MISSING_TEXT],
    ['Action', action],
    ['Document', `${formatKind(kind)} ${formatId(kind, id)}`],
    ['Requested change', requested],
    ['Key of the document', `${kind} ${id}`],
    ['Version', version],
    ['Run', run ?? null],
    ['Request', request === '' ? MISSING_TEXT : request],
    ['Content', etag],
    ['Hash', hash],
  ],
  listTexts: ({ note }) => [['Note', note]],
};

/** Renders the id of a document as a link to its page. A deleted document has no page. */
function DocumentLink({ kind, id, isDeleted }: Pick<AuditEntry, 'kind' | 'id' | 'isDeleted'>) {
  const address = isDeleted ? null : formatDocumentAddress(kind, id);
  return address === null ? <>{formatId(kind, id)}</> : <a href={address}>{formatId(kind, id)}</a>;
}
