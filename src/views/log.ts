/** Log entries in batches. */
type Batches = AsyncGenerator<readonly object[]>;

/** Streams a log as JSON lines. If an entry cannot be read, the stream fails, so that no reader takes a part for the whole. */
export const streamLogLines = (batches: Batches): ReadableStream<Uint8Array> => streamText(formatLines(batches));

/** Streams a log as one object. @param head members before the entries, as JSON with a trailing comma */
export const streamLogObject = (batches: Batches, head = ''): ReadableStream<Uint8Array> =>
  streamText(formatObject(batches, head));

async function* formatLines(batches: Batches): AsyncGenerator<string> {
  for await (const batch of batches) yield batch.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

async function* formatObject(batches: Batches, head: string): AsyncGenerator<string> {
  let separator = '';
  yield `{${head}"entries":[`;
  for await (const batch of batches) {
    for (const entry of batch) {
      yield `${separator}${JSON.stringify(entry)}`;
      separator = ',';
    }
  }
  yield ']}';
}

async function* encode(pieces: AsyncGenerator<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of pieces) yield encoder.encode(piece);
}

const streamText = (pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> => ReadableStream.from(encode(pieces));
