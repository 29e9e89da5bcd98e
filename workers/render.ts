import { readFileSync } from 'node:fs';
import { Refusal } from '#domain/refusal.js';
import type { RenderInput, Task } from '#jobs/tasks.js';
import { createRunFigures, type RunFigures } from '#views/report/figures.js';
import { renderReport } from '#views/report/render-report.js';
import { openFonts, type FontShelf } from '#views/report/text/fonts.js';
import { outputBytes } from './hand-over.js';
import { withRunFile } from './run-file.js';

let fonts: FontShelf | undefined;

/** A report drawn from stored runs, whose columns stay open while it is. Fonts are read once per thread. */
export const render: Task<'render'> = ({ template, runs, renderedAt }, control) => {
  fonts ??= openFonts();
  const shelf = fonts;
  const { bytes, pages } = withRuns(runs, new Map(), (figures) =>
    renderReport({ template, figures, renderedAt, fonts: shelf, report: (fraction, message) => control.report(fraction, message) }),
  );
  return { pdf: outputBytes(bytes), pages };
};

/** Opens several runs at once. */
function withRuns<T>(runs: RenderInput['runs'], opened: ReadonlyMap<string, RunFigures>, use: (figures: ReadonlyMap<string, RunFigures>) => T): T {
  const [first, ...rest] = runs;
  if (first === undefined) return use(opened);
  return withRunFile(first.columns, (columns) => withRuns(rest, new Map([...opened, [first.indexId, createRunFigures(columns, readOverview(first.overview))]]), use));
}

function readOverview(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is not there.', null, { cause });
  }
}
