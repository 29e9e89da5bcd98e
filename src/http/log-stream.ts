/** Entries of a log, batch by batch. */
type Batches = AsyncGenerator<readonly object[]>;

/** A log as lines of JSON. */
export function logLines(batches: Batches): ReadableStream<Uint8Array> {
  return textStream(lines(batches));
}

/** A log as one object. @param head members before the entries, as JSON with the comma after them */
export function logObject(batches: Batches, head = ''): ReadableStream<Uint8Array> {
  return textStream(listed(batches, head));
}

async function* lines(batches: Batches): AsyncGenerator<string> {
  for await (const batch of batches) yield batch.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

async function* listed(batches: Batches, head: string): AsyncGenerator<string> {
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

/** A stream of bytes: where it fails on the way, the connection is cut, and no reader takes a part for the whole. */
function textStream(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      let piece = await pieces.next();
      while (piece.value === '') piece = await pieces.next(); // A stream of bytes has no empty part.
      if (piece.done !== true) return controller.enqueue(encoder.encode(piece.value));
      controller.close();
      controller.byobRequest?.respond(0); // Whoever waits with a room gets it back.
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}
