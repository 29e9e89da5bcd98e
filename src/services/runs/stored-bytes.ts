/** Stored bytes on their way out. */
export interface StoredBytes {
  readonly length: number;
  readonly etag: string;
  open(): Promise<ReadableStream<Uint8Array>>;
}
