import type { MarketContent } from '#market/content/market-content.js';
import {
  createIncomingMarket,
  createOutgoingMarket,
  type SharedMarket,
  type TransferMessage,
} from '#market/panels/market-transfer.js';

/** Writes a content to the first file that has enough space, and reads it back into shared memory. */
export async function handOverContent(files: readonly string[], content: MarketContent): Promise<SharedMarket> {
  const incoming = createIncomingMarket();
  try {
    await createOutgoingMarket(files, (step) => incoming.take(step)).finish(content);
    return await incoming.market()!;
  } finally {
    await incoming.stop();
    incoming.close();
  }
}

/** Returns the messages of a transfer of a content to files. No process reads these files. */
export async function listSteps(files: readonly string[], content: MarketContent): Promise<TransferMessage[]> {
  const steps: TransferMessage[] = [];
  await createOutgoingMarket(files, (step) => steps.push(step)).finish(content);
  return steps;
}
