import type { BatchCommon } from '#domain/personal/batch-common.js';
import type { AccountBacktestRequest } from '#domain/personal/backtest-request.js';
import type { PartLines } from '#domain/personal/batch-parts.js';
import type { BatchSummary } from '#domain/personal/batch-view.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { ArtifactRef } from '#store/port.js';
import type { RowsInBlocks } from '../rows-in-blocks.js';
import type { HashedFile, TaskOutputs } from './files.js';
import type { ModelFiles } from './indices.js';

/** Data that all parts of a batch share. */
interface BatchInput {
  readonly market: MarketHandle;
  /** The parent index and all documents that it refers to, by id. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles;
  readonly terms: BatchCommon['terms'];
}

export interface BatchPartInput extends BatchInput {
  readonly lines: readonly PartLines[];
  readonly outputs: TaskOutputs<'outcomes'>;
}

/** Artifact with one outcome as JSON per line. */
export interface BatchPartOutput {
  readonly outcomes: ArtifactRef;
}

/** Outcomes of some parts of a batch. */
export interface AccountsFile extends HashedFile {
  readonly parts: readonly number[];
}

export interface SumBatchInput extends BatchInput {
  readonly batchId: string;
  /** Number of accounts of each part, in order. */
  readonly sizes: readonly number[];
  readonly files: readonly AccountsFile[];
  readonly engineVersion: string;
  /**
   * Names of the outputs: `view`, `common`, and `accounts0` and so on, one file for each `VOLUME_ACCOUNTS` accounts.
   */
  readonly outputs: TaskOutputs<string>;
}

/** Outputs of a batch: its summary, the common data as a block, and its accounts in blocks. */
export interface BatchSum {
  readonly view: ArtifactRef;
  readonly volumes: readonly RowsInBlocks[];
  readonly summary: BatchSummary;
}

/** Backtest of one account. */
export interface AccountBacktestInput extends Omit<BatchInput, 'terms'> {
  readonly indexId: string;
  readonly backtestId: string;
  readonly request: Omit<AccountBacktestRequest, 'backtest_id'>;
  readonly engineVersion: string;
  readonly outputs: TaskOutputs<'view'>;
}
