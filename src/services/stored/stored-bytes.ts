/** Stored bytes as a response. */
export interface StoredBytes {
  readonly length: number;
  readonly etag: string;
  open(): Promise<ReadableStream<Uint8Array>>;
}

/** Stored bytes that were read and are what was written. */
export interface CheckedBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** The record of a run, which is written when it is asked for. */
export interface RunRecordReader {
  readonly etag: string;
  /** @throws Refusal DOCUMENT_UNREADABLE when the files of the run are damaged */
  read(): Promise<StoredBytes>;
}
