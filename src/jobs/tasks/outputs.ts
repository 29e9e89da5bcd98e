import type { StaleState } from '#domain/backtest/stale-reasons.js';
import type { ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportFormat, ExportPosition } from '#domain/exports/formats.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { RunTerms } from '#domain/reports/run-terms.js';
import type { ReportTemplateDocument } from '#domain/reports/template-document.js';
import type { ArtifactRef } from '#store/port.js';
import type { EarlierContentFiles, TaskOutputs } from './files.js';
import type { IndexQuestion } from './indices.js';
import type { OverviewFile } from './runs.js';

/** Open files of a run. They stay readable after their deletion. */
export interface OpenRunFiles {
  /** File descriptor of the run's newest columns. */
  readonly columns: number;
  /** File descriptors of the earlier segments of the run, by the names in the header of the columns. */
  readonly earlier: Readonly<Record<string, number>>;
}

export interface ExportPartInput {
  /** Id of the export. A thread continues an export with this id that it has in memory. */
  readonly exportId: string;
  /** Path of the file with the columns of the run. It identifies the run, and the file may have been deleted. */
  readonly run: string;
  readonly files: OpenRunFiles;
  readonly table: ExportTableName;
  readonly format: ExportFormat;
  /** YYYY-MM-DD. */
  readonly start: string | null;
  readonly end: string | null;
  /** Reference column of a table of groups; absent if none was requested. */
  readonly by?: string | undefined;
  readonly from: ExportPosition;
  /** The served market. It is null if the table does not read it or if the run used another content. */
  readonly market: MarketHandle | null;
  /**
   * Definition of the run, and the earlier contents that its decisions used. Present for a table that computes the
   * decisions again.
   */
  readonly definition?: (Omit<IndexQuestion, 'market'> & { readonly known?: EarlierContentFiles }) | undefined;
  /** Memory that receives the part. */
  readonly buffer: SharedArrayBuffer;
}

export interface ExportPart {
  /** Number of bytes written to the memory. */
  readonly length: number;
  /** Bytes for which the shared memory had no space; usually empty. */
  readonly rest: Uint8Array<ArrayBuffer>;
  /** Position of the next part; null after the last part. */
  readonly next: ExportPosition | null;
}

export interface RenderInput {
  readonly template: ReportTemplateDocument;
  /** Runs that the blocks of the template show. */
  readonly runs: readonly RenderedRun[];
  /** Wall-clock time of the rendering, ISO-8601 UTC with offset. */
  readonly renderedAt: string;
  /** Name and version of the program, for the metadata of the file. */
  readonly creator: string;
  readonly outputs: TaskOutputs<'pdf'>;
}

export interface RenderedRun {
  readonly indexId: string;
  readonly overview: OverviewFile;
  /** Path of the file with the run's columns. */
  readonly columns: string;
  readonly terms: RunTerms;
  readonly stale: StaleState | null;
  /** Market of the run, for risk estimates. It is null if the market cannot be read or no block needs it. */
  readonly market: MarketHandle | null;
}

export interface RenderOutput {
  readonly pdf: ArtifactRef;
  readonly pages: number;
}
