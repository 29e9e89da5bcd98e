import { mayDifferInBits } from '#domain/backtest/engine-bits.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';

/**
 * Returns the reasons why the content of its store makes a run stale. @param isOfThen true if `content` is that of the
 * version on which the run was made
 */
export function listContentReasons(run: RunDocument, content: MarketIdentity, isOfThen: boolean): string[] {
  const { datasetId, contentHash, adjustment, currency = null } = content;
  const { as_known_on: version } = run;
  if (contentHash !== run.store_content_hash && version === undefined)
    return [`The store ${datasetId} holds other content than the run was made on.`];
  if (contentHash !== run.store_content_hash && !isOfThen)
    return [
      `The run was made on version ${version} of the store ${datasetId}, as known then; it holds other content now.`,
    ];
  const declarations = [
    { of: 'adjustment', was: run.adjustment, is: adjustment },
    { of: 'currency', was: run.declared_currency, is: currency },
  ];
  return declarations.flatMap(({ of, was, is }) =>
    was === undefined || was === is
      ? []
      : [
          `The store ${datasetId} declares ${is === null ? `no ${of}` : `the ${of} ${is}`}; the run was made on ${was ?? 'none'}.`,
        ],
  );
}

/**
 * Returns the reason why the engine makes a run stale. Returns no reasons if this engine computes bit-identical
 * results.
 */
export function listEngineReasons({ engine_version: storedVersion }: RunDocument, engineVersion: string): string[] {
  return mayDifferInBits(storedVersion, engineVersion)
    ? [`The run was made by engine ${storedVersion}; engine ${engineVersion} may compute slightly different values.`]
    : [];
}
