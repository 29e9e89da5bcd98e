/** Stored bytes as a response. */
export interface StoredBytes {
  readonly length: number;
  readonly etag: string;
  open(): Promise<ReadableStream<Uint8Array>>;
}

/** Stored bytes with a verified content. */
export interface CheckedBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** Reader of the record of a run. The record is written when it is requested. */
export interface RunRecordReader {
  readonly etag: string;
  /** Returns the record. @throws Refusal DOCUMENT_UNREADABLE if the files of the run are damaged */
  read(): Promise<StoredBytes>;
}
