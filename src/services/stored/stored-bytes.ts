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

/** Record of a run, which is written when it is requested. */
export interface RunRecordReader {
  readonly etag: string;
  /** @throws Refusal DOCUMENT_UNREADABLE if the files of the run are damaged */
  read(): Promise<StoredBytes>;
}
