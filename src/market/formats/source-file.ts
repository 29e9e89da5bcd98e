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
   * Identity of the bytes: device, inode, size, and times of the last write and change. Unchanged identity means
   * unchanged bytes.
   */
  readonly identity: string;
  /** Time of the last change of any of these, ms since 1970. */
  readonly changedAt: number;
}
