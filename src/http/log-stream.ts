/** Log entries in batches. */
type Batches = AsyncGenerator<readonly object[]>;

/** Streams a log as JSON lines. */
export function streamLogLines(batches: Batches): ReadableStream<Uint8Array> {
  return createTextStream(formatLines(batches));
}

/** Streams a log as one object. @param head members before the entries, as JSON with a trailing comma */
export function streamLogObject(batches: Batches, head = ''): ReadableStream<Uint8Array> {
  return createTextStream(formatEntryLines(batches, head));
}

async function* formatLines(batches: Batches): AsyncGenerator<string> {
  for await (const batch of batches) yield batch.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

async function* formatEntryLines(batches: Batches, head: string): AsyncGenerator<string> {
  yield `{${head}"entries":[`;
  let isFirst = true;
  for await (const batch of batches) {
    for (const entry of batch) {
      yield `${isFirst ? '' : ','}${JSON.stringify(entry)}`;
      isFirst = false;
    }
  }
  yield ']}';
}

/** Converts text to a byte stream. If it fails, the connection is cut, so that no reader takes a part for the whole. */
function createTextStream(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      let piece = await pieces.next();
      while (piece.value === '') piece = await pieces.next(); // A byte stream refuses empty chunks.
      if (piece.done !== true) return controller.enqueue(encoder.encode(piece.value));
      controller.close();
      controller.byobRequest?.respond(0); // Releases the buffer of a pending read.
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}
