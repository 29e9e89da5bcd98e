const FILE_FORMATS = ['parquet', 'csv', 'jsonl', 'xlsx'] as const;
type FileFormat = (typeof FILE_FORMATS)[number];

/** A file of a dataset. */
export interface SourceFile {
  /** Path of the file, with symbolic links resolved. */
  readonly path: string;
  /**
   * Name of the file in findings. It is the dataset, followed by the path within it if the dataset is a folder of
   * files.
   */
  readonly label: string;
  readonly format: FileFormat;
  readonly isGzipped: boolean;
  readonly bytes: number;
  /**
   * Identity of the contents: device, inode, size, and times of the last write and change. If the identity is
   * unchanged, the bytes are unchanged.
   */
  readonly identity: string;
  /** Latest change time of the file and its links, ms since 1970. */
  readonly changedAt: number;
}
