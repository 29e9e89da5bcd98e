const FILE_FORMATS = ['parquet', 'csv', 'jsonl', 'xlsx'] as const;
type FileFormat = (typeof FILE_FORMATS)[number];

/** A file of a dataset. */
export interface SourceFile {
  /** Path of the file, symbolic links resolved. */
  readonly path: string;
  /** Name of the file in findings: the dataset, with the path below it where the dataset is a folder of files. */
  readonly label: string;
  readonly format: FileFormat;
  readonly isGzipped: boolean;
  readonly bytes: number;
  /**
   * Says that the bytes are those of a moment ago as long as it is the same: device, inode, size, and the times of the
   * last write and change.
   */
  readonly identity: string;
  /** When any of that changed last, ms since 1970. */
  readonly changedAt: number;
}
