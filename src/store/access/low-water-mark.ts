/** Minimum free space of a volume. LMDB corrupts its heap on a full disk, so writes are stopped well before. */
export interface LowWaterMark {
  /** Minimum free bytes. Default: 256 MiB. */
  readonly bytes?: number;
  /** Minimum free share of the volume; the smaller of the two marks applies. Default: 0.05. */
  readonly fraction?: number;
}
