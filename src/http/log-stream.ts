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

function textStream(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}
