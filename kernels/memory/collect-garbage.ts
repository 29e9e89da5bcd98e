import { createRequire } from 'node:module';
import { getHeapStatistics } from 'node:v8';

const require = createRequire(import.meta.url);

/** Growth of a heap since its last collection below which another one is not worthwhile. */
const GROWTH_BYTES_MIN = 16 * 2 ** 20;

/** Size of this thread's heap after its last collection here. */
let leftBytes = 0;

/**
 * Returns the garbage of this thread's heap to the system. V8 lets a heap grow to several times its live data, and
 * collects nothing in a waiting thread. Compiled code stays.
 * @param heapBytesMin heap size below which a collection is not worthwhile
 * @cost 0.1 s for 40 MB of live data, during which this thread does nothing else
 */
export async function collectGarbage(heapBytesMin: number): Promise<void> {
  if (heapBytes() < Math.max(heapBytesMin, leftBytes + GROWTH_BYTES_MIN)) return;
  if (!process.features.inspector) return; // Node can be built without it.
  const { Session } = require('node:inspector/promises') as typeof import('node:inspector/promises'); // Loaded on first use.
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage'); // `gc()` keeps the young generation, 32 MB of a thread.
  } finally {
    session.disconnect();
  }
  leftBytes = heapBytes();
}

const heapBytes = (): number => getHeapStatistics().total_heap_size;
