import { createHash } from 'node:crypto';
import {
  BUNDLE_BYTES_MAX,
  type BundleManifest,
  MANIFEST_FILE,
  type PublicationEntry,
} from '#domain/definition/publication.js';
import type { RunDocument } from '#domain/definition/runs.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import { signHash } from '#store/history/publication-log.js';
import { computeStatementHash } from '#store/history/log-check.js';
import { computeRunId } from '#store/port.js';
import type { EarlierContentFiles } from '#jobs/tasks/messages.js';
import type { Context, VersionedMarket } from '../shared/context.js';
import { readRunList, readStoredPlan, requireRun } from '../shared/run-documents.js';
import type { PublicationRequest, Publications, SigningKeys } from './publications.js';
import { findIndex } from '../indices/documents.js';
import { addDefaultsToPlan } from '#domain/definition/index-validation.js';
import { resolveRunModelFiles } from '../shared/model-documents.js';

/** Archive as a sequence of parts. */
export interface Bundle {
  readonly parts: Iterable<Uint8Array>;
  readonly length: number;
}

/** Archives from which anybody can recompute the published closes of an index. */
export interface Bundles {
  /**
   * Creates the archive of an index.
   * @throws Refusal NOTHING_PUBLISHED, INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, NO_DATA_SOURCE, STORE_MISMATCH,
   * VERSION_NOT_FOUND, NO_DATA_KNOWN, NOT_REPRODUCED
   */
  of(indexId: string, request: PublicationRequest): Promise<Bundle>;
}

/** @param archive writes files as one archive */
export function createBundles(
  context: Context,
  publications: Pick<Publications, 'entries' | 'keys'>,
  signingKeys: Pick<SigningKeys, 'current'>,
  archive: (members: readonly { readonly name: string; readonly bytes: Uint8Array }[]) => Bundle,
): Bundles {
  const { documents, artifacts, jobs, dataVersions, stores, states, timestamp } = context;

  async function findPublishedRun(indexId: string): Promise<RunDocument> {
    const [id] = (await readRunList(documents, indexId)).published;
    if (id !== undefined) return requireRun(documents, { subject: indexId, id });
    throw new Refusal('RUN_NOT_FOUND', `The published runs of ${indexId} were purged.`, { index_id: indexId });
  }

  async function readMarket(run: RunDocument): Promise<VersionedMarket> {
    const now = await dataVersions.at(undefined);
    const isNow = now.served.identity.contentHash === run.store_content_hash;
    const versionedMarket = isNow || run.store_version == null ? now : await dataVersions.at(run.store_version);
    if (versionedMarket.served.identity.contentHash === run.store_content_hash) return versionedMarket;
    throw refuseBundle(run.index_id, 'the data of the published run is not kept');
  }

  async function readVersionFiles(version: number | null): Promise<EarlierContentFiles> {
    const { knownOn, earlier } = await dataVersions.before(version);
    const files = earlier.map(async ({ artifact, ...content }) => ({
      ...content,
      path: await artifacts.file({ name: artifact }),
    }));
    return { knownOn, earlier: await Promise.all(files) };
  }

  async function readEntries(indexId: string): Promise<PublicationEntry[]> {
    const entries: PublicationEntry[] = [];
    for await (const batch of await publications.entries(indexId, {})) entries.push(...batch);
    return entries;
  }

  /** Checks that the client may read every definition. The bundle contains these definitions. */
  async function assertReadable(indexId: string, indexIds: readonly string[]): Promise<void> {
    for (const id of indexIds)
      if (id !== indexId && (await findIndex(documents, id)) === undefined)
        throw new Refusal(
          'INDEX_NOT_FOUND',
          `The bundle of ${indexId} contains the definition of ${id}, which is not available.`,
          {
            index_id: id,
          },
        );
  }

  return {
    async of(indexId, { by, signal }) {
      const [entries, { keys }] = [await readEntries(indexId), await publications.keys(indexId)];
      const run = await findPublishedRun(indexId);
      const plan = addDefaultsToPlan(await readStoredPlan(artifacts, run));
      await assertReadable(indexId, Object.keys(plan.documents));
      await states.requireMarket(run);
      const input = await stores.within(await states.findStore(run), async () => {
        const { served, version } = await readMarket(run);
        assertSize(indexId, served.market);
        return {
          market: served.handle,
          plan,
          entries,
          ...(await resolveRunModelFiles(artifacts, plan.models, run.artifacts.models)),
          ...(plan.request.as_known === undefined ? {} : { known: await readVersionFiles(version) }),
        };
      });
      const { files, hashes, securities, dates } = await jobs.query('publication-bundle', input, signal);
      const log = new TextEncoder().encode(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
      const publishedKeys = new TextEncoder().encode(`${JSON.stringify({ keys })}\n`);
      const key = await signingKeys.current(by as Authorship);
      const unsignedManifest: Omit<BundleManifest, 'hash' | 'signature'> = {
        format: 'divisor-bundle-1',
        index_id: indexId,
        run_id: computeRunId(run),
        engine: run.engine_version,
        entries: entries.length,
        head: entries.at(-1)!.hash, // a published log has at least one entry
        files: {
          ...hashes,
          'log.ndjson': computeSha256(log),
          'keys.json': computeSha256(publishedKeys),
        } as BundleManifest['files'], // the task wrote the other files
        securities,
        dates,
        at: timestamp(),
        key_id: key.key_id,
      };
      const hash = computeStatementHash(unsignedManifest);
      const manifest: BundleManifest = { ...unsignedManifest, hash, signature: signHash(key, hash) };
      return archive([
        { name: MANIFEST_FILE, bytes: new TextEncoder().encode(`${JSON.stringify(manifest)}\n`) },
        ...Object.entries(files).map(([name, { bytes }]) => ({ name, bytes })),
        { name: 'log.ndjson', bytes: log },
        { name: 'keys.json', bytes: publishedKeys },
      ]);
    },
  };
}

const computeSha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function refuseBundle(indexId: string, reason: string): Refusal {
  return new Refusal('NOT_REPRODUCED', `${indexId} cannot be recomputed from a bundle: ${reason}.`, { reason });
}

/** Refuses a market that is too large for a web page. @throws Refusal NOT_REPRODUCED */
function assertSize(
  indexId: string,
  { dates, identifiers, fields }: Pick<MarketData, 'dates' | 'identifiers' | 'fields'>,
): void {
  const bytes = 8 * dates.length * identifiers.length * fields.size;
  if (bytes > BUNDLE_BYTES_MAX)
    throw refuseBundle(
      indexId,
      `its data store has ${bytes} bytes of panels; a bundle may come from at most ${BUNDLE_BYTES_MAX}`,
    );
}
