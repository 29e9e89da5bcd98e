import type { ConstraintRow, IndexDocument } from '#domain/documents/index-document.js';
import { OptimisationRequest } from '#domain/documents/optimisation-request.js';
import type { OptimisationDocument } from '#domain/documents/optimisation-document.js';
import type { JobKind } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';

/** Everything an optimisation depends on besides the market, which is the one served when an attempt starts. */
export interface OptimisationPayload {
  readonly run_id: string;
  /** The index and every document it reaches. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly constraints: readonly ConstraintRow[];
  readonly request: OptimisationRequest;
}

export interface OptimisationJobDependencies {
  readonly markets: Markets;
}

/** The kind of job that optimises: its result is stored in the transaction that ends it. */
export function createOptimisationJob({ markets }: OptimisationJobDependencies): JobKind<OptimisationPayload> {
  return {
    kind: 'optimise',
    async run({ run_id, documents, constraints, request }, attempt) {
      await markets.settled(); // An optimisation of the last process waits for the data that is on its way.
      const { handle } = markets.require();
      const { result, message } = await attempt.compute('optimise', {
        market: handle,
        runId: run_id,
        documents,
        constraints,
        // A job of an earlier version waits with the fields that there were.
        request: OptimisationRequest.parse(request),
      });
      const artifact = await attempt.keep(result);
      const document: OptimisationDocument = {
        run_id,
        index_id: request.index_id,
        constraint_set_id: request.constraint_set_id,
        store_content_hash: handle.contentHash,
        artifact,
      };
      return {
        result: { artifact },
        message,
        async effect(tx) {
          await tx.put('optimisation-run', run_id, document);
        },
      };
    },
  };
}
