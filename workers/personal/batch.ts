import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { BatchCommon } from '#domain/personal/batch-common.js';
import { createBatchSummary } from '#domain/personal/batch-view.js';
import { composeCommon } from '#domain/personal/compose-common.js';
import { solveOutcome, type AccountOutcome } from '#domain/personal/solve-accounts.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { dayFrom, formatDay } from '#domain/time/days.js';
import type { RowBlock } from '#jobs/rows-in-blocks.js';
import type { Task } from '#jobs/tasks.js';
import type { BatchPartInput, SumBatchInput } from '#jobs/tasks/personal.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { composerFor } from '../input/index-composer.js';
import { onEngine } from '../input/numerics.js';
import { openedMarket } from '../input/open-markets.js';
import { outputContent, writeOutputs } from '../output/task-outputs.js';

/** Accounts of a block. */
export const BLOCK_ACCOUNTS = 100;

/** Common data of the last batch of this thread: all its parts use them. */
let last: { readonly key: string; readonly common: BatchCommon } | undefined;

/** Solves some accounts of a batch. Each outcome depends only on its account and the common data. */
export const batchPart: Task<'batch-part'> = async (input, control) => {
  const common = await commonOf(input, control);
  const lines = input.accounts.map((account, at) => {
    const position = input.positions[at]!;
    control.report(at / input.accounts.length, `account ${position + 1}`);
    return JSON.stringify(solveOutcome(common, account, `accounts[${position}]`));
  });
  return writeOutputs(input.outputs, { outcomes: outputContent(lines.join('\n')) });
};

type CommonInput = Pick<BatchPartInput, 'market' | 'documents' | 'models' | 'terms'>;

async function commonOf(input: CommonInput, control: TaskControl): Promise<BatchCommon> {
  const { documents, models, terms } = input;
  const market = openedMarket(input.market);
  const key = JSON.stringify([market.contentHash, documents, models, terms]);
  if (last?.key === key) return last.common;
  const until = terms.as_of === null ? (market.dates.at(-1) ?? 0) : dayFrom(terms.as_of);
  const common = await onEngine((engine) =>
    composeCommon(
      composerFor({ market, documents, models, until, engine }, { report: () => control.report(0) }),
      terms,
    ),
  );
  last = { key, common };
  return common;
}

/** Joins the outcomes of all parts, in the order of the accounts, and summarises them. */
export const sumBatch: Task<'sum-batch'> = async (input, control) => {
  const common = await commonOf(input, control);
  const summary = createBatchSummary();
  const blocks: RowBlock[] = [];
  const texts: Uint8Array[] = [];
  const close = (text: string): void => {
    const bytes = Buffer.from(text);
    texts.push(bytes);
    blocks.push({ bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  };
  let open: string[] = [];
  let count = 0;
  for (const line of outcomeLines(input)) {
    summary.add(JSON.parse(line) as AccountOutcome); // as a part wrote it
    open.push(line);
    if (open.length === BLOCK_ACCOUNTS) {
      close(open.join(','));
      open = [];
    }
    count++;
  }
  if (open.length > 0) close(open.join(','));
  close(JSON.stringify(commonJson(common)));
  const figures = summary.end();
  const { batchId, terms, engineVersion } = input;
  const view = {
    batch_id: batchId,
    parent: terms.parent,
    risk_model: terms.risk_model,
    as_of: formatDay(common.asOf),
    ...figures,
    blocks: blocks.length - 1,
    store_content_hash: openedMarket(input.market).contentHash,
    engine_version: engineVersion,
  };
  const written = await writeOutputs(input.outputs, {
    view: outputContent(JSON.stringify(view)),
    rows: outputContent(Buffer.concat(texts)),
  });
  return { view: written.view, rows: { artifact: written.rows, count, blocks }, summary: figures };
};

/** Returns outcomes by account. If several nodes computed a part, their outcomes are the same. */
function* outcomeLines({ files, sizes }: SumBatchInput): Generator<string> {
  const placeOf = new Map(files.flatMap((file) => file.parts.map((part, at) => [part, { file, at }] as const)));
  let read: { readonly path: string; readonly lines: readonly string[] } | undefined;
  for (let part = 0; part < sizes.length; part++) {
    const { file } = placeOf.get(part)!;
    if (read?.path !== file.path) read = { path: file.path, lines: linesOf(file) };
    const before = file.parts.slice(0, file.parts.indexOf(part)).reduce((sum, other) => sum + sizes[other]!, 0);
    yield* read.lines.slice(before, before + sizes[part]!);
  }
}

function linesOf({ path, sha256 }: SumBatchInput['files'][number]): readonly string[] {
  const bytes = readFileSync(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new Refusal('DOCUMENT_UNREADABLE', 'Results of some accounts are damaged: run the batch again.');
  return bytes.toString().split('\n');
}

/** Common data as JSON, from which results are verified. */
function commonJson({ asOf, prices, weights, loadings, specific, ...rest }: BatchCommon) {
  return {
    ...rest,
    as_of: formatDay(asOf),
    prices: Array.from(prices),
    weights: Array.from(weights),
    loadings: Array.from(loadings),
    specific: Array.from(specific),
  };
}
