import { statfs } from 'node:fs/promises';
import { Refusal } from '#domain/base/refusals.js';
import type { LowWaterMark } from '../port.js';
import type { FolderCall } from './durable-files.js';

export interface VolumeSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface FreeSpace {
  /** Minimum free space from the configuration. Other processes that watch the same volume use it too. */
  readonly mark: LowWaterMark;
  /**
   * Checks that there is space for a write of about `bytes`.
   * @param reserve true if the write may use the reserve, the upper three quarters of the mark
   * @param ahead admitted bytes that are not on disk yet, so that no reading includes them
   * @throws Refusal STORAGE_FULL if there is not enough free space
   */
  admit(bytes: number, options?: { readonly reserve?: boolean; readonly ahead?: number }): Promise<void>;
  /** Returns the last reading, for health checks and metrics. */
  measure(): Promise<VolumeSpace & { readonly markBytes: number }>;
}

const MARK_BYTES = 256 * 2 ** 20;
const MARK_FRACTION = 0.05;
/**
 * Validity of a reading. It has a maximum age. It also ends when a share of the space above the minimum was written.
 */
const READING_AGE_MAX_MS = 250;
const READING_SHARE_MAX = 0.1;

/** Source of the volume data and the time. Tests replace it. */
interface VolumeGauge {
  read(folder: string): Promise<VolumeSpace>;
  monotonicMs(): number;
}

const systemGauge: VolumeGauge = { read: readVolume, monotonicMs: () => performance.now() };

export const createGauge = (call: FolderCall): VolumeGauge => ({
  ...systemGauge,
  read: (folder) => call(() => readVolume(folder)),
});

export function watchFreeSpace(folder: string, mark: LowWaterMark = {}, gauge: VolumeGauge = systemGauge): FreeSpace {
  let lastReading: Promise<VolumeSpace> | undefined;
  let readAt = -Infinity;
  let writtenSince = 0;
  let measuredBytes = 0;

  async function readCurrentSpace(): Promise<VolumeSpace> {
    const nowMs = gauge.monotonicMs();
    if (
      lastReading === undefined ||
      nowMs - readAt > READING_AGE_MAX_MS ||
      writtenSince > READING_SHARE_MAX * measuredBytes
    ) {
      readAt = nowMs;
      writtenSince = 0;
      lastReading = gauge.read(folder);
      const space = await lastReading;
      measuredBytes = Math.max(0, space.freeBytes - computeMark(space));
    }
    return lastReading;
  }
  const computeMark = (space: VolumeSpace): number =>
    Math.min(mark.bytes ?? MARK_BYTES, (mark.fraction ?? MARK_FRACTION) * space.totalBytes);

  return {
    mark,
    async admit(bytes, { reserve = false, ahead = 0 } = {}) {
      const space = await readCurrentSpace();
      const neededBytes = reserve ? computeMark(space) / 4 : computeMark(space);
      const freeBytes = space.freeBytes - Math.max(writtenSince, ahead) - bytes;
      if (freeBytes < neededBytes) {
        const message = `${formatMebibytes(space.freeBytes)} MiB are free on the service's volume; ${formatMebibytes(neededBytes + bytes)} MiB are needed for a write.`;
        throw new Refusal('STORAGE_FULL', message, {
          free_bytes: space.freeBytes,
          needed_bytes: Math.ceil(neededBytes + bytes),
        });
      }
      writtenSince += bytes;
    },
    async measure() {
      const space = await readCurrentSpace();
      return { ...space, markBytes: computeMark(space) };
    },
  };
}

const formatMebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

async function readVolume(folder: string): Promise<VolumeSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
