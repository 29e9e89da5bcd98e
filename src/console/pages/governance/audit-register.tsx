import '../index/publication/publication.css';
import { useEffect, useState } from 'preact/hooks';
import type { AuditLog, PublicKey } from '#clients/typescript/divisor.js';
import { Button } from '../../components/controls/button.js';
import { Badge } from '../../components/feedback.js';
import { Facts } from '../../components/layout/facts.js';
import { createNumericColumn } from '../../components/table/columns.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { formatAddress } from '../../state/location.js';
import { service } from '../../state/service.js';
import {
  formatApprovalAddress,
  formatClosuresAddress,
  formatGovernanceAddress,
  formatIndexAddress,
  formatPluginAddress,
  formatRiskModelAddress,
  formatScheduleAddress,
  formatStrategyAddress,
  formatTemplateAddress,
  formatWatchlistAddress,
  storeAddress,
} from '../../words/addresses.js';
import { createMomentFigure, formatMoment } from '../../words/dates.js';
import { countValues, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { canVerify, computeHash, createVerifier, type Verifier } from '../index/verify-entries.js';
import type { Range, Register } from './register.js';

type Entry = AuditLog['entries'][number];
type Seal = AuditLog['seals'][number];

/** Result of the verification of a part of the audit log. */
interface AuditVerdict {
  /** Number of valid entries at the start of the part. */
  readonly sound: number;
  /** Latest signature that signs an entry of the part; null if the part contains none. */
  readonly seal: Seal | null;
  /** True if the signature was verified. False if there is none, or if the browser does not support Ed25519. */
  readonly isSigned: boolean;
  /** Error of the first invalid entry; null if all entries are valid. */
  readonly fault: string | null;
}

/**
 * Verifies consecutive entries of the audit log in the browser: their hashes, and the latest signature of one of them.
 * The service need not be trusted.
 * @cost 0.1 ms per entry, on other threads
 */
async function verifyAudit({ entries, seals, keys }: AuditLog): Promise<AuditVerdict> {
  const hashes = await Promise.all(entries.map(computeHash));
  const faultPosition = entries.findIndex(
    (entry, i) => findLinkFault(entry, entries[i - 1]) !== null || hashes[i] !== entry.hash,
  );
  if (faultPosition >= 0) {
    const entry = entries[faultPosition]!; // `findIndex` found it
    const fault = findLinkFault(entry, entries[faultPosition - 1]) ?? 'its hash does not match its content';
    return { sound: faultPosition, seal: null, isSigned: false, fault: `entry ${entry.seq}: ${fault}` };
  }
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  const seal = seals.findLast(({ seq }) => bySeq.has(seq)) ?? null;
  const valid = { sound: entries.length, seal, isSigned: false, fault: null };
  if (seal === null) return valid;
  const fault = await findSealFault(seal, bySeq.get(seal.seq)!, keys);
  if (fault === undefined) return valid;
  return fault === null ? { ...valid, isSigned: true } : { ...valid, sound: 0, fault };
}

/**
 * Returns the error in the number of an entry or in its link to the previous entry; null if there is none. If a reader
 * may see only some documents, the numbers have gaps.
 */
function findLinkFault(entry: Entry, before: Entry | undefined): string | null {
  if (before === undefined || entry.seq > before.seq + 1) return null;
  if (entry.seq <= before.seq) return `its number ${entry.seq} is not after ${before.seq}`;
  return entry.previous === before.hash ? null : 'its previous hash does not match the previous entry';
}

/**
 * Returns the error of a signature. Returns null if it is valid, and undefined if the browser does not support Ed25519.
 */
async function findSealFault(seal: Seal, entry: Entry, keys: readonly PublicKey[]): Promise<string | null | undefined> {
  if (seal.entry_hash !== entry.hash) return `the signature of entry ${seal.seq} covers another hash`;
  if ((await computeHash(seal)) !== seal.hash) return `the signature of entry ${seal.seq} does not match its content`;
  const key = keys.find(({ key_id: id }) => id === seal.key_id);
  if (key === undefined) return `the key ${seal.key_id} of the signature is unknown`;
  const verify: Verifier | null = await createVerifier(key);
  if (verify === null) return undefined;
  return (await verify(seal.hash, seal.signature, seal.at))
    ? null
    : `the signature does not match the key ${seal.key_id}`;
}

/**
 * Renders the last hash and the signature of the listed part of the log. Also shows if the browser could verify them.
 */
function AuditChain({ log }: { readonly log: AuditLog }) {
  const [verdict, setVerdict] = useState<AuditVerdict | null>(null);
  useEffect(() => {
    if (!canVerify()) return undefined;
    let isShown = true;
    void verifyAudit(log).then((found) => isShown && setVerdict(found));
    return () => {
      isShown = false;
    };
  }, [log]);
  const last = log.entries.at(-1);
  if (last === undefined) return null;
  const seal = verdict?.seal ?? log.seals.findLast(({ seq }) => seq <= last.seq);
  return (
    <Facts
      facts={[
        ['Chain', <State verdict={verdict} />],
        ['Last hash', <code style={{ overflowWrap: 'anywhere' }}>{last.hash}</code>],
        [
          'Signed',
          seal && (
            <>
              entry {formatCount(seal.seq)} at {formatMoment(seal.at)} by the key <code>{seal.key_id}</code>
            </>
          ),
        ],
      ]}
    />
  );
}

function State({ verdict }: { readonly verdict: AuditVerdict | null }) {
  if (verdict === null)
    return <>{canVerify() ? 'being verified' : 'a browser can verify only over HTTPS or on this machine'}</>;
  const { sound, seal, isSigned, fault } = verdict;
  if (fault !== null)
    return (
      <>
        <Badge kind="bad">broken</Badge> {fault}
      </>
    );
  const signedText = isSigned
    ? ' and the latest signature'
    : seal === null
      ? '; none of them is the end of a signed part'
      : '';
  return (
    <>
      <Badge kind="good">verified</Badge> the hashes of {countValues(sound, 'entry', 'entries')}
      {signedText}
    </>
  );
}

/** Returns the address of a document of the audit log. Returns null if the document has no page. */
function formatDocumentAddress(kind: string, id: string): string | null {
  const [owner = '', entry = ''] = id.split('/');
  switch (kind) {
    case 'index':
    case 'run':
      return formatIndexAddress(id);
    case 'publication':
      return formatAddress(formatIndexAddress(owner), { tab: 'publication' });
    case 'publication-error':
      return formatAddress(formatGovernanceAddress('errors'), { entry: `${owner} ${Number(entry)}` });
    case 'strategy':
      return formatStrategyAddress(id);
    case 'plugin':
      return formatPluginAddress(id);
    case 'template':
      return formatTemplateAddress(id);
    case 'render':
      return formatAddress('/console/reports', { render: id });
    case 'risk-model':
      return formatRiskModelAddress(id);
    case 'optimisation-run':
      return `/console/optimise/runs/${encodeURIComponent(id)}`;
    case 'store':
      return storeAddress(id);
    case 'data-version':
      return formatAddress(storeAddress(id), { tab: 'versions' });
    case 'watchlist':
      return formatWatchlistAddress(id);
    case 'closures':
      return formatClosuresAddress(id);
    case 'client':
    case 'procedure':
      return formatGovernanceAddress(`${kind}s`, id);
    case 'schedule':
      return formatScheduleAddress(id);
    case 'judgement':
      return formatAddress(formatGovernanceAddress('judgements'), { entry: `${owner} ${Number(entry)}` });
    case 'action-decision':
      return formatAddress('/console/actions', { action: id });
    case 'approval':
      return formatApprovalAddress(Number(entry));
    default:
      return null;
  }
}

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
