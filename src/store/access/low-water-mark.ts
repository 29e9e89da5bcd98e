/**
 * Room that must be left on the volume: LMDB corrupts its heap when it meets a full disk, so writes stop well before.
 */
export interface LowWaterMark {
  /** Default 256 MiB. */
  readonly bytes?: number;
  /** Share of the volume, default 0.05: the smaller of the two marks counts. */
  readonly fraction?: number;
}
