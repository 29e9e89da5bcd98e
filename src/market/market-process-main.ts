import type { MarketTaskReport, MarketTaskRequest } from './market-tasks.js';
import { contentHash } from './content.js';
import { createProblems, type Problems } from './problems.js';
import { readSource, type SourceRead } from './read-source.js';
import { reasonOf } from './duckdb.js';
import { writeSharedFile } from './shared-file.js';
import { warnOfMarket } from './market-warnings.js';

/** The door of the process that `runMarketTask` forks: one request, reports, then the end. */
process.once('message', (request: MarketTaskRequest) => {
  void run(request).then(report, (error: unknown) => report({ kind: 'failed', message: reasonOf(error) })).finally(() => process.disconnect());
});

// Nobody is left to report to.
process.once('disconnect', () => process.exit(0));

async function run({ task, input, options }: MarketTaskRequest): Promise<MarketTaskReport> {
  const problems = createProblems();
  const read = await perform(task, input, problems);
  if (read === undefined || problems.errors > 0) return { kind: 'refused', findings: problems.findings() };
  onProgress(0.9, 'checking');
  const { content, rows, files } = read;
  warnOfMarket(content, problems);
  const hash = contentHash(content);
  onProgress(0.95, 'handing over');
  const layout = options.sharedFile === null ? null : await writeSharedFile(options.sharedFile, { ...content, storeId: '', contentHash: hash, adjustment: 'none' });
  const summary = {
    contentHash: hash,
    identifiers: content.identifiers.length,
    start: content.dates[0]!,
    end: content.dates.at(-1)!,
    rows, files,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    warnings: problems.findings(),
  };
  return { kind: 'done', summary, layout };
}

function perform(task: MarketTaskRequest['task'], input: MarketTaskRequest['input'], problems: Problems): Promise<SourceRead | undefined> {
  switch (task) {
    case 'readFiles':
      return readSource(input.files, problems, (fraction, message) => onProgress(0.9 * fraction, message));
  }
}

function onProgress(fraction: number, message: string): void {
  void report({ kind: 'progress', fraction, message });
}

function report(message: MarketTaskReport): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, () => resolve());
  });
}
