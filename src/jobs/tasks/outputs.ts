import type { StaleState } from '#domain/backtest/stale.js';
import type { ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportFormat, ExportPosition } from '#domain/exports/formats.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { RunTerms } from '#domain/reports/run-terms.js';
import type { ReportTemplateDocument } from '#domain/reports/template-document.js';
import type { ArtifactRef } from '#store/port.js';
import type { TaskOutputs } from './files.js';
import type { IndexQuestion } from './indices.js';
import type { OverviewFile } from './runs.js';

/** The files of a run, opened by the process: they stay readable when they are removed meanwhile. */
export interface OpenRunFiles {
  /** Descriptor of the columns. */
  readonly columns: number;
  /** Descriptors of the files with the earlier segments, by their names in the header of the columns. */
  readonly earlier: Readonly<Record<string, number>>;
}

export interface ExportPartInput {
  /** Id of the export: a thread resumes the part of it that it holds. */
  readonly exportId: string;
  /** File with the columns of the run, which names it; it may be gone. */
  readonly run: string;
  readonly files: OpenRunFiles;
  readonly table: ExportTableName;
  readonly format: ExportFormat;
  /** YYYY-MM-DD. */
  readonly start: string | null;
  readonly end: string | null;
  /** Reference column of a table of groups; absent where none was asked for. */
  readonly by?: string | undefined;
  readonly from: ExportPosition;
  /** The served market, where the table reads it and it is that of the run. */
  readonly market: MarketHandle | null;
  /** Definition of the run, for a table that is decided again. */
  readonly definition?: Omit<IndexQuestion, 'market'> | undefined;
  /** Memory that the part is written to. */
  readonly room: SharedArrayBuffer;
}

export interface ExportPart {
  /** Bytes of the room that were written. */
  readonly length: number;
  /** Bytes behind them that had no room, as a rule none. */
  readonly rest: Uint8Array<ArrayBuffer>;
  /** Where the next part begins; null after the last. */
  readonly next: ExportPosition | null;
}

export interface RenderInput {
  readonly template: ReportTemplateDocument;
  /** The runs that its blocks are bound to. */
  readonly runs: readonly RenderedRun[];
  /** Wall-clock time of the rendering, ISO-8601 UTC with offset. */
  readonly renderedAt: string;
  /** Program and version, for the metadata of the file. */
  readonly creator: string;
  /** The served market, which risk is estimated from; null when there is none or no block asks for it. */
  readonly market: MarketHandle | null;
  readonly outputs: TaskOutputs<'pdf'>;
}

export interface RenderedRun {
  readonly indexId: string;
  readonly overview: OverviewFile;
  /** Path of the columns. */
  readonly columns: string;
  readonly terms: RunTerms;
  readonly stale: StaleState | null;
  /** Whether the market is of another store than the run: it says nothing about its risk then. */
  readonly isOtherDataset: boolean;
}

export interface RenderOutput {
  readonly pdf: ArtifactRef;
  readonly pages: number;
}
