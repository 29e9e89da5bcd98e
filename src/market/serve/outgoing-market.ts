import { type FileHandle, open } from 'node:fs/promises';
import { shareTables } from '#domain/market/market-handle.js';
import { findPagedFile, isPaged, type PagedFile } from '#kernels/memory/paged-memory.js';
import type { MarketContent } from '../content/market-content.js';
import { BLOCK_DAYS } from '../panels/day-blocks.js';
import { computePanelBytes, type Panels } from '../panels/panels.js';
import {
  awaitAll,
  computeBatchDays,
  type Extent,
  isFull,
  listEdges,
  sliceDays,
  transferMarket,
  type TransferMessage,
} from '../panels/shared-market.js';

/** Market that is being sent to another process. */
interface OutgoingMarket {
  /** Begins with panels. Their days are sent as they are completed. Panels that were sent earlier are discarded. */
  begin(panels: Panels): void;
  /** Sends a range of days, which must not change afterwards. */
  send(from: number, to: number): void;
  /**
   * Sends the rest of a content. If its panels differ from those of `begin`, sends all of the content. Called once, at
   * the end.
   * @throws ENOSPC if no file has space for the rest
   */
  finish(content: MarketContent): Promise<void>;
}

/** Returns the files of panels. Returns undefined unless all panels are kept in files. */
function findFiles({ fields }: Panels): readonly PagedFile[] | undefined {
  const files = Array.from(fields.values(), ({ buffer, byteOffset }) =>
    byteOffset === 0 ? findPagedFile(buffer) : undefined,
  );
  return files.length > 0 && files.every((file) => file !== undefined) ? files : undefined;
}

function sliceEdges({ fields }: Panels, files: readonly PagedFile[]): Uint8Array[] {
  const panels = [...fields.values()];
  return files.flatMap((file, f) => listEdges(panels[f]!.buffer, file, panels[f]!.byteLength));
}

/** Number of concurrent writes. Each occupies one of the threads for file access, which readers also need. */
const WRITE_CONCURRENCY = 2;

interface OutputFile {
  readonly path: string;
  readonly file: FileHandle;
  end: number;
}

/**
 * Writes a market to the first of several files with enough space. When a file is full, continues in the next one,
 * because shared memory is often small in a container. A market with panels in files is written to the last file, which
 * is on a disk. The files must not exist yet; only their owner can read them.
 * @cost 0.4 s/GiB, off the thread
 */
export function createOutgoingMarket(
  paths: readonly string[],
  report: (step: TransferMessage) => void,
): OutgoingMarket {
  const outputFiles: Promise<OutputFile>[] = [];
  const queues = Array.from({ length: WRITE_CONCURRENCY }, () => Promise.resolve());
  let nextIndex = 0;
  let remainingPaths = paths;
  let panels: Panels | undefined;
  let files: readonly PagedFile[] | undefined;
  /** 1 for each day of the panels that has been sent. */
  let sentBytes = new Uint8Array(0);

  function openNext(): boolean {
    const [path, ...others] = remainingPaths;
    if (path === undefined) return false;
    remainingPaths = others;
    const pendingFile = open(path, 'wx', 0o600).then((file) => ({ path, file, end: 0 }));
    pendingFile.catch(() => {}); // the writer receives the exception
    outputFiles.push(pendingFile);
    return true;
  }

  async function write(pieces: readonly Uint8Array[]): Promise<{ readonly file: string; readonly offset: number }> {
    if (outputFiles.length === 0) openNext();
    for (;;) {
      const fileCount = outputFiles.length;
      const outputFile = await outputFiles.at(-1)!;
      const offset = outputFile.end;
      outputFile.end += pieces.reduce((sum, { length }) => sum + length, 0);
      try {
        await transferMarket(pieces, offset, async (some, at) => (await outputFile.file.writev(some, at)).bytesWritten);
        return { file: outputFile.path, offset };
      } catch (error) {
        const isLast = outputFiles.length === fileCount;
        if (!isFull(error) || (isLast && !openNext())) throw error;
      }
    }
  }

  /** Begins with panels. Their days are sent as they are completed. Panels that were sent earlier are discarded. */
  function begin(started: Panels): void {
    panels = started;
    const shape = { dates: started.dates.length, identifiers: started.identifiers.length, fields: started.fields.size };
    if (isPaged(computePanelBytes(shape))) remainingPaths = remainingPaths.slice(-1); // the data is paged because it exceeds memory
    files = findFiles(started);
    sentBytes = new Uint8Array(started.dates.length);
    report({
      kind: 'shape',
      days: shape.dates,
      assets: shape.identifiers,
      fields: [...started.fields.keys()],
      ...(files === undefined ? {} : { files }),
    });
  }

  /** Sends a range of days, which must not change afterwards. */
  function send(from: number, to: number): void {
    const sentPanels = panels!; // set by `begin`
    sentBytes.fill(1, from, to);
    if (files !== undefined) return; // paged panels are in their files already
    const queue = nextIndex++ % WRITE_CONCURRENCY;
    queues[queue] = queues[queue]!.then(async () => {
      const writtenDays = await write(
        sliceDays([...sentPanels.fields.values()], sentPanels.identifiers.length, from, to),
      );
      if (panels === sentPanels) report({ kind: 'days', ...writtenDays, from, to });
    });
    queues[queue].catch(() => {}); // fails later writes of the queue, and is thrown at the end
  }

  async function sendRest({ dates, ...content }: MarketContent): Promise<void> {
    const { tables, actionPlaces } = shareTables(content);
    const pieces = [
      new Uint8Array(dates.buffer, dates.byteOffset, dates.byteLength),
      new Uint8Array(tables),
      new Uint8Array(actionPlaces),
    ] as const;
    const edges = sliceEdges(panels!, files ?? []);
    const { file, offset } = await write([...pieces, ...edges]);
    let end = offset;
    const createExtent = ({ length: bytes }: Uint8Array): Extent => ({ offset: (end += bytes) - bytes, bytes });
    await awaitAll(queues);
    report({
      kind: 'rest',
      file,
      dates: createExtent(pieces[0]),
      tables: createExtent(pieces[1]),
      actionPlaces: createExtent(pieces[2]),
      edges: { offset: end, bytes: edges.reduce((sum, { length }) => sum + length, 0) },
    });
  }

  return {
    begin,
    send,
    /**
     * Sends the rest of a content. If its panels differ from those of `begin`, sends all of the content. Called once, at
     * the end.
     * @throws ENOSPC if no file has space for the rest
     */
    async finish(content: MarketContent): Promise<void> {
      if (panels?.fields !== content.fields) begin(content);
      const step = computeBatchDays({ assets: content.identifiers.length, fields: content.fields.size }, BLOCK_DAYS);
      for (let from = 0; from < content.dates.length; from += step)
        if (sentBytes[from] === 0) send(from, Math.min(from + step, content.dates.length));
      try {
        await sendRest(content);
      } finally {
        await Promise.allSettled(queues);
        for (const place of outputFiles)
          await place.then(
            ({ file }) => file.close(),
            () => {},
          );
      }
    },
  };
}
