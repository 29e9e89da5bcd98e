import type { RunDocument } from '#domain/documents/run-document.js';
import { createMarketKey } from '#domain/market/market-identity.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { RunViewInput } from '#jobs/tasks/views.js';
import type { HashedBytes } from '#jobs/tasks/files.js';
import type { ArtifactStore } from '#store/port.js';
import { assertUndamaged } from '../stored/damaged-runs.js';
import { resolveColumnsFile } from '../stored/run-documents.js';
import { createStoredState } from './run-states.js';
import type { RunStates } from './run-states.js';
import { createStateHead, prependHead, type StateHead } from '../stored/stamped-json.js';
import type { CheckedBytes } from '../stored/stored-bytes.js';
import type { ViewCache } from './view-cache.js';

export interface ViewMakerDependencies {
  readonly artifacts: ArtifactStore;
  readonly jobs: Jobs;
  readonly views: ViewCache;
  readonly states: RunStates;
}

/** Service that computes views from the columns of stored runs. */
export interface ViewMaker {
  /** Returns the file with the columns of a run. @throws Refusal DOCUMENT_UNREADABLE, STORE_UNAVAILABLE */
  readColumns(run: RunDocument): Promise<string>;
  /** Returns the state of a run. Views of the run start with it. */
  readHead(run: RunDocument): Promise<StateHead>;
  make(input: RunViewInput, signal: AbortSignal): Promise<HashedBytes>;
  /** Returns the same view as `make`, from the cache if it is there. */
  readCached(input: RunViewInput, signal: AbortSignal): Promise<HashedBytes>;
  /**
   * Returns a view with the state of its run in front. The view may come from the cache; the state is always current.
   */
  stamped(run: RunDocument, view: Promise<HashedBytes>): Promise<CheckedBytes>;
}

export function createViewMaker({ artifacts, jobs, views, states }: ViewMakerDependencies): ViewMaker {
  const makeView = (input: RunViewInput, signal: AbortSignal): Promise<HashedBytes> =>
    jobs.query('view-run', input, signal);
  const readHead = async (run: RunDocument): Promise<StateHead> =>
    createStateHead(await createStoredState(states, run));
  return {
    async readColumns(run) {
      await assertUndamaged(artifacts, run);
      return resolveColumnsFile(artifacts, run);
    },
    readHead,
    make: makeView,
    readCached: (input, signal) => views.get(createQuestion(input), () => makeView(input, signal)),
    async stamped(run, view) {
      const head = readHead(run); // With a database, both are requested concurrently.
      head.catch(() => {}); // the failure is reported below, unless the view is refused
      const { bytes, sha256 } = await view;
      const { toEtag } = await head;
      return { bytes: prependHead(await head, bytes), etag: toEtag(sha256) };
    },
  };
}

/** Returns a cache key that contains all inputs of a view. */
function createQuestion(input: RunViewInput): unknown {
  if (!('market' in input) || input.market === null) return input;
  return { ...input, market: createMarketKey(input.market) };
}
